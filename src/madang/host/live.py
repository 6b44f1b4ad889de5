"""The readers of all streams, and what they are told at once: the words of runs while their models write them, and
what `host/overview.py` reads for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from madang.agent.runner import Runner
from madang.core.calls import Call, Locale
from madang.core.errors import LimitExceeded
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import Phrase, say
from madang.core.service import ActiveSession
from madang.host.presence import Presence
from madang.host.reader import LiveText, ReaderQueue, live_frame
from madang.host.wire_events import OutageChanged, OutageValue
from madang.llm.base import ModelDelta
from madang.provider.provider import Provider
from madang.records.runs.records import Run
from madang.rendering.catalogue import translator

MAX_WRITTEN_RUNS = 256
"""Runs whose unfinished message is held here, for readers that come in its middle. Of more, the oldest go."""
MAX_STREAMS = 600
"""Of one host: more than tabs anybody has, and below the connections that the server takes."""


@dataclass(slots=True)
class _Written:
    """What a run's model has written of its present message, or thought."""

    parts: list[str] = field(default_factory=list)
    length: int = 0

    def add(self, at_char: int, text: str) -> None:
        if at_char == self.length:
            self.parts.append(text)
            self.length += len(text)


@dataclass(slots=True)
class _Present:
    """The message that a run's model is at."""

    message_no: int
    text: _Written = field(default_factory=_Written)
    thinking: _Written = field(default_factory=_Written)

    def written(self, is_thinking: bool) -> _Written:
        return self.thinking if is_thinking else self.text

    def starts_anew(self, at_char: int, is_thinking: bool) -> bool:
        """Tell whether a delta begins the message again: another owner has taken the run up."""
        return at_char == 0 and self.written(is_thinking).length > 0


class LiveReaders:
    """The readers of all streams of this process, by their session."""

    def __init__(self, runner: Runner, provider: Provider) -> None:
        self._readers: dict[SessionId, dict[ReaderQueue, Call]] = {}
        self._written: dict[str, _Present] = {}
        self._stop_listening = runner.listen(self._hear), runner.listen_outages(self._tell_outage)
        self._outage: Phrase | None = None
        self._presence = Presence(provider.switch_context)
        self._inbox = b""
        self._runs = b""
        self._outside: set[ReaderQueue] = set()

    def end(self) -> None:
        """End every stream in order: the process is about to stop, and a reader that comes again finds the next one."""
        for queue in self._all():
            queue.cut("stopping")

    async def close(self) -> None:
        for stop in self._stop_listening:
            stop()
        self.end()
        await self._presence.close()

    @contextmanager
    def reading(self, call: Call, queue: ReaderQueue) -> Iterator[None]:
        """Have a reader of the call's session told. The services are told which session the person is in."""
        self.check_room()
        readers = self._readers.setdefault(call.session, {})
        readers[queue] = call
        for told in filter(None, (self._inbox, self._runs)):
            queue.push(told)
        if self._outage is not None:
            queue.push(_outage_frame(self._outage, queue.locale))
        try:
            with self._presence.at(ActiveSession(call.assistant_id, call.session)):
                yield
        finally:
            del readers[queue]
            if not readers:
                self._readers.pop(call.session, None)

    def written(self, run: Run) -> list[LiveText]:
        """Return what the model of a run has thought and written of the message that it is at, if it is."""
        present = self._written.get(run.id)
        if present is None or run.state != "running" or present.message_no <= run.turn:
            return []
        return [
            LiveText(run.id, present.message_no, 0, "".join(present.written(is_thinking).parts), is_thinking)
            for is_thinking in (True, False)
            if present.written(is_thinking).length
        ]

    @contextmanager
    def listening(self, queue: ReaderQueue) -> Iterator[None]:
        """Have a reader told what is of no session: it is on a screen without one."""
        self.check_room()
        self._outside.add(queue)
        if self._inbox:
            queue.push(self._inbox)
        try:
            yield
        finally:
            self._outside.discard(queue)

    def tell_runs(self, data: bytes) -> None:
        """Tell the readers of sessions which runs are at work, and those who come later; once, if it is as before."""
        if data == self._runs:
            return
        self._runs = data
        for readers in list(self._readers.values()):
            for queue in list(readers):
                queue.push(data)

    def _tell_outage(self, reason: Phrase | None) -> None:
        self._outage = reason
        for queue in self._all():
            queue.push(_outage_frame(reason, queue.locale))

    def has_readers(self, session_id: SessionId) -> bool:
        """Tell whether somebody has a session open."""
        return session_id in self._readers

    def hear_text(self, run: Run, message_no: int, at_char: int, text: str) -> None:
        """Tell what a model has written in another process."""
        self._hear(run, message_no, at_char, ModelDelta("text", text))

    def tell_all(self, data: bytes) -> None:
        for queue in self._all():
            queue.push(data)

    def tell_inbox(self, whole: bytes, changed: Mapping[Locale, bytes]) -> None:
        """Tell every reader what has changed in the inbox, in its language, and those who come later the whole."""
        self._inbox = whole
        for queue in self._all():
            queue.push(changed.get(queue.locale, whole))

    def locales(self) -> set[Locale]:
        """Return the languages of the readers."""
        return {queue.locale for queue in self._all()}

    def sessions(self) -> set[SessionId]:
        """Return the sessions that somebody has open."""
        return set(self._readers)

    def _all(self) -> list[ReaderQueue]:
        return [*self._outside, *(queue for readers in self._readers.values() for queue in readers)]

    def check_room(self) -> None:
        """Check that one more stream can be told.

        Raises:
            LimitExceeded: there are too many.
        """
        if len(self._all()) >= MAX_STREAMS:
            raise LimitExceeded(
                say("{max} streams are open already.", max=MAX_STREAMS), hint=say("Close tabs that are not needed.")
            )

    def cut_moved(self, assistants: Mapping[SessionId, AssistantId | None]) -> None:
        """End the streams of sessions that have gone over to another assistant: the next ones are that one's."""
        for session, assistant in assistants.items():
            for queue, call in list(self._readers.get(session, {}).items()):
                if call.assistant_id != assistant:
                    queue.cut("stopping")

    def _hear(self, run: Run, message_no: int, at_char: int, delta: ModelDelta | None) -> None:
        if delta is None:
            self.forget(run.id)
            return
        is_thinking = delta.kind == "thinking"
        present = self._written.get(run.id)
        if present is None or present.message_no != message_no or present.starts_anew(at_char, is_thinking):
            self._written.pop(run.id, None)
            while len(self._written) >= MAX_WRITTEN_RUNS:
                del self._written[next(iter(self._written))]
            present = self._written[run.id] = _Present(message_no)
        present.written(is_thinking).add(at_char, delta.text)
        live = LiveText(run.id, message_no, at_char, delta.text, is_thinking)
        for queue in list(self._readers.get(run.session_id, ())):
            queue.push_text(live)

    def forget(self, run_id: str) -> None:
        """Drop what was written of a message that is stored by now, or of a run that is over."""
        self._written.pop(run_id, None)


def _outage_frame(reason: Phrase | None, locale: Locale) -> bytes:
    text = reason.render(translator(locale)) if reason is not None else ""
    return live_frame(OutageChanged(value=OutageValue(reason=text)))
