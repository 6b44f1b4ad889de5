"""An answer of a model as the rows of a run's next turn: its message, its calls, and what becomes of it. Pure."""

from __future__ import annotations

from dataclasses import replace

from madang.agent import events
from madang.agent.calls import cut_fingerprint, number_calls
from madang.agent.finishes import INCOMPLETE, Mend, Note, UnmadeCall, find_fault, find_unmade, has_content
from madang.agent.history import count_tokens
from madang.agent.news import SHOWN
from madang.agent.outcomes import outcome_part
from madang.core.ids import new_id
from madang.core.phrases import Translate, say
from madang.llm.base import ModelAnswer
from madang.llm.messages import CallPart, Part, TextPart, dump_parts, parse_parts
from madang.records.events import NewEvent
from madang.records.runs.journal import CallChange, MessageKind, NewMessage, NewRunCall, Step
from madang.records.runs.records import Run


class AnswerRows:
    """The step that keeps an answer."""

    def __init__(self, run: Run, answer: ModelAnswer, translate: Translate) -> None:
        self._run = run
        self._answer = answer
        self._translate = translate
        self._turn = run.turn + 1
        self._calls = number_calls(answer.calls, f"{run.id[-8:]}-{self._turn}")
        self.step = self._kept(is_cut=False)

    def judge(self, *, was_mended: bool) -> None:
        """Let what cannot be used of the answer have its outcome: calls get an error, an answer is asked for again.

        `was_mended`: this is the answer to that, and the run ends.
        """
        fault = find_fault(self._answer)
        unmade = find_unmade(self._answer, self._calls)
        is_cut = self._answer.finish in ("length", "other") and has_content(self._answer)
        self.step = self._kept(is_cut=is_cut) if fault is None or has_content(self._answer) else self.unkept()
        for one in unmade:
            self._refuse(one)
        if fault is None:
            return
        if was_mended:
            lines = (fault.ends, say("Write a message to go on with it."))
            message = "\n".join(line.render(self._translate) for line in lines)
            ended = events.run_failed(INCOMPLETE, message)
            self.step = replace(
                self.step, state="failed", events=[*self.step.events, ended], error_code=INCOMPLETE, error=message
            )
        else:
            self._ask_again(fault)

    def cut(self) -> Step:
        """Return the step of an answer that is no more than what came of it so far."""
        return self._kept(is_cut=True) if has_content(self._answer) else self.unkept()

    def unkept(self) -> Step:
        """Return the step of an answer of which nothing is kept but what it took."""
        nothing = replace(self._answer, parts=())
        return Step(events=events.answered(new_id(), nothing, []), turn=self._turn, streamed=[self._turn])

    def _kept(self, *, is_cut: bool) -> Step:
        parts = _with_calls(self._answer.parts, self._calls)
        id = new_id()
        told = events.answered(id, self._answer, self._calls, is_cut=is_cut)
        message = NewMessage(
            id,
            "assistant",
            dump_parts(parts),
            len(told) - 1,
            count_tokens(parts),
            kind="cut" if is_cut else "",
            model=self._answer.model,
            input_tokens=self._answer.usage.input_tokens,
        )
        calls = [NewRunCall(number, call.id, call.tool, call.arguments) for number, call in enumerate(self._calls)]
        return Step(events=told, turn=self._turn, messages=[message], calls=calls, streamed=[self._turn])

    def _refuse(self, one: UnmadeCall) -> None:
        """Give a call that is not made its result, in the step that asks for it."""
        part = outcome_part(one.call.id, one.call.tool, one.told.render(self._translate), is_error=True)
        change = CallChange(
            number=self._calls.index(one.call),
            state="done",
            outcome="error",
            result=dump_parts([part]),
            fingerprint=cut_fingerprint(one.call.tool) if one.is_cut else "",
        )
        told = events.call_ended(one.call.id, part.text, "error", {})
        self.step = replace(self.step, events=[*self.step.events, told], changes=[*self.step.changes, change])

    def _ask_again(self, fault: Mend) -> None:
        message, event = note_message("mend", fault, len(self.step.events), self._translate)
        self.step = replace(self.step, events=[*self.step.events, event], messages=[*self.step.messages, message])


def note_message(kind: MessageKind, note: Note, place: int, translate: Translate) -> tuple[NewMessage, NewEvent]:
    """Return the message that asks a model again, and the event that tells of it, which has this place in its step."""
    id, shown = new_id(), note.shown.render(translate)
    part = {**dump_parts([TextPart(note.asks.render(translate))])[0], SHOWN: shown}
    tokens = count_tokens(parse_parts([part]))
    return NewMessage(id, "user", [part], place, tokens, kind=kind), events.mended(id, note.reason, shown)


def _with_calls(parts: tuple[Part, ...], calls: list[CallPart]) -> list[Part]:
    """Return the parts of an answer with its calls under their new ids."""
    rest = iter(calls)
    return [next(rest) if isinstance(part, CallPart) else part for part in parts]
