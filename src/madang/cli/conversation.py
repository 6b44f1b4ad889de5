"""A session with an agent on the command line: which session and model, posting to it, and following its run."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from madang.agent.limits import RunLimits, RunStopped, parse_limits
from madang.agent.model_switch import choose_model
from madang.agent.rules import AGENT_TOOLS, MAX_RULES_BYTES, NO_RULES, ApprovalRules, parse_rules
from madang.agent_app import Agent, open_agent
from madang.app import open_madang
from madang.cli.workspace import offer_agents_file
from madang.core.calls import Call
from madang.core.errors import Conflict, MadangError, RequestError, SetupError, Unavailable
from madang.core.ids import SessionId, new_id
from madang.core.pauses import PauseRecord
from madang.core.phrases import Translate, say
from madang.llm.fallback import join_models, split_models
from madang.llm.keys import KeyStore
from madang.llm.messages import Part
from madang.llm.opening import open_model
from madang.records.events import Event
from madang.records.pauses import PauseStore
from madang.records.runs.latest import find_latest_session
from madang.records.runs.records import LIVE_STATES, LostRun, Run
from madang.rendering.catalogue import translator
from madang.services import prebuilt_schemas
from madang.settings import DEFAULT_SESSION, Settings

SCRIPTED = "scripted:"
CHECK_S = 5.0
UNTOLD_S = 10.0
"""How long a run may be over before its last event has come."""
UNWORKED_S = 60
GRACE_S = 120.0
"""Beyond the time that a run may work by itself: it ends itself before."""


@dataclass(frozen=True)
class Conversation:
    """A session whose runs this process works on."""

    agent: Agent
    call: Call
    options: argparse.Namespace

    @property
    def translate(self) -> Translate:
        return translator(self.agent.madang.settings.locale)

    async def live(self) -> Run | None:
        """Return the session's run that is not over."""
        return await self.agent.stores.runs.get_live(self.call)

    async def check_free(self) -> Run | None:
        """Return the session's run that is not over, if there is one that can be gone on with.

        Raises:
            RequestError: another process works on it.
        """
        run = await self.live()
        if run is not None and await self.agent.stores.runs.is_held(run):
            raise held_elsewhere(run)
        return run

    async def choose_model(self, run: Run | None = None) -> str:
        """Return the name of the model: the option's, that of the run which goes on, the settings', the assistant's.

        An option takes a run over that goes on, and tells of it in the session.

        Raises:
            SetupError: it cannot be used.
            RequestError: another process has just taken the run.
        """
        settings = self.agent.madang.settings
        assistant = await self.agent.madang.assistants.get(settings.user, settings.assistant)
        chosen = absolute_models(self.options.model or "")
        name = chosen or (run.model if run is not None else "")
        name = name or settings.model or (assistant.model if assistant else "") or settings.default_model
        for model in split_models(name):
            await self.agent.models.get(model)
        if run is not None and chosen:
            await self.switch_model(run, chosen)
        return name

    async def switch_model(self, run: Run, model: str) -> None:
        """Let a model answer in a run that is not over, unless it does so already.

        Raises:
            RequestError: another process has just taken the run.
        """
        if run.model != model:
            try:
                await choose_model(self.agent.stores, run, model, self.agent.madang.settings.locale)
            except LostRun:
                raise held_elsewhere(run) from None

    async def has_answers(self) -> bool:
        """Tell whether the person has answered what a run of the session had asked that is over."""
        return any(one.session_no for one in (await self.agent.stores.runs.look_in(self.call)).candidates)

    async def start_answered(self) -> Run:
        """Start a run for those answers, and return it.

        Raises:
            Conflict: another process has just done so.
        """
        for run in await self.agent.runner.look():
            return run
        raise Conflict(say("Another process has just started a run of this session."), hint=say("Wait until it ends."))

    async def use_workspace(self) -> None:
        """Let the session work in the folder of --workspace, if one is named, and settle whether its AGENTS.md counts.

        After the model is chosen and before anything is posted: what is refused leaves no session behind, and files of
        a message go into that folder.

        Raises:
            SetupError: the session has files already, or works in another folder.
        """
        await self.agent.madang.use_workspace(self.call)
        await offer_agents_file(self.agent.madang, self.call, may_ask=not getattr(self.options, "json", False))

    async def last_seq(self) -> int:
        """Return the number of the last event of the session."""
        session = await self.agent.madang.sessions.get(self.call)
        return session.last_seq if session else 0

    async def post(self, parts: Sequence[Part], model: str) -> Run:
        """Give a message to the session's run, or start one with it; return the run.

        Raises:
            Conflict: another process has just started or ended one.
        """
        run = await self.agent.runner.post(self.call, parts, model) or await self.live()
        if run is None:
            raise Conflict(say("The run of this session has just ended."), hint=say("Send the message again."))
        return run

    async def follow(self, run: Run, after: int, take: Callable[[Event], None]) -> Run:
        """Hand out the events after a number until the run waits for the person or is over, and return it then.

        A database that does not answer is waited for.

        Raises:
            RequestError: the session was deleted.
            RunStopped: its time is up and it has not ended, or nobody works on it.
        """
        clock, unattended_s = _Overdue(self, run), await self._unattended_s()
        following = asyncio.ensure_future(self._follow(run, after, clock.noting(take)))
        overdue = asyncio.ensure_future(clock.watch(unattended_s))
        try:
            done, _ = await asyncio.wait({following, overdue}, return_when=asyncio.FIRST_COMPLETED)
            return (following if following in done else overdue).result()
        finally:
            for task in (following, overdue):
                task.cancel()
            await asyncio.gather(following, overdue, return_exceptions=True)

    async def _follow(self, run: Run, after: int, take: Callable[[Event], None]) -> Run:
        taken = after

        async def watch() -> Run | None:
            nonlocal after, taken
            async with aclosing(self.agent.events.watch(self.call, after)) as pages:
                async for page in pages:
                    if page.is_beyond:
                        break
                    for event in page.events:
                        if event.seq > taken:
                            take(event)
                            taken = event.seq
                    if any(event.run_id == run.id and _may_stop(event) for event in page.events):
                        now = await self.stopped(run)
                        if now is not None:
                            return now
                    after = page.next_after  # not before: what stopped the run is looked at again after an outage
            return None

        now = await self.agent.stores.patience.insist(watch)
        if now is None:
            raise RequestError(say("The session '{id}' was deleted.", id=run.session_id))
        return now

    async def _unattended_s(self) -> float:
        """Return how long a run of the session's assistant may work by itself."""
        settings, assistants = self.agent.madang.settings, self.agent.madang.assistants
        try:
            assistant = await assistants.get(settings.user, settings.assistant)
            limits = parse_limits(assistant.limits if assistant else {}, has_prices=True)
        except MadangError:  # the run itself says what is wrong
            limits = RunLimits()
        return limits.unattended_minutes * 60

    async def stopped(self, run: Run) -> Run | None:
        """Return the run if it is over, or waits for the person; None if it works or is about to."""
        now = await self.agent.stores.runs.get(run.user_id, run.id)
        if now is None or now.state not in LIVE_STATES:
            return now or run
        if now.state == "running" or await self._has_news(now):
            return None
        return now if any(pause.is_open for pause in await self.agent.inbox.list_awaited(now)) else None

    async def _has_news(self, run: Run) -> bool:
        """Tell whether a run that waits goes on all the same: for a message, or an answer to what it asked before."""
        news = await self.agent.stores.runs.read_news(run)
        return bool(news.answered) or any(one.kind == "message" for one in news.queued)

    async def open_calls(self, run: Run) -> dict[str, str]:
        """Return the tools of the calls of a run's present turn, by the ids of the calls."""
        return {call.call_id: call.tool for call in await self.agent.stores.calls.list_by_turn(run)}

    async def open_questions(self) -> list[PauseRecord]:
        """Return what runs of the session, also such that ended, have asked and nobody has answered, oldest first."""
        pauses = await self.agent.inbox.list_open(self.call.user_id)
        return [one for one in reversed(pauses) if one.session_id == self.call.session_id and one.run_id]

    async def open_pauses(self, run: Run) -> list[PauseRecord]:
        """Return what a run has open: first what it waits for, then what it asked before and goes on without."""
        awaited = [pause for pause in await self.agent.inbox.list_awaited(run) if pause.is_open]
        ids = {pause.id for pause in awaited}
        asked = await self.agent.inbox.list_by_run(run)
        return [*awaited, *(pause for pause in asked if pause.is_open and pause.id not in ids)]


