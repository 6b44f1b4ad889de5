"""The events of a run as lines for a person: the model's words, its calls, and what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from madang.cli.screen import Screen
from madang.core.phrases import Phrase, Translate, say
from madang.core.texts import block, one_line
from madang.llm.base import ModelDelta
from madang.records.events import Event
from madang.records.runs.records import Run

MAX_CALL_CHARS = 160
MAX_RESULT_CHARS = 120
RESULT_MARGIN = "│ "


@dataclass(slots=True)
class _Call:
    tool: str
    arguments: str = ""


@dataclass(slots=True)
class _Stream:
    """The text of an answer, as far as it has come."""

    text: str = ""
    shown: str = ""
    """What stands on the screen of it: whole lines."""


@dataclass(slots=True)
class RunPrinter:
    """Shows events in their order. The text of an answer is shown while it comes, once all before it is shown."""

    screen: Screen
    translate: Translate
    shows_results: bool = False
    """Whether results are shown whole, as the model reads them."""
    run_id: str = ""
    _answers: int = 0
    _is_between_turns: bool = True
    _has_calls: bool = False
    _texts: dict[str, str] = field(default_factory=dict)
    _calls: dict[str, _Call] = field(default_factory=dict)
    _streams: dict[tuple[str, int], _Stream] = field(default_factory=dict)

    def follow(self, run: Run, tools: Mapping[str, str]) -> None:
        """Show this run from now on: texts are known by the number of their turn, `tools` are those of its calls."""
        self.run_id, self._answers, self._is_between_turns = run.id, run.turn, True
        self._calls = {call_id: _Call(tool) for call_id, tool in tools.items()}

    def begin(self, run_id: str) -> None:
        """Show a run from its beginning."""
        self.run_id, self._answers, self._is_between_turns = run_id, 0, True

    def hear(self, run: Run, message_no: int, at_char: int, delta: ModelDelta | None) -> None:
        """Take a part of a text that is being written."""
        if self.screen.has_stream and delta is not None and delta.kind == "text":
            self._streams.setdefault((run.id, message_no), _Stream()).text += delta.text
            self._show_stream()

    def print(self, event: Event) -> None:
        """Show an event that is stored."""
        payload = event.payload
        match event.kind:
            case "TEXT_MESSAGE_START" if payload.get("role") == "assistant":
                self._texts[payload["messageId"]] = ""
            case "TEXT_MESSAGE_CONTENT" if payload["messageId"] in self._texts:
                self._texts[payload["messageId"]] += payload["delta"]
            case "TEXT_MESSAGE_END" if payload["messageId"] in self._texts:
                self._show_text(self._texts.pop(payload["messageId"]))
            case "TOOL_CALL_START":
                self._calls[payload["toolCallId"]] = _Call(payload["toolCallName"])
                self._has_calls = True
            case "TOOL_CALL_ARGS" if payload["toolCallId"] in self._calls:
                self._calls[payload["toolCallId"]].arguments += payload["delta"]
            case "TOOL_CALL_END" if payload["toolCallId"] in self._calls:
                call = self._calls[payload["toolCallId"]]
                self.screen.note(f"→ {call.tool} {call.arguments}", MAX_CALL_CHARS)
            case "TOOL_CALL_RESULT":
                self._show_result(payload)
            case "CUSTOM":
                self._print_custom(payload["name"], payload["value"])
            case "RUN_ERROR" if payload.get("code") == "interrupted":
                self._note(say("The process that ran it has ended. It goes on here."))

    def _print_custom(self, name: str, value: dict[str, Any]) -> None:
        match name:
            case "madang/answered":
                if images := value.get("images"):
                    self._note(say("The answer has {count} image(s): 'madang web' shows them.", count=images))
                if self._streams.pop((self.run_id, self._answers + 1), None) is not None:
                    self.screen.set_partial("")  # of an answer that is not kept
                self._answers += 1
                self._is_between_turns, self._has_calls = not self._has_calls, False
            case "madang/results":
                self._is_between_turns = True
                self._show_stream()
            case "madang/retry":
                self._streams.pop((self.run_id, self._answers + 1), None)
                self.screen.set_partial("")
                self._note(
                    say(
                        "The model did not answer ({code}). Trying again in {seconds} s.",
                        code=value.get("code", ""),
                        seconds=f"{value.get('afterS', 0):.0f}",
                    )
                )
            case "madang/mend" if value.get("reason") != "check":  # it is no fault, and would follow every plain answer
                self.screen.note(str(value.get("text", "")))
            case "madang/model":
                self._streams.pop((self.run_id, self._answers + 1), None)
                self.screen.set_partial("")
                self.screen.note(str(value.get("text", "")))
            case "madang/compacted":
                self._note(say("Older messages are summarised for the model from here on."))

    def _show_stream(self) -> None:
        stream = self._streams.get((self.run_id, self._answers + 1))
        if stream is None or not self._is_between_turns:
            return
        lines, newline, rest = stream.text.rpartition("\n")
        self.screen.set_partial(rest)
        if newline and len(lines) >= len(stream.shown):
            self.screen.show(lines[len(stream.shown) :])
            stream.shown = lines + newline

    def _show_text(self, text: str) -> None:
        stream = self._streams.pop((self.run_id, self._answers + 1), _Stream())
        self.screen.set_partial("")
        if not stream.shown or not (text + "\n").startswith(stream.shown):
            self.screen.show(text.rstrip("\n"))  # also after one that was begun and not kept
        elif rest := text[len(stream.shown) :].rstrip("\n"):
            self.screen.show(rest)

    def _show_result(self, payload: dict[str, Any] | Any) -> None:
        call = self._calls.pop(payload["toolCallId"], _Call("?"))
        content = str(payload["content"])
        if self.shows_results:
            self.screen.show(block(content, RESULT_MARGIN))
            return
        first = content.strip().partition("\n")[0].removeprefix(f"[{call.tool}] ")
        self.screen.note(f"← {call.tool}: {one_line(first, MAX_RESULT_CHARS)}")

    def _note(self, phrase: Phrase) -> None:
        self.screen.note(self._words(phrase))

    def _words(self, phrase: Phrase) -> str:
        return phrase.render(self.translate)


def outage_words(reason: Phrase | None) -> Phrase:
    """Return what the person is told when the database does not answer; without a reason, that it does again."""
    if reason is None:
        return say("The database answers again. The run goes on.")
    return say("{reason} The run waits for the database, and goes on by itself.", reason=reason)
