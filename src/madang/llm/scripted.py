"""A model that plays a written script: for tests, tours and trying things out without a model. It says what it is.

A script is a list of turns. Turn n is played when the history holds n answers since the script began; the last one is
played again and again. A turn may wait for words: `when` is looked for in what was said last, by the person or a tool.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import anyio

from madang.core.errors import SetupError
from madang.core.phrases import say
from madang.llm import errors
from madang.llm.base import Model, ModelAnswer, ModelDelta, ModelRequest, Usage
from madang.llm.errors import ModelError
from madang.llm.messages import CallPart, Extra, ImagePart, Message, Part, ResultPart, TextPart, ThinkingPart

PROVIDER = "scripted"
MAX_SCRIPT_BYTES = 2**20
BANNER = "[scripted model]"
"""Stands before the first text of each answer, so that nobody takes it for a model's."""

_ERRORS: Mapping[str, type[ModelError]] = {
    kind.code: kind
    for kind in (
        errors.RateLimited,
        errors.Overloaded,
        errors.ServerFailed,
        errors.Unreachable,
        errors.Stalled,
        errors.CutShort,
        errors.BadReply,
        errors.AnswerTooLarge,
        errors.ContextTooLong,
        errors.BadCredentials,
        errors.QuotaExceeded,
        errors.UnknownModel,
        errors.RequestRefused,
    )
}


@dataclass(frozen=True, slots=True)
class Says:
    text: str


@dataclass(frozen=True, slots=True)
class Thinks:
    text: str