@asynccontextmanager
async def open_conversation(
    options: argparse.Namespace, settings: Settings, *, is_unattended: bool = False
) -> AsyncIterator[Conversation]:
    """Open the agent for the session that the options choose. It takes nothing over before `agent.watch()`.

    Raises:
        SetupError: the rules or the model cannot be used.
        RequestError: there is no session to continue.
    """
    rules = _read_rules(options.rules)
    session = await _choose_session(options, settings)
    settings = replace(settings, session=session, model=absolute_models(options.model or settings.model))
    keys = KeyStore(settings.data_dir, os.environ)
    call = Call(settings.assistant, session, settings.user)

    async with open_agent(
        settings,
        lambda name: open_model(name, settings.models, keys),
        only_session=call,
        rules=rules,
        is_unattended=is_unattended,
    ) as agent:
        yield Conversation(agent, agent.madang.call("command"), options)


async def _choose_session(options: argparse.Namespace, settings: Settings) -> SessionId:
    if options.resume and options.session is not None:
        raise RequestError(say("Use either --session or --continue."))
    if options.resume:
        async with open_madang(settings) as madang:
            await PauseStore(madang.database).open()
            session = await find_latest_session(madang.database, settings.user)
        if session is None:
            raise RequestError(say("There is no session to continue."), hint=say("Leave --continue out to begin one."))
        return session
    is_named = options.session is not None or settings.session != DEFAULT_SESSION
    return settings.session if is_named else SessionId(new_id())


