"""`madang chat`: a conversation with the agent, in which questions and approvals are answered where they come up."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

from madang.cli.chat_commands import ChatCommands
from madang.cli.conversation import Conversation, interrupts, open_conversation
from madang.cli.line_input import LineInput, open_input
from madang.cli.questions import CALL_COMMAND, command, describe, parse_answer, parse_turn, title
from madang.cli.run_printer import RunPrinter, outage_words
from madang.cli.screen import Screen
from madang.core.errors import MadangError
from madang.core.ids import new_id
from madang.core.pauses import Decline, ModelTurn, PauseAnswer, PauseForm, Permission
from madang.core.phrases import Phrase, say
from madang.core.run_events import RunFailed, read_event
from madang.llm.messages import Part, TextPart, dump_parts
from madang.records.runs.records import LIVE_STATES, Run
from madang.settings import Settings

FINISHED, WAITING, LEFT = 0, 3, 130

ALLOW, ALLOW_SESSION, DENY = ("y", "yes", "예", "네"), ("s", "session", "세션"), ("n", "no", "아니요")
LATER = ("later", "나중에")


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Talk until the person leaves."""
    return asyncio.run(_run(options, settings))


async def _run(options: argparse.Namespace, settings: Settings) -> int:
    async with open_conversation(options, settings) as talk:
        model = await talk.choose_model(await talk.check_free())
        await talk.use_workspace()
        return await Chat(talk, model).run()