@dataclass(frozen=True, slots=True)
class Calls:
    """A call; `arguments` may be a text that is no JSON. `{last}` in it is what was said last."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""


@dataclass(frozen=True, slots=True)
class Waits:
    seconds: float


@dataclass(frozen=True, slots=True)
class Fails:
    """An error, by its code; on the first `times` attempts of a turn, then the turn is played without it."""

    code: str
    retry_after_s: float | None = None
    times: int | None = None


Step: TypeAlias = Says | Thinks | Calls | Waits | Fails | ImagePart


@dataclass(frozen=True, slots=True)
class Turn:
    """What one answer consists of, and when it is given."""

    steps: tuple[Step, ...]
    when: str = ""
    """A regular expression; the turn is played whenever it is found in what was said last."""
    finish: str = ""
    """The reason of its end; by default that of a whole answer."""


@dataclass(frozen=True, slots=True)
class Script:
    """Turns, and whether the model obeys what it reads.

    `obeys`: every call that is written in anything it is given, as `CALL tool {"argument": 1}`, is made. So a test of
    an injection measures what keeps the call from being made, and not a model's good sense.
    """

    turns: tuple[Turn, ...] = ()
    obeys: bool = False


class ScriptedModel(Model):
    """Plays a script, piece by piece."""

    provider = PROVIDER

    def __init__(self, script: Script | Sequence[Turn], *, name: str = "script", banner: str = BANNER) -> None:
        self._script = script if isinstance(script, Script) else Script(tuple(script))
        self._banner = banner
        self._attempts: dict[tuple[int, str], int] = {}
        self.name = name
        self.label = f"{PROVIDER}:{name}"
        self.requests: list[ModelRequest] = []
        """What it was asked, for tests."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelDelta | ModelAnswer, None]:
        self.requests.append(request)
        position = sum(message.role == "assistant" for message in request.messages)
        turn = self._choose(request, position)
        last = _last_said(request)
        parts: list[Part] = []
        has_spoken = False
        for step in turn.steps:
            match step:
                case Waits(seconds):
                    await anyio.sleep(seconds)
                case Fails():
                    self._fail(step, position, last)
                case Says(text):
                    text = text.replace("{last}", last)
                    text = text if has_spoken or not self._banner else f"{self._banner} {text}"
                    has_spoken = True
                    for delta in _pieces("text", text, len(parts)):
                        yield delta
                    parts.append(TextPart(text))
                case Thinks(text):
                    for delta in _pieces("thinking", text, len(parts)):
                        yield delta
                    parts.append(ThinkingPart(text, Extra(PROVIDER, self.name, {"written": True})))
                case Calls(tool, arguments, id):
                    raw = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
                    raw = raw.replace("{last}", json.dumps(last, ensure_ascii=False)[1:-1])
                    call = CallPart(id or f"call_{position}_{len(parts)}", tool, raw)
                    yield ModelDelta("call", tool, len(parts), call.id, tool)
                    for delta in _pieces("arguments", raw, len(parts)):
                        delta.call_id, delta.tool = call.id, tool
                        yield delta
                    parts.append(call)
                case ImagePart():
                    yield ModelDelta("image", index=len(parts))
                    parts.append(step)
        self._attempts.pop((position, last), None)
        has_calls = any(isinstance(part, CallPart) for part in parts)
        finish = turn.finish or ("tool_calls" if has_calls else "stop")
        usage = Usage(_tokens(request), 0, sum(len(str(part)) for part in parts) // 4, 0.0)
        yield ModelAnswer(tuple(parts), finish, usage, self.label)

    def _choose(self, request: ModelRequest, position: int) -> Turn:
        if self._script.obeys and (orders := list(_orders(request))):
            return Turn(tuple(orders))
        last = _last_said(request)
        for turn in self._script.turns:
            if turn.when and re.search(turn.when, last):
                return turn
        plain = [turn for turn in self._script.turns if not turn.when]
        if not plain:
            return Turn((Says("The script has nothing to say to this."),))
        return plain[min(position, len(plain) - 1)]

    def _fail(self, step: Fails, position: int, last: str) -> None:
        attempts = self._attempts[position, last] = self._attempts.get((position, last), 0) + 1
        if step.times is None or attempts <= step.times:
            text = say("The script lets this request fail: {code}.", code=step.code)
            raise _ERRORS[step.code](text, retry_after_s=step.retry_after_s)


_ORDER = re.compile(r"CALL (\w+) (\{.*?\})(?=\s|$)", re.MULTILINE)


def _orders(request: ModelRequest) -> Iterator[Calls]:
    """Yield the calls that are ordered in what was said since the last answer."""
    for message in _since_last_answer(request.messages):
        for part in message.parts:
            if isinstance(part, TextPart | ResultPart):
                for tool, arguments in _ORDER.findall(part.text):
                    yield Calls(tool, arguments)


def _since_last_answer(messages: Sequence[Message]) -> Sequence[Message]:
    answers = [number for number, message in enumerate(messages) if message.role == "assistant"]
    return messages[answers[-1] + 1 :] if answers else messages


def _last_said(request: ModelRequest) -> str:
    """Return what the person or the tools said last."""
    for message in reversed(request.messages):
        texts = [part.text for part in message.parts if isinstance(part, TextPart | ResultPart)]
        if message.role != "assistant" and texts:
            return "\n".join(texts)
    return ""


def _pieces(kind: Literal["text", "thinking", "arguments"], text: str, index: int) -> Iterator[ModelDelta]:
    """Yield a text word by word, as models do."""
    for piece in re.findall(r"\S+\s*|\s+", text):
        yield ModelDelta(kind, piece, index)


def _tokens(request: ModelRequest) -> int:
    """Return about how many tokens a request has."""
    texts = [request.instructions, request.state]
    texts += [getattr(part, "text", "") for message in request.messages for part in message.parts]
    return sum(map(len, texts)) // 4


def read_script(path: Path) -> ScriptedModel:
    """Return the model of a script in a YAML or JSON file.

    Raises:
        SetupError: the file cannot be read, or is no script.
    """
    from madang.text.plain_yaml import YamlRefused, parse_plain_yaml

    try:
        with path.open("rb") as file:
            raw = file.read(MAX_SCRIPT_BYTES + 1)
        if len(raw) > MAX_SCRIPT_BYTES:
            raise ValueError(f"it is larger than {MAX_SCRIPT_BYTES // 1024} KB")
        return ScriptedModel(parse_script(parse_plain_yaml(raw.decode("utf-8"))), name=path.name)
    except OSError as error:
        reason = error.strerror or str(error)
    except (ValueError, YamlRefused) as error:
        reason = str(error)
    raise SetupError(say("The script {path} cannot be played: {reason}.", path=str(path), reason=reason.rstrip(".")))


def parse_script(value: object) -> Script:
    """Return the script of a document: `turns`, each a list of steps or an object with `steps`; `obeys`.

    Raises:
        ValueError: it is none.
    """
    document = {"turns": value} if isinstance(value, list) else value
    if not isinstance(document, dict) or not document.keys() <= {"turns", "obeys"}:
        raise ValueError("a script has 'turns', and may have 'obeys'")
    turns = document.get("turns") or []
    if not isinstance(turns, list):
        raise ValueError("'turns' must be a list")
    return Script(tuple(map(_parse_turn, turns)), document.get("obeys") is True)


def _parse_turn(value: object) -> Turn:
    document = {"steps": value} if isinstance(value, list | str) else value
    if not isinstance(document, dict) or not document.keys() <= {"steps", "when", "finish"}:
        raise ValueError("a turn has 'steps', and may have 'when' and 'finish'")
    steps = document.get("steps") or []
    when = str(document.get("when") or "")
    try:
        re.compile(when)
    except re.error as error:
        raise ValueError(f"'when' is no regular expression: {error}") from None
    steps = [steps] if isinstance(steps, str | dict) else steps
    if not isinstance(steps, list):
        raise ValueError("'steps' must be a list")
    return Turn(tuple(map(_parse_step, steps)), when, str(document.get("finish") or ""))


def _parse_step(value: object) -> Step:
    if isinstance(value, str):
        return Says(value)
    if isinstance(value, dict):
        match value:
            case {"say": str(text)}:
                return Says(text)
            case {"think": str(text)}:
                return Thinks(text)
            case {"call": str(tool)}:
                arguments = value.get("arguments") or {}
                if isinstance(arguments, str | dict):
                    return Calls(tool, arguments, str(value.get("id") or ""))
            case {"wait": int(seconds) | float(seconds)} if 0 <= seconds <= 3600:
                return Waits(seconds)
            case {"fail": str(code)} if code in _ERRORS:
                return Fails(code, _number(value.get("retryAfter")), _count(value.get("times")))
    raise ValueError(f"'{json.dumps(value, ensure_ascii=False)[:100]}' is no step of a script")


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
