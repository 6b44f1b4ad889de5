"""What becomes of an answer by the way it ended, so that no run ends without a word. Pure.

An answer that cannot be used is mended once: the model is told what was wrong with it, and asked again. If the next one
cannot be used either, the run ends as incomplete. A call that was cut is told as not made, and the run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from madang.core.own_events import MendReason
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line
from madang.llm.base import ModelAnswer
from madang.llm.messages import CallPart, ImagePart

INCOMPLETE = "incomplete"
"""The code of a run that ended without an answer that can be used."""
MAX_CALLS_PER_ANSWER = 64
MAX_FINISH_CHARS = 60

_MALFORMED = frozenset({"malformed_function_call", "malformed_response", "malformed_tool_call", "unexpected_tool_call"})


@dataclass(frozen=True, slots=True)
class Note:
    """What a model is asked again, by Madang and not by the person."""

    reason: MendReason
    asks: Phrase
    """What the model is told."""
    shown: Phrase
    """What the person is told of it."""


@dataclass(frozen=True, slots=True)
class Mend(Note):
    """What is wrong with an answer."""

    ends: Phrase
    """What the person is told if it happens again."""


@dataclass(frozen=True, slots=True)
class UnmadeCall:
    """A call of an answer that is not made, and what the model is told in place of a result."""

    call: CallPart
    told: Phrase
    is_cut: bool = False


def find_fault(answer: ModelAnswer) -> Mend | None:
    """Return why an answer cannot be used as it is; None if it can. An answer with calls can: each gets a result."""
    if answer.calls:
        return None
    if answer.malformed_call is not None:
        return replace(_NO_CALL, asks=say("[Madang's note, not the person's] {problem}", problem=answer.malformed_call))
    has_words = has_content(answer)
    match answer.finish:
        case "stop":
            return None if has_words else _EMPTY
        case "length":
            return _CUT if has_words else _CUT_EMPTY
        case "calls":
            return _NO_CALL
        case _:
            if answer.raw_finish.lower() in _MALFORMED:
                return _NO_CALL
            return _unknown(one_line(answer.raw_finish, MAX_FINISH_CHARS))


def has_content(answer: ModelAnswer) -> bool:
    """Tell whether an answer has anything for the person: thoughts alone are nothing, nor a call that is none."""
    if answer.malformed_call is not None:
        return False
    return bool(answer.text.strip()) or any(isinstance(part, ImagePart) for part in answer.parts)


def asks_back(text: str) -> bool:
    """Tell whether an answer ends with a question, so that it is the person's turn."""
    return text.rstrip(" \n*_)\"'”’」").endswith(("?", "\uff1f", "\u061f"))  # also full-width and Arabic


def is_confirmation(answer: ModelAnswer, before: str) -> bool:
    """Tell whether the answer to `CHECK` leaves the run as it is: it says so, says nothing, or only repeats itself."""
    if answer.calls:
        return False
    text = answer.text.strip()
    return find_fault(answer) is not None or text == before.strip() or text.strip(" .!*`'\"").upper() == "DONE"


def find_unmade(answer: ModelAnswer, calls: Sequence[CallPart]) -> list[UnmadeCall]:
    """Return those of an answer's calls that are not made: half ones, and those beyond what one answer may ask for.

    `calls` are all of them, under the ids that they are kept by.
    """
    whole = {id(call) for call in answer.runnable_calls}
    unmade: list[UnmadeCall] = []
    count = 0
    for original, call in zip(answer.calls, calls, strict=True):
        if id(original) not in whole:
            unmade.append(UnmadeCall(call, _CUT_CALL if answer.finish == "length" else _HALF_CALL, is_cut=True))
        elif count >= MAX_CALLS_PER_ANSWER:
            unmade.append(UnmadeCall(call, _TOO_MANY))
        else:
            count += 1
    return unmade


CHECK = Note(
    "check",
    say(
        "[Madang's note, not the person's] Before the run ends: is everything done that the person asked for? If not, "
        "call the next tool, or say what is missing. If it is, answer with this one word: DONE"
    ),
    say("The model is asked whether everything was done."),
)
"""Asked once a run, where its end is in doubt."""

_EMPTY = Mend(
    "empty",
    say("[Madang's note, not the person's] Your answer was empty. Answer the person, or call the next tool."),
    say("The model's answer was empty. It is asked again."),
    say("The model gave an empty answer, also when it was asked again."),
)
_CUT = Mend(
    "cut",
    say(
        "[Madang's note, not the person's] Your answer was cut off by the limit on its length. Go on exactly where it "
        "stopped, without repeating anything."
    ),
    say("The answer was cut off by the limit on its length. The model is asked to go on."),
    say("The answer was cut off by the limit on its length, also when the model went on with it."),
)
_CUT_EMPTY = Mend(
    "empty",
    say(
        "[Madang's note, not the person's] You reached the limit on the length of an answer before you said anything. "
        "Think less, and answer briefly or call the next tool."
    ),
    say("The model reached the limit on the length of its answer before it said anything. It is asked again."),
    say("The model reached the limit on the length of its answer before it said anything, twice."),
)
_NO_CALL = Mend(
    "malformed",
    say(
        "[Madang's note, not the person's] The call that you wanted to make could not be read, so it was not made. "
        "Make it again, with one JSON object as its arguments."
    ),
    say("A call of the model's could not be read. It is asked again."),
    say("A call of the model's could not be read, also when it was asked again."),
)


def _unknown(finish: str) -> Mend:
    return Mend(
        "finish",
        say(
            "[Madang's note, not the person's] Your answer ended before it was whole ('{finish}'). Answer again, or "
            "call the next tool.",
            finish=finish,
        ),
        say("The answer ended before it was whole ('{finish}'). The model is asked again.", finish=finish),
        say("The answer ended before it was whole ('{finish}'), also when the model was asked again.", finish=finish),
    )


_CUT_CALL = say(
    "Error: Not done: your answer was cut off inside this call by the limit on its length.\n"
    "Hint: Do it in pieces, with a smaller call for each: a long file with 'write_file', then with its mode 'append'."
)
_HALF_CALL = say(
    "Error: Not done: your answer ended before this call was whole.\nHint: Make the call again, as a whole."
)
_TOO_MANY = say(
    "Error: Not done: one answer may make {max} calls.\nHint: Make this call again in your next answer.",
    max=MAX_CALLS_PER_ANSWER,
)
