"""Runs the hosts and frameworks one after another. All of them, or those named; only a run of all writes the page."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import anyio

from hosts.frameworks import FRAMEWORKS
from hosts.install import ROOT
from hosts.programs import HOSTS
from hosts.report import cell, failures, form_line, page
from hosts.running import FormRun, Run, run_form, run_framework, run_host

PAGE = ROOT / "docs" / "reference" / "hosts.md"
TRANSPORTS = ("stdio", "http")


def main() -> int:
    """Return 0 when every program that ran was given what it should be given."""
    parser = argparse.ArgumentParser(prog="python -m hosts", description=__doc__)
    names = [*(host.command for host in HOSTS), *(framework.module for framework in FRAMEWORKS)]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(names)}")
    parser.add_argument("--over", choices=TRANSPORTS, action="append", help="only this transport")
    options = parser.parse_args()
    if unknown := set(options.names) - set(names):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    agents, frameworks, forms = anyio.run(_run, options.names or names, options.over or TRANSPORTS)
    if not options.names and not options.over:
        PAGE.write_text(page(agents, frameworks, forms))
        print(f"wrote {PAGE.relative_to(ROOT)}")
    failed = [*failures([*agents, *frameworks]), *(form_line(form) for form in forms if form.problem)]
    print("\n".join(failed or ["Every program that ran was given what it should be given."]))
    return 1 if failed else 0


async def _run(names: Sequence[str], transports: Sequence[str]) -> tuple[list[Run], list[Run], list[FormRun]]:
    agents, frameworks, forms = [], [], []
    for host in HOSTS:
        for transport in transports if host.command in names else ():
            agents.append(await run_host(host, transport))
            _print(agents[-1])
        if host.form is not None and host.command in names:
            forms.append(await run_form(host, host.form))
            print(form_line(forms[-1]))
    for framework in FRAMEWORKS:
        if framework.module in names:
            frameworks.append(await run_framework(framework))
            _print(frameworks[-1])
    return agents, frameworks, forms


def _print(run: Run) -> None:
    print(
        f"{run.title} {run.version} over {run.transport} as {run.client!r}, declares {', '.join(run.declares) or '-'}"
    )
    if run.unavailable:
        print(f"  did not run: {run.unavailable}")
    for verdict in run.verdicts:
        print(f"  {verdict.step:15} {cell(verdict)} {'; '.join(verdict.problems)}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