class Chat:
    """A conversation: what happens in its session is shown, and each line typed goes where it belongs at the time."""

    def __init__(self, talk: Conversation, model: str) -> None:
        self._talk = talk
        self._call = talk.call
        self.model = model
        self.screen = Screen()
        self._printer = RunPrinter(self.screen, talk.translate, shows_results=not model)
        self._input: LineInput
        self._commands = ChatCommands(self, talk)
        self._live: Run | None = None
        self._asked: PauseForm | None = None
        self._later: set[str] = set()
        self._asks_all = False
        """Whether it asks also what the run goes on without."""
        self._turn: list[Part] = []
        """What the person does in the model's place as soon as it is their turn."""
        self._edited = "", 0
        self._seen = 0
        """The number of the last event that was shown."""
        self._is_working = False
        self._refreshing = asyncio.Lock()
        self._changed = asyncio.Event()
        self._cancelling: asyncio.Task[bool] | None = None
        self._leaving = asyncio.Event()
        self._is_interrupted = False

    async def run(self) -> int:
        """Talk until the person leaves, and return the exit code."""
        self._input = open_input(self._on_edit)
        tasks: list[asyncio.Task[Any]] = []
        self._greet()
        runner, insist = self._talk.agent.runner, self._talk.agent.stores.patience.insist
        stop_listening = runner.listen(self._printer.hear)
        stop_hearing = runner.listen_outages(lambda reason: self.tell(outage_words(reason)))
        try:
            with interrupts(self._interrupt):
                self._seen = await self._talk.last_seq()
                await self.refresh()
                if self._live is not None:
                    self._printer.follow(self._live, await self._talk.open_calls(self._live))
                watches: list[Coroutine[Any, Any, None]] = [
                    insist(self._follow),
                    insist(self._watch_pauses),
                    self.screen.animate(),
                ]
                tasks += [asyncio.create_task(watch) for watch in watches]
                self._talk.agent.watch()
                return await self._converse(tasks)
        finally:
            stop_listening()
            stop_hearing()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.screen.set_busy(False)
            self.screen.clear()
            self._input.close()

    async def _converse(self, watches: list[asyncio.Task[Any]]) -> int:
        leaving = asyncio.create_task(self._leaving.wait())
        watches.append(leaving)
        while True:
            if not self._input.is_typed:
                await self._wait_for_turn(watches)
            line = asyncio.create_task(self._input.line())
            watches.append(line)
            done, _ = await asyncio.wait(watches, return_when=asyncio.FIRST_COMPLETED)
            watches.remove(line)
            for task in done - {line, leaving}:
                task.result()  # one that follows ends only by an error
            if leaving in done or (text := await line) is None:
                line.cancel()
                return await self._leave(is_end=not self._is_interrupted)
            try:
                await self.take(text)
            except MadangError as error:
                self.tell_error(error)

    async def _wait_for_turn(self, watches: list[asyncio.Task[Any]]) -> None:
        """Wait until the model has stopped: the next line of a pipe is meant for what comes then."""
        while True:
            self._changed.clear()
            await self._look()
            if not self._is_working and self._seen >= await self._talk.last_seq():
                return
            changed = asyncio.create_task(self._changed.wait())
            done, _ = await asyncio.wait([changed, *watches], return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            for task in done - {changed}:
                task.result()
            if self._leaving.is_set():
                return

    async def _leave(self, *, is_end: bool) -> int:
        """Stop what runs, leave what waits, and return the exit code."""
        live = await self._talk.live()
        if live is not None and await self._talk.stopped(live) is None:
            await self._talk.agent.runner.cancel(live.user_id, live.id)
        live = await self._talk.live()  # it may also have ended by itself between the two looks
        if live is not None or await self._talk.open_questions():
            self.tell(say("What is open stays open: {command}", command=command("answer", self._talk.options)))
        if not is_end:
            return LEFT
        return FINISHED if live is None else WAITING

    # What happens

    async def _follow(self) -> None:
        async with aclosing(self._talk.agent.events.watch(self._call, self._seen)) as pages:
            async for page in pages:
                for event in page.events:
                    if event.kind == "RUN_STARTED" and event.run_id != self._printer.run_id:
                        self._printer.begin(event.run_id)
                    self._printer.print(event)
                    told = read_event(event.document())
                    if isinstance(told, RunFailed) and told.code != "interrupted":
                        self.screen.note(told.message)
                    self._seen = event.seq
                await self.refresh()

    async def _watch_pauses(self) -> None:
        async with aclosing(self._talk.agent.stores.pauses.changes(self._call.user_id)) as changes:
            async for _ in changes:
                await self.refresh()

    async def refresh(self) -> None:
        """Look what the session's run is doing, and wake who waits for its next stop."""
        await self._look()
        self._changed.set()

    async def _look(self) -> None:
        """Look what the session's run is doing, and ask the next thing that it waits for.

        Wakes nobody: whoever waits for a change looks in between, and would wake itself for ever.
        """
        async with self._refreshing:  # one look at a time: an older one must not win
            if self._seen < await self._talk.last_seq():
                return  # what led to it is shown first, and then this is done
            live = await self._talk.live()
            stopped = await self._talk.stopped(live) if live is not None else None
            self._is_working = live is not None and stopped is None
            live = stopped or live  # the later look counts
            self._live = live if live is not None and live.state in LIVE_STATES else None
            asked = await self._next_item()
            if asked is not None and asked.type == "model" and self._turn:
                parts, self._turn = self._turn, []
                await self._settle(asked, ModelTurn(dump_parts(parts)))
                asked, self._is_working = None, True
            is_new = asked is not None and (self._asked is None or self._asked.id != asked.id)
            self._asked = asked
            if asked is not None and is_new:
                self._ask(asked)
            self.screen.set_busy(self._is_working)
            self._on_edit(*self._edited)

    async def _next_item(self) -> PauseForm | None:
        if self._is_working or (self._live is None and not self._asks_all):
            return None
        inbox = self._talk.agent.inbox
        awaited = await inbox.list_awaited(self._live) if self._live is not None else []
        for pause in [*awaited, *(await self._talk.open_questions() if self._asks_all else [])]:
            if not pause.is_open or pause.id in self._later:
                continue
            if self._asked is not None and self._asked.id == pause.id:
                return self._asked
            return await inbox.read(self._call, pause)
        self._asks_all = False
        return None

    def _ask(self, item: PauseForm) -> None:
        self.screen.show(describe(item, self._talk.translate))
        self.screen.note(self.words(_how(item)))
        self.screen.notify(self.words(say("Madang waits for you: {title}", title=title(item, self._talk.translate))))

    # What is typed

    async def take(self, line: str) -> None:
        """Do what a line says: a command, the answer to what is asked, or a message."""
        text = line.strip()
        if not text:
            return
        if self._input.is_typed:
            self.screen.show(f"{self._prompt()}{line}")
        if self._asked is not None and await self._answer(self._asked, text):
            await self.refresh()
            return
        if text.startswith("//"):
            text = text[1:]
        elif text.startswith("/") and not text.startswith(CALL_COMMAND):
            await self._commands.do(text)
            await self.refresh()
            return
        await self.post(text)
        await self.refresh()

    async def _answer(self, item: PauseForm, text: str) -> bool:
        """Settle what is asked with a line; False if the line is for something else."""
        word = text.lower()
        if word == "/later" or (item.type == "approval" and word in LATER):
            self._later.add(item.id)
            answer_later = f"{command('answer', self._talk.options)} {item.id}"
            self.tell(say("It stays open. Later: {command} or /open", command=answer_later))
            return True
        if item.type == "model":
            if text.startswith("/") and not text.startswith(CALL_COMMAND):
                return False
            await self._settle(item, ModelTurn(dump_parts(self._parse_turn(text))))
        elif item.type == "approval" and not text.startswith("/"):
            # Only a word of these allows anything: an Enter that was meant for something else never does.
            if word in DENY:
                await self._settle(item, Permission(False))
            elif word in ALLOW:
                await self._settle(item, Permission(True))
            elif word in ALLOW_SESSION and "session" in item.scopes:
                await self._settle(item, Permission(True, "session"))
            else:
                self.tell(_how(item))
        elif text == "/cancel":
            await self._settle(item, Decline())
        elif text.startswith("/"):
            return False
        else:
            await self._settle(item, parse_answer(item, [text]))
        return True

    async def _settle(self, item: PauseForm, answer: PauseAnswer) -> None:
        await self._talk.agent.inbox.settle(self._call, item.pause, answer)
        if self._live is None:
            await self._talk.agent.runner.look()  # now: at the end of a pipe nobody waits for the next look

    async def post(self, text: str) -> None:
        """Send a message, also in place of an answer."""
        parts: list[Part] = [TextPart(text)]
        if text.startswith(CALL_COMMAND):
            if self.model:
                self.tell(say("The model chooses its tools. /call is for conversations without a model."))
                return
            self._turn = self._parse_turn(text)
        was_live = self._live is not None
        run = await self._talk.post(parts, self.model)
        if was_live and run.state == "running":
            self.tell(say("Queued: the model gets it before its next request. /withdraw takes it back."))

    def _parse_turn(self, text: str) -> list[Part]:
        parts = parse_turn(text, new_id())
        for part in parts:
            tool = getattr(part, "tool", None)
            if tool and self._talk.agent.madang.provider.find_tool(tool) is None:
                raise self._talk.agent.madang.provider.unknown_tool(self._call, tool)
        return parts

    # Stopping

    def _interrupt(self) -> None:
        """Stop the run at Ctrl-C; the next one leaves. A line that was begun is dropped first."""
        if self._cancelling is not None and not self._cancelling.done():
            self.screen.clear()
            self._input.close()
            os._exit(LEFT)
        if self._is_working:
            self.stop()
        elif not self._input.clear():
            self._is_interrupted = True
            self._leaving.set()

    def stop(self) -> bool:
        """Cancel the session's run, also one that waits; False if there is none."""
        if self._live is None:
            return False
        self.tell(say("Stopping."))
        self._cancelling = asyncio.create_task(self._talk.agent.runner.cancel(self._live.user_id, self._live.id))
        return True

    def leave(self) -> None:
        self._leaving.set()

    def reopen(self) -> None:
        """Ask again what was put off, and what the run goes on without."""
        self._later.clear()
        self._asks_all = True

    # What is shown

    def tell(self, phrase: Phrase) -> None:
        self.screen.note(self.words(phrase))

    def tell_error(self, error: MadangError) -> None:
        self.screen.note(" ".join(self.words(phrase) for phrase in (error.message, error.hint) if phrase is not None))

    def words(self, phrase: Phrase) -> str:
        return phrase.render(self._talk.translate)

    def _greet(self) -> None:
        self.tell(say("Session: {id}", id=self._call.session))
        if self.model:
            self.tell(say("Model: {model}", model=self.model))
        else:
            self.tell(say("There is no model, so you are in its place: /tools lists what can be called."))
        if self._input.is_typed:
            self.tell(say("/help lists the commands. Ctrl-C stops the model, and then leaves."))

    def _prompt(self) -> str:
        if self._asked is None:
            return "> "
        return {"model": "model> ", "approval": "y/n> "}.get(self._asked.type, "? ")

    def _on_edit(self, text: str, cursor: int) -> None:
        self._edited = text, cursor
        if self._input.is_typed:
            self.screen.set_input(self._prompt(), text, cursor)


_HOW = {
    "text": say("Type the answer; /cancel gives none, /later leaves it open."),
    "select": say("Type a number or a word; /cancel gives none, /later leaves it open."),
    "multiselect": say("Type numbers or words with commas, 0 for none; /cancel gives none, /later leaves it open."),
    "choice": say("Type a number or a word; /cancel gives none, /later leaves it open."),
    "wait": say("Type 'continue' when you are ready; /later leaves it waiting."),
    "approval": say("y allows it once, s in this session, n does not; 'later' leaves it open. Enter does nothing."),
    "model": say(
        "Type /call TOOL JSON, or a text that ends the run. /tools lists the tools, /state what a model sees."
    ),
}
_HOW_ONCE = say("y allows it once, n does not; 'later' leaves it open. Enter does nothing.")


def _how(item: PauseForm) -> Phrase:
    """Return what to type to settle something."""
    return _HOW_ONCE if item.type == "approval" and "session" not in item.scopes else _HOW[item.type]
