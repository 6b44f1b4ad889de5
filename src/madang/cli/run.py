"""`madang run`: one message to the agent, its answer, and an exit code that says how it ended."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable
from contextlib import suppress

from madang.agent.finishes import INCOMPLETE
from madang.agent.limits import RunStopped
from madang.cli.attachments import Attachment, compose, read_attachments, read_input
from madang.cli.conversation import Conversation, interrupts, open_conversation
from madang.cli.questions import answer_command, command, describe, kind_name, title
from madang.cli.run_printer import RunPrinter, outage_words
from madang.cli.screen import Screen
from madang.cli.terminal import show_error, show_json_line
from madang.core.errors import RequestError, SetupError
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line
from madang.records.events import Event
from madang.records.runs.records import Run
from madang.settings import Settings

FINISHED, FAILED, SETUP, WAITING, LIMIT, UNFINISHED, CANCELLED = 0, 1, 2, 3, 4, 5, 130


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Post the message, follow the run until it stops, and return how it stopped as an exit code."""
    text = "\n\n".join(filter(None, ((options.message or "").strip(), read_input())))
    return asyncio.run(_run(options, settings, text, read_attachments(options.file or [])))


async def _run(options: argparse.Namespace, settings: Settings, text: str, attachments: list[Attachment]) -> int:
    async with open_conversation(options, settings, is_unattended=True) as talk:
        live = await talk.check_free()
        if live is None and not (text or attachments or options.playbook or await talk.has_answers()):
            raise RequestError(
                say("There is no message, and no run of this session to go on with."),
                hint=say("Write the message behind it: madang run 'MESSAGE'"),
            )
        after = await talk.last_seq()
        model = await talk.choose_model(live)
        if not model:
            raise no_model()
        await talk.use_workspace()
        parts = await compose(talk, text, attachments, options.playbook or "")
        target = await talk.post(parts, model) if parts else live or await talk.start_answered()
        talk.agent.watch()
        return await _Session(talk, target).to_end(after)


class _Session:
    """One run that is followed to its next stop."""

    def __init__(self, talk: Conversation, target: Run) -> None:
        self._talk = talk
        self._run = target
        self._screen = Screen()
        self._printer = RunPrinter(self._screen, talk.translate)
        self._is_json: bool = talk.options.json
        self._cancelling: asyncio.Task[bool] | None = None

    async def to_end(self, after: int) -> int:
        take: Callable[[Event], None] = self._print_json if self._is_json else self._printer.print
        self._printer.follow(self._run, await self._talk.open_calls(self._run))
        stop_listening = self._talk.agent.runner.listen(self._printer.hear)
        stop_hearing = self._talk.agent.runner.listen_outages(self._tell_outage)
        animation = asyncio.create_task(self._screen.animate())
        self._screen.set_busy(True)
        try:
            with interrupts(self._interrupt):
                stopped = await self._talk.stopped(self._run) if self._run.state == "waiting" else None
                if stopped is None:
                    stopped = await self._talk.follow(self._run, after, take)
        except RunStopped as error:
            return self._tell_overdue(error)
        finally:
            stop_listening()
            stop_hearing()
            animation.cancel()
            with suppress(asyncio.CancelledError):
                await animation
            self._screen.set_busy(False)
            self._screen.clear()
        return await self._tell_end(stopped)

    def _print_json(self, event: Event) -> None:
        self._screen.clear()
        show_json_line(event.document())

    def _interrupt(self) -> None:
        """Cancel the run at the first Ctrl-C; the second one ends the process, and leaves it to others."""
        if self._cancelling is not None:
            self._screen.clear()
            os._exit(CANCELLED)
        self._cancelling = asyncio.create_task(self._talk.agent.runner.cancel(self._run.user_id, self._run.id))

    def _tell_outage(self, reason: Phrase | None) -> None:
        self._screen.note(self._words(outage_words(reason)))

    def _tell_overdue(self, error: RunStopped) -> int:
        """Say that the run is left as it is, and how to go on with it."""
        self._screen.clear()
        go_on = f"{command('run', self._talk.options)} --session {self._run.session_id}"
        left = say("It is left as it is. Go on with: {command}", command=go_on)
        show_error(f"{self._words(error.message)} {self._words(left)}")
        return LIMIT if error.code == "limit" else FAILED

    async def _tell_end(self, run: Run) -> int:
        match run.state:
            case "finished":
                pass
            case "cancelled":
                self._screen.note(self._words(say("The run was cancelled.")))
            case "failed":
                show_error(one_line(run.error))
            case _:
                await self._tell_waiting(run)
        return exit_code(run)

    async def _tell_waiting(self, run: Run) -> None:
        """Say what the run waits for, and how each of it is answered."""
        options = self._talk.options
        show = self._screen.note if self._is_json else self._screen.show
        pauses = await self._talk.open_pauses(run)
        items = await self._talk.agent.inbox.read_all(self._talk.call, pauses)
        for item in items:
            if not self._is_json:
                heading = say("Waiting for you ({kind}):", kind=kind_name(item.pause))
                show(self._words(heading))
                show(describe(item, self._talk.translate))
            show(self._words(say("Answer with: {command}", command=answer_command(item, options))))
        go_on = f"{command('run', options)} --session {run.session_id}"
        show(self._words(say("Then go on with: {command}", command=go_on)))
        first = title(items[0], self._talk.translate) if items else ""
        self._screen.notify(self._words(say("Madang waits for you: {title}", title=first)))

    def _words(self, phrase: Phrase) -> str:
        return phrase.render(self._talk.translate)


def exit_code(run: Run) -> int:
    """Return the exit code that says how a run stopped."""
    match run.state:
        case "finished":
            return FINISHED
        case "cancelled":
            return CANCELLED
        case "failed":
            return {"limit": LIMIT, INCOMPLETE: UNFINISHED, SetupError.code: SETUP}.get(run.error_code, FAILED)
    return WAITING


def no_model() -> SetupError:
    """Return the error of what needs a model where none is named."""
    return SetupError(
        say("No model is named."),
        hint=say("Name one with --model or MADANG_MODEL; 'madang models' lists them. Without one: madang chat"),
    )
