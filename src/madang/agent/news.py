"""What a run's model is told before its next request of what happened beside it: messages, late answers, actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from madang.agent import events
from madang.agent.history import count_tokens
from madang.agent.outcomes import check_stored
from madang.core.calls import Call, Locale
from madang.core.ids import new_id
from madang.core.pauses import PauseRecord
from madang.core.phrases import Phrase, Translate, say
from madang.core.trust import Origin, parse_origins
from madang.llm.messages import AttachedFile, ImagePart, Part, TextPart, dump_parts, parse_parts
from madang.provider.provider import Provider
from madang.records.events import NewEvent
from madang.records.runs.journal import MessageKind, NewMessage, QueuedMessage, RunNews, Step
from madang.rendering.catalogue import translator

SHOWN = "shown"
"""In a part: what the person is shown of it, where a model is told more."""


class NewsRows:
    """The messages that a run's history gets of its news, and the events that tell of them."""

    def __init__(self, locale: Locale) -> None:
        self._locale = locale
        self._events: list[NewEvent] = []
        self._messages: list[NewMessage] = []
        self._given: list[str] = []
        self._answered_late: list[str] = []

    async def add(self, news: RunNews, provider: Provider, make_call: Callable[[str], Call]) -> None:
        """Add what there is: answers first, for they are older than what was written after them."""
        for pause in news.answered:
            reply = check_stored(await provider.outcome(make_call(pause.call_id), pause))
            tool = provider.find_tool(pause.tool)
            self._add_answer(pause, reply.text, tool.origins(reply) if tool else ())
        self._add_actions([one for one in news.queued if one.kind == "action"])
        for message in news.queued:
            if message.kind == "message":
                parts = parse_parts(list(message.parts))
                told = events.user_wrote(message.id, parts)
                self._add(message.id, message.parts, message.tokens, told, origins=attached_origins(parts))
                self._given.append(message.id)

    @property
    def step(self) -> Step:
        return Step(events=self._events, messages=self._messages, given=self._given, answered_late=self._answered_late)

    def _add_answer(self, pause: PauseRecord, outcome: str, origins: tuple[Origin, ...]) -> None:
        text = self._words(say("The person has now answered what you asked before ('{title}'):", title=pause.title))
        id = new_id()
        part = {**dump_parts([TextPart(f"{text}\n{outcome}")])[0], SHOWN: outcome}
        self._add_part(id, part, events.answered_late(id, pause, outcome), "answered_late", origins)
        self._answered_late.append(pause.id)

    def _add_actions(self, actions: Sequence[QueuedMessage]) -> None:
        """Add what was done beside the run as one message: it is told, not asked for."""
        for phrase, is_person in ((_BY_PERSON, True), (_BY_PROGRAM, False)):
            told = [one for one in actions if (one.parts[0].get("by") == "person") is is_person]
            if told:
                id = new_id()
                text = "\n".join([self._words(phrase), *map(_text, told)])
                origins = tuple(origin for one in told for origin in parse_origins(one.parts[0].get("origins", "")))
                self._add_part(id, dump_parts([TextPart(text)])[0], events.acted(id, text), "action", origins)
        self._given += [one.id for one in actions]

    def _add_part(
        self, id: str, part: dict[str, Any], event: NewEvent, kind: MessageKind, origins: tuple[Origin, ...]
    ) -> None:
        self._add(id, [part], count_tokens(parse_parts([part])), [event], kind, origins)

    def _add(
        self,
        id: str,
        parts: Sequence[Any],
        tokens: int,
        told: Sequence[NewEvent],
        kind: MessageKind = "",
        origins: tuple[Origin, ...] = (),
    ) -> None:
        self._events += told
        event = len(self._events) - 1
        self._messages.append(NewMessage(id, "user", parts, event, tokens, kind=kind, origins=origins))

    def _words(self, phrase: Phrase) -> str:
        return phrase.render(translator(self._locale))


def attached_file(name: str, content_id: str, translate: Translate) -> TextPart:
    """Return what tells the model of a file that the person attached to a message; an image has no content."""
    if not content_id:
        return TextPart(say("[Image: {name}]", name=name).render(translate), file=AttachedFile(name))
    note = say("[File: {name}, contentId {id}: 'read_content' reads it]", name=name, id=content_id)
    return TextPart(note.render(translate), file=AttachedFile(name, content_id))


def attached_origins(parts: Sequence[Part]) -> tuple[Origin, ...]:
    """Return what a message of the person's brings that they have not written: names of files, pictures, playbooks."""
    origins: list[Origin] = []
    for part in parts:
        if isinstance(part, TextPart):
            origins += [*part.origins, *([Origin("file", part.file.name)] if part.file else [])]
        elif isinstance(part, ImagePart):
            origins.append(Origin("file", part.alt))
    return tuple(dict.fromkeys(origins))


def _text(message: QueuedMessage) -> str:
    return "".join(part.get("text", "") for part in message.parts if part.get("type") == "text")


_BY_PERSON = say("Meanwhile the person did this themselves:")
_BY_PROGRAM = say("Meanwhile another program did this in the session:")
