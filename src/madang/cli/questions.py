"""What waits for the person, in words on a terminal, and what they type as its answer."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence

from madang.core.errors import InvalidArguments
from madang.core.pauses import Answer, PauseForm, PauseOption, PauseRecord, in_words
from madang.core.phrases import Phrase, Translate, say
from madang.core.suggestions import did_you_mean
from madang.core.texts import block, inert_json, one_line
from madang.llm.messages import CallPart, Part, TextPart

MARGIN = "│ "
MAX_TITLE_CHARS = 70
CONTINUE_WORDS = ("continue", "계속")
CALL_COMMAND = "/call"

_KINDS = {
    "prompt": say("question"),
    "choice": say("choice"),
    "wait": say("wait"),
    "approval": say("approval"),
    "model": say("model's turn"),
}


def kind_name(pause: PauseRecord) -> Phrase:
    """Return what kind of thing waits."""
    return _KINDS[pause.kind]


def title(form: PauseForm, translate: Translate) -> str:
    """Return what waits, on one short line."""
    return one_line(in_words(form.title, translate), MAX_TITLE_CHARS)


def describe(item: PauseForm, translate: Translate) -> str:
    """Return all that the person needs to settle something, in lines. What others wrote stands behind a margin."""

    def words(phrase: Phrase) -> str:
        return phrase.render(translate)

    pause = item.pause
    lines: list[str] = []
    match item.type:
        case "approval":
            lines.append(words(say("May this call be made? {tool}", tool=pause.tool)))
            if item.reason is not None:
                lines.append(words(item.reason))
            lines.append(block(_pretty(in_words(item.text, translate)), MARGIN))
        case "wait":
            lines.append(words(say("It waits until you say to continue:")))
            lines.append(block(in_words(item.text, translate), MARGIN))
            if item.hint:
                lines.append(words(say("Then: {instruction}", instruction=item.hint)))
        case "model":
            lines.append(in_words(item.text, translate))
        case _:
            lines.append(block(in_words(item.text, translate), MARGIN))
    lines += [f"  {number}. {one_line(choice.label)}" for number, choice in enumerate(item.options, 1)]
    if item.left_out > 0:
        lines.append(words(say("… and {count} more, by their ids", count=item.left_out)))
    if item.type == "text" and item.hint:
        lines.append(words(say("For example: {hint}", hint=item.hint)))
    if pause.expires_at:
        lines.append(words(say("Until: {at}", at=pause.expires_at[:16].replace("T", " ") + " UTC")))
    return "\n".join(lines)


def answer_command(item: PauseForm, options: argparse.Namespace) -> str:
    """Return the command that settles something, as it is typed in a shell."""
    words = {
        "approval": "--allow | --allow-session | --deny" if "session" in item.scopes else "--allow | --deny",
        "wait": "continue",
        "model": "'TEXT' | '/call TOOL {…}'",
        "text": "'TEXT' | --decline",
        "select": "N | --decline",
        "multiselect": "N … | --decline",
        "choice": "N | --decline",
    }
    return f"{command('answer', options)} {item.id} {words[item.type]}"


def command(name: str, options: argparse.Namespace) -> str:
    """Return a command of ours on the same data as this one."""
    place = [f"--{name}={value}" for name in ("data-dir", "user") if (value := _option(options, name))]
    return shlex.join(["madang", name, *place])


def _option(options: argparse.Namespace, name: str) -> str:
    return getattr(options, name.replace("-", "_"), None) or ""


def parse_answer(item: PauseForm, words: Sequence[str]) -> Answer:
    """Return the answer that the person typed.

    Raises:
        InvalidArguments: it is none of what can be chosen.
    """
    match item.type:
        case "text":
            return Answer(" ".join(words))
        case "wait":
            if " ".join(words).strip().lower() not in CONTINUE_WORDS:
                raise InvalidArguments(say("This is no question."), hint=say("To go on, answer with: continue"))
            return Answer()
        case "multiselect":
            return Answer(list(dict.fromkeys(choice.value for choice in _choose_several(item, words))))
        case "select" | "choice":
            return Answer(_choose(item, " ".join(words)).value)
        case "approval":
            raise InvalidArguments(
                say("This is no question, but a call that you allow or deny."),
                hint=say("Use --allow, --allow-session or --deny.")
                if "session" in item.scopes
                else say("Use --allow or --deny."),
            )
    raise ValueError(item.type)


def _choose_several(item: PauseForm, words: Sequence[str]) -> list[PauseOption]:
    """Return the choices of several words, or of one text with commas or spaces between them; `0` is none of them."""
    if list(words) == ["0"] and not _by_label(item, "0"):
        return []
    chosen: list[PauseOption] = []
    for word in words:
        try:
            chosen.append(_choose(item, word))
        except InvalidArguments:
            parts = [part.strip() for part in word.split(",") if part.strip()]
            if len(parts) < 2:
                parts = word.split()
            if len(parts) < 2:
                raise
            chosen += [_choose(item, part) for part in parts]
    return chosen


def _choose(item: PauseForm, word: str) -> PauseOption:
    word = word.strip()
    explicit_number = _by_number(item, word.removeprefix("#")) if word.startswith("#") else None
    labelled = _by_label(item, word) or (_by_label(item, word[1:]) if word.startswith("=") else None)
    numbered = explicit_number or _by_number(item, word)
    if labelled and numbered and labelled != numbered:
        raise InvalidArguments(
            say("'{word}' is the number of one and the name of another.", word=word),
            hint=say("Write #{word} for the number, or ={word} for the name.", word=word),
        )
    chosen = labelled or numbered
    if chosen is None and item.type == "choice" and item.left_out > 0 and len(word) > 20:
        return PauseOption(word, word)  # an id of one that is not listed; its owner checks it
    if chosen is None:
        suggestion = did_you_mean(word, [choice.label for choice in item.options]) if len(word) > 1 else None
        raise InvalidArguments(
            say("'{word}' is none of what can be chosen.", word=word[:200]),
            hint=suggestion or say("Choose by number, 1 to {count}, or by name.", count=len(item.options)),
        )
    return chosen


def _by_number(item: PauseForm, word: str) -> PauseOption | None:
    number = int(word) if word.isascii() and word.isdigit() and len(word) < 6 else 0
    return item.options[number - 1] if 0 < number <= len(item.options) else None


def _by_label(item: PauseForm, word: str) -> PauseOption | None:
    exact = [choice for choice in item.options if word in (choice.label, choice.value)]
    loose = [choice for choice in item.options if choice.label.casefold() == word.casefold()]
    return exact[0] if exact else loose[0] if len(loose) == 1 else None


def parse_turn(text: str, call_id: str) -> list[Part]:
    """Return the turn of a model that the person typed: `/call TOOL {…}`, or a text, which ends the run.

    Raises:
        InvalidArguments: the arguments of the call are no JSON object.
    """
    if not text.startswith(CALL_COMMAND):
        return [TextPart(text)]
    tool, _, rest = text.removeprefix(CALL_COMMAND).strip().partition(" ")
    if not tool:
        raise InvalidArguments(say("Name the tool: /call TOOL {example}", example='{"argument": "value"}'))
    try:
        arguments = json.loads(rest or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidArguments(say("The arguments are not JSON: {reason}.", reason=str(error)[:200])) from None
    if not isinstance(arguments, dict):
        raise InvalidArguments(say("The arguments must be a JSON object."))
    return [CallPart(call_id, tool, json.dumps(arguments, ensure_ascii=False))]


def _pretty(arguments: str) -> str:
    """Return the arguments of a call, all of them; as the model wrote them if they are no JSON."""
    try:
        return inert_json(json.loads(arguments), indent=2)
    except (ValueError, RecursionError):
        return arguments
