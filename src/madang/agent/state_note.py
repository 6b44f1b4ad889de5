"""The note in which a model is told the state of the services: its heading, the time, and the person's words below it.

It is sent as a message, and must not pass for one of the person's.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from madang.core.calls import Call
from madang.core.phrases import say
from madang.core.texts import one_line
from madang.llm.messages import TextPart, parse_parts
from madang.records.runs.journal import Message as StoredMessage
from madang.rendering.catalogue import translator
from madang.system.clock import now

MAX_REPEATED_CHARS = 300
"""Of the person's request, below the state."""

WEEKDAYS = (
    say("Monday"),
    say("Tuesday"),
    say("Wednesday"),
    say("Thursday"),
    say("Friday"),
    say("Saturday"),
    say("Sunday"),
)


def headed(state: str, call: Call) -> str:
    """Return the state under a heading, with the time of the person's machine: "by Friday" means nothing without it."""
    moment = now().astimezone()
    lines = [
        say("[Madang's note on the state of this session. It is not a message of the person.]"),
        say(
            "Now: {weekday}, {date} {time} ({zone})",
            weekday=WEEKDAYS[moment.weekday()],
            date=f"{moment:%Y-%m-%d}",
            time=f"{moment:%H:%M}",
            zone=_zone(moment),
        ),
    ]
    head = "\n".join(line.render(translator(call.locale)) for line in lines)
    return f"{head}\n\n{state}" if state else head


def end_state(state: str, messages: Sequence[StoredMessage], call: Call) -> str:
    """Return the note with the person's request below it, where that is not the next thing that the model reads."""
    if not messages or messages[-1].role == "user":
        return state
    words = one_line(_last_words(messages), MAX_REPEATED_CHARS)
    # Alone, the request reads like a new one: a small model then makes the call again whose result it has just got.
    asked = say(
        "[End of the note. The results above are for this request of the person: {words} If all of it is done, tell "
        "them; if not, take the next step.]",
        words=words,
    )
    return f"{state}\n{asked.render(translator(call.locale))}" if words else state


def _last_words(messages: Sequence[StoredMessage]) -> str:
    """Return what the person wrote last."""
    for message in reversed(messages):
        if message.role == "user" and not message.kind:
            parts = [part for part in parse_parts(list(message.parts)) if isinstance(part, TextPart)]
            return "".join(part.text for part in parts if not (part.file or part.origins))
    return ""


def _zone(moment: datetime) -> str:
    """Return how far the clock is from UTC, and the zone's own name where it has one."""
    name, offset = moment.tzname() or "", moment.isoformat()[-6:]
    if name == "UTC" or not name.isalpha():
        return "UTC" if offset == "+00:00" else f"UTC{offset}"
    return f"{name}, UTC{offset}"