def held_elsewhere(run: Run) -> RequestError:
    return RequestError(
        say("A run of the session '{id}' is running in another process.", id=run.session_id),
        hint=say("Wait until it ends, or name another session with --session."),
    )


def absolute_models(models: str) -> str:
    """Return the names of models as a process in another folder finds them too."""
    return join_models(absolute_model(name) for name in split_models(models))


def absolute_model(model: str) -> str:
    """Return a model's name as a process in another folder finds it too."""
    if not model.startswith(SCRIPTED) or model == SCRIPTED:
        return model
    try:
        return SCRIPTED + str(Path(model.removeprefix(SCRIPTED)).expanduser().absolute())
    except (RuntimeError, OSError):  # told when it is opened
        return model


def _read_rules(name: str | None) -> ApprovalRules:
    if not name:
        return NO_RULES
    try:
        with Path(name).expanduser().open("rb") as file:
            data = file.read(MAX_RULES_BYTES + 1)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SetupError(say("The rules {path} cannot be read: {reason}.", path=name, reason=reason)) from None
    return parse_rules(data, name, {*prebuilt_schemas(), *AGENT_TOOLS})


class _Overdue:
    """Ends the wait for a run that cannot end by itself any more, so that no command hangs for ever."""

    def __init__(self, talk: Conversation, run: Run) -> None:
        self._talk = talk
        self._run = run
        self._event_s = self._worked_s = time.monotonic()
        """When something was last told of the run, and when it last had a worker."""

    def noting(self, take: Callable[[Event], None]) -> Callable[[Event], None]:
        """Return what takes events, and notes that there are some."""

        def noted(event: Event) -> None:
            self._event_s = time.monotonic()
            take(event)

        return noted

    async def watch(self, unattended_s: float) -> Run:
        """Look again and again, and return the run if it is over and nothing has told so.

        Raises:
            RunStopped: its time is up, or nobody has worked on it for long.
        """
        while True:
            await asyncio.sleep(CHECK_S)
            try:
                stopped = await self._talk.stopped(self._run)
                if stopped is not None and time.monotonic() - self._event_s > UNTOLD_S:
                    return stopped
                is_worked_on = self._talk.agent.runner.is_at_work(self._run.id) or await self._is_elsewhere()
            except Unavailable:
                is_worked_on = True  # it waits for the database; the time below is over at some point
            now = time.monotonic()
            if is_worked_on:
                self._worked_s = now
            elif now - self._worked_s > UNWORKED_S:
                raise RunStopped(
                    "unavailable", say("Nobody has worked on this run for {seconds} s.", seconds=UNWORKED_S)
                )
            if now - self._event_s > unattended_s + GRACE_S:
                minutes = round((now - self._event_s) / 60)
                raise RunStopped(
                    "limit",
                    say("Nothing has happened in this run for {minutes} {minutes|minute|minutes}.", minutes=minutes),
                )

    async def _is_elsewhere(self) -> bool:
        run = await self._talk.agent.stores.runs.get(self._run.user_id, self._run.id)
        return run is not None and await self._talk.agent.stores.runs.is_held(run)


def _may_stop(event: Event) -> bool:
    return event.kind in ("RUN_FINISHED", "RUN_ERROR")


@contextmanager
def interrupts(on_interrupt: Callable[[], None]) -> Iterator[None]:
    """Have Ctrl-C call a function of the event loop, in place of ending the process."""
    loop = asyncio.get_running_loop()

    def handle(_: int, __: FrameType | None) -> None:
        loop.call_soon_threadsafe(on_interrupt)

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
