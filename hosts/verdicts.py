"""Judges what a model was given for each step, beside what Madang answered."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hosts.script import STEPS, Step
from hosts.transcript import Answer

MAX_WRAPPING_BYTES = 400
"""What a host may put around our text: a status, the time it took, the fields of its own envelope."""

_HTML = re.compile(r"<!doctype|<html|<body|<div|<script|<style|<button|text/html", re.IGNORECASE)
# What is only true where a page is shown. No host here shows one: each runs without a screen, its model reads text.
# A link is true where an address follows that a person can open: Madang over HTTP has one.
_CLAIMS = re.compile(
    r"person sees|they see|in interactive UI|buttons? available|showing the chart|download button"
    r"|link below(?!.*https?://)",
    re.IGNORECASE,
)


TWICE = "our text twice"
TEXT_AND_DATA = "text and data"
TOO_LARGE = "too large"


@dataclass(frozen=True, slots=True)
class Limit:
    """A problem that a program makes by itself and that no answer of ours could prevent; `steps` are those it is in."""

    problem: str
    reason: str
    steps: frozenset[str] = frozenset(step.title for step in STEPS)


FAILING_STEPS = frozenset(step.title for step in STEPS if step.fails)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one step: how it reached the model, in how many bytes, and what is wrong with that.

    `limits` are what is wrong by the program's own doing: told, but no failure.
    """

    step: str
    form: str
    size_bytes: int
    problems: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()


def judge(given: Sequence[str], answers: Sequence[Answer], limits: Sequence[Limit] = ()) -> list[Verdict]:
    """Return a verdict for each step of the script; `given` is what the model read, in order."""
    return [_with_limits(verdict, limits) for verdict in _verdicts(given, answers)]


def _with_limits(verdict: Verdict, limits: Sequence[Limit]) -> Verdict:
    met = tuple(limit for limit in limits if verdict.step in limit.steps and limit.problem in verdict.problems)
    excused = {limit.problem for limit in met}
    return replace(verdict, problems=tuple(p for p in verdict.problems if p not in excused), limits=met)


def _verdicts(given: Sequence[str], answers: Sequence[Answer]) -> list[Verdict]:
    verdicts = []
    rest = list(answers)
    for index, step in enumerate(STEPS):
        if index >= len(given):
            verdicts.append(Verdict(step.title, "–", 0, ("was not reached",)))
            continue
        position = next((place for place, answer in enumerate(rest) if answer.tool == step.tool), None)
        answer = rest[position] if position is not None else None
        rest = rest[position + 1 :] if position is not None else rest
        verdicts.append(_judge_step(step, given[index], answer))
    return verdicts


def _judge_step(step: Step, given: str, answer: Answer | None) -> Verdict:
    size_bytes = len(given.encode())
    if answer is None:
        # A host that checks arguments by the schema refuses in its own words: nothing of ours is in them.
        wrong = () if step.fails else ("the host did not call the tool",)
        return Verdict(step.title, "own words", size_bytes, wrong)
    plain = _plain(given)
    form, problems = _form(step, plain, answer)
    if _HTML.search(plain):
        problems.append("HTML")
    if claim := _CLAIMS.search(plain):
        problems.append(f"says “{claim.group()}”")
    if step.pauses:
        problems += [f"does not name {tool}" for tool in step.settled_by if tool not in plain]
        if "paused" not in plain.lower():
            problems.append("does not say that it is paused")
    if step.max_bytes is not None and size_bytes > step.max_bytes:
        problems.append(TOO_LARGE)
    return Verdict(step.title, form, size_bytes, tuple(problems))


def _form(step: Step, plain: str, answer: Answer) -> tuple[str, list[str]]:
    """Tell which half of the answer the model was given."""
    text = _plain(answer.text)
    times = plain.count(text)
    around = plain.replace(text, "", 1) if times else plain
    has_data = bool(answer.data) and all(re.search(rf"""["']{key}["']""", around) for key in answer.data or ())
    if times > 1:
        return "text", [TWICE]
    if times and has_data:
        return "text and data", [TEXT_AND_DATA]
    if times:
        extra_bytes = len(around.encode())
        return "text", [f"{extra_bytes:,} bytes beside our text"] if extra_bytes > MAX_WRAPPING_BYTES else []
    if has_data and answer.data is not None:
        return "data", _missing_from_data(step, plain, answer)
    return "neither", ["neither our text nor our data"]


def _missing_from_data(step: Step, plain: str, answer: Answer) -> list[str]:
    """Return what data alone does not say to a model that has nothing else."""
    data = answer.data or {}
    if step.fails:
        error = data.get("error") or {}
        return [] if _plain(error.get("message", "?")) in plain else ["data without the error's message"]
    problems = []
    if "next" not in data:
        problems.append("data without `next`")
    if step.pauses and "pause" not in data:
        problems.append("data without `pause`")
    return problems


def _plain(text: str) -> str:
    """Return a text with the escapes of JSON and the layout taken out, so that the same words compare equal."""
    for _ in range(3):
        text = text.replace("\\\\", "\\").replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n")
    text = re.sub(r"\\u[0-9a-fA-F]{4}", lambda match: json.loads(f'"{match.group()}"'), text)
    return " ".join(text.split())
