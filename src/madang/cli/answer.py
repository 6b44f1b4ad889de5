"""`madang answer`: what waits for the person, from whatever client and session, and their answer to it."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from dataclasses import replace

from madang.agent.inbox import Inbox
from madang.app import Madang, open_madang
from madang.cli.questions import answer_command, command, describe, kind_name, parse_answer, parse_turn, title
from madang.cli.terminal import show, show_error, show_table
from madang.core.calls import Call
from madang.core.errors import Conflict, Expired, RequestError
from madang.core.ids import new_id
from madang.core.pauses import Decline, ModelTurn, PauseAnswer, PauseForm, PauseRecord, Permission
from madang.core.phrases import Phrase, Translate, say
from madang.llm.messages import dump_parts
from madang.records.runs.records import LIVE_STATES
from madang.records.runs.store import RunStore
from madang.rendering.catalogue import translator
from madang.settings import Settings

MAX_LISTED = 100
MAX_INPUT_CHARS = 1_000_000
TAKEN_UP_WITHIN_S = 3.0
"""How long it is watched whether some process goes on with the run: those that can look every second."""

_STATUS = {
    "answered": say("It was answered already."),
    "cancelled": say("It was declined already."),
    "expired": say("It has expired."),
    "withdrawn": say("It was withdrawn: the run that asked was stopped, or the session is a copy."),
    "superseded": say("It was superseded: the same was asked again."),
}


def run(options: argparse.Namespace, settings: Settings) -> int:
    """List what is open, print one of it, or settle it. The exit code is 1 if it can no longer be settled."""
    if options.words == ["-"]:
        text = sys.stdin.read(MAX_INPUT_CHARS + 1)
        if len(text) > MAX_INPUT_CHARS:
            raise RequestError(say("Standard input is larger than {max} KB.", max=MAX_INPUT_CHARS // 1000))
        options.words = [text.removesuffix("\n")]
    return asyncio.run(_run(options, replace(settings, services=())))


async def _run(options: argparse.Namespace, settings: Settings) -> int:
    async with open_madang(settings) as madang:
        return await _Desk(madang, options).handle()


class _Desk:
    """Where the person settles what waits."""

    def __init__(self, madang: Madang, options: argparse.Namespace) -> None:
        self._madang = madang
        self._options = options
        self._inbox = Inbox(madang.database, madang.provider)
        self._call: Call = madang.call("command")
        self._translate: Translate = translator(madang.settings.locale)

    async def handle(self) -> int:
        await self._inbox.open()
        options = self._options
        if options.id is None:
            return await self._list()
        pause = await self._inbox.get(self._call, options.id)
        if pause is None:
            raise RequestError(
                say("Nothing waits under the id '{id}'.", id=options.id),
                hint=say("'madang answer' lists what is open."),
            )
        decision = options.allow or options.allow_session or options.deny
        if not pause.is_open and not (options.words or options.decline or decision):
            return self._tell(_STATUS[pause.status], 1)
        item = await self._inbox.read(self._call, pause)
        if not (options.words or options.decline or decision):
            return self._print(item)
        try:
            await self._inbox.settle(self._call, pause, self._answer(item))
        except (Conflict, Expired) as error:
            return await self._tell_refusal(item, error)
        self._tell(say("Done."))
        await self._tell_next(pause)
        return 0

    async def _tell_refusal(self, item: PauseForm, error: Conflict | Expired) -> int:
        """Say why an answer was not taken: what a service says is for models, where there are better words."""
        now = await self._inbox.get(self._call, item.id)
        if now is not None and not now.is_open and item.type not in ("approval", "model"):
            return self._refuse(_STATUS[now.status], None)
        return self._refuse(error.message, error.hint)

    def _answer(self, item: PauseForm) -> PauseAnswer:
        options = self._options
        if options.allow or options.allow_session or options.deny:
            if item.type != "approval":
                raise RequestError(say("This is a question, not a call to allow."), hint=self._usage(item))
            if options.allow_session and "session" not in item.scopes:
                raise RequestError(say("This call is asked for each time."), hint=self._usage(item))
            return Permission(not options.deny, "session" if options.allow_session else "once")
        if options.decline:
            return Decline()
        if item.type == "model":
            return ModelTurn(dump_parts(parse_turn(" ".join(options.words), new_id())))
        return parse_answer(item, options.words)

    async def _list(self) -> int:
        pauses = await self._inbox.list_open(self._madang.settings.user, MAX_LISTED)
        if not pauses:
            return self._tell(say("Nothing waits for you."))
        headings = (say("ID"), say("KIND"), say("SESSION"), say("WHAT"))
        rows = [
            (form.id, self._words(kind_name(form.pause)), form.pause.session_id, title(form, self._translate))
            for form in await self._inbox.read_all(self._call, pauses)
        ]
        show_table([self._words(heading) for heading in headings], rows)
        usage = f"{command('answer', self._options)} ID"
        return self._tell(say("One of them in full, and how to answer it: {command}", command=usage))

    def _print(self, item: PauseForm) -> int:
        show(describe(item, self._translate))
        return self._tell(self._usage(item))

    def _usage(self, item: PauseForm) -> Phrase:
        return say("Answer with: {command}", command=answer_command(item, self._options))

    async def _tell_next(self, pause: PauseRecord) -> None:
        """Say how the run goes on, if no process takes it up."""
        if not pause.run_id:
            return
        runs = RunStore(self._madang.database, self._madang.database.new_liveness())
        place = replace(self._call, session_id=pause.session_id)
        deadline = time.monotonic() + TAKEN_UP_WITHIN_S
        while (run := await runs.get(self._call.user_id, pause.run_id)) is not None:
            is_over = run.state not in LIVE_STATES
            if run.state == "running" or (is_over and not (await runs.look_in(place)).candidates):
                return
            open_ids = [one.id for one in await self._inbox.list_awaited(run) if one.is_open]
            if open_ids and not (await runs.read_news(run)).answered:
                self._tell(say("The run still waits for: {ids}", ids=", ".join(open_ids)))
                return
            if time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        else:
            return
        go_on = f"{command('run', self._options)} --session {pause.session_id}"
        if is_over:
            self._tell(
                say(
                    "The run that asked has ended, and no process runs agents now: your answer is kept. "
                    "Go on with it: {command}",
                    command=go_on,
                )
            )
        else:
            self._tell(say("No process works on the run. Go on with: {command}", command=go_on))

    def _refuse(self, message: Phrase, hint: Phrase | None) -> int:
        show_error(" ".join(self._words(phrase) for phrase in (message, hint) if phrase is not None))
        return 1

    def _tell(self, phrase: Phrase, code: int = 0) -> int:
        show(self._words(phrase))
        return code

    def _words(self, phrase: Phrase) -> str:
        return phrase.render(self._translate)
