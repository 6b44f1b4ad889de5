"""The table of a run: for the terminal, and as the page docs/reference/hosts.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from hosts.running import FormRun, Run
from hosts.script import STEPS
from hosts.verdicts import Verdict

_INTRODUCTION = """# Madang in real agents and frameworks

Made by `make hosts`: do not edit. Last run: {date}.

It installs the programs below, starts each with Madang in its configuration as \
[the guide](../guides/connect-a-client.md#by-hand) has it, and lets a scripted model call the tools. A cell says \
how many bytes the model was given for that step.

- ✓: our text once, word for word; or, with *data* after the number, our data alone, which then says what to do next \
and what the agent waits for. No HTML, no sentence about a page, chart or form that nobody sees. 20 playbooks cost at \
most 3 KB.
- ~: the program itself falls short of that; see below.
- ✗: Madang does.
- *own words*: the program checked the arguments by the tool's schema and refused them before we were asked.
"""

_FORMS = """## Forms

The agents below declare elicitation. Each was started on a terminal with `--ask elicit`, and the first option of \
`prompt_user` was chosen with the keyboard in the form that it drew.
"""


def page(agents: Sequence[Run], frameworks: Sequence[Run], forms: Sequence[FormRun]) -> str:
    """Return the page of the documentation."""
    runs = [*agents, *frameworks]
    parts = [_INTRODUCTION.format(date=datetime.now(UTC).date())]
    parts += ["## Agents\n", *_table(agents), "", "## Frameworks\n", *_table(frameworks), ""]
    parts += [_FORMS, *(f"- {form_line(form)}" for form in forms), ""]
    parts += ["## What failed\n", *([f"- {line}" for line in failures(runs)] or ["Nothing."]), ""]
    lines = [*_unavailable(runs), *_limits(runs)]
    parts += ["## What the programs do themselves\n", *([f"- {line}" for line in lines] or ["Nothing."]), ""]
    return "\n".join(parts)


def failures(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each step that failed."""
    for run in runs:
        for verdict in run.verdicts:
            if verdict.problems:
                yield f"{_name(run)}, {verdict.step}: {'; '.join(verdict.problems)}"


def form_line(form: FormRun) -> str:
    """Return what became of a question in a host's own form."""
    if form.unavailable:
        return f"{form.title} did not run: {form.unavailable}."
    return f"{form.title}: {form.problem or 'the answer reached the model'}."


def cell(verdict: Verdict) -> str:
    """Return one cell of the table."""
    mark = "✗" if verdict.problems else "~" if verdict.limits else "✓"
    size = f"{verdict.size_bytes:,}" if verdict.size_bytes else ""
    form = "" if verdict.form == "text" else verdict.form
    return " ".join(part for part in (mark, size, form) if part)


def _table(runs: Sequence[Run]) -> Iterator[str]:
    titles = [step.title for step in STEPS]
    yield f"| program | over | sends as its name | declares | {' | '.join(titles)} |"
    yield "|---" * (len(titles) + 4) + "|"
    for run in runs:
        if run.unavailable:
            cells = ["did not run", *[""] * (len(titles) - 1)]
        else:
            cells = [cell(verdict) for verdict in run.verdicts]
        client = f"`{run.client}`" if run.client else ""
        about = [f"{run.title} {run.version}".strip(), run.transport, client, ", ".join(run.declares)]
        yield f"| {' | '.join(about + cells)} |"


def _unavailable(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        if run.unavailable:
            yield f"{_name(run)} did not run: {run.unavailable}."


def _limits(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        for limit in dict.fromkeys(limit for verdict in run.verdicts for limit in verdict.limits):
            yield f"{_name(run)}: {limit.problem}, because it {limit.reason}."


def _name(run: Run) -> str:
    return f"{run.title} over {run.transport}"
