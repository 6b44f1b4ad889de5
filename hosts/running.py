"""Runs one host or one framework through the script, in a place of its own, and judges what its model was given."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from hosts.forms import Terminal
from hosts.frameworks import Framework
from hosts.install import FOLDER, ROOT, NotAvailable, command_of, node, python_with
from hosts.model import ScriptedModel, serving
from hosts.programs import Connection, Form, Host, Launch, Place
from hosts.proxy import recording_proxy
from hosts.script import STEPS, earlier_playbooks
from hosts.transcript import Transcript, read_transcript
from hosts.verdicts import Limit, Verdict, judge

LIMIT_S = 150
MADANG = Path(sys.executable).with_name("madang")
TOKEN = "a-token-for-hosts-that-connect-over-http"


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the table."""

    title: str
    version: str
    transport: str
    client: str = ""
    declares: Sequence[str] = ()
    verdicts: Sequence[Verdict] = ()
    unavailable: str = ""


@dataclass(frozen=True, slots=True)
class FormRun:
    """Whether a question was answered in a host's own form."""

    title: str
    problem: str = ""
    unavailable: str = ""


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of one run. What was recorded is kept; home, working folder and data are in `scratch` and go."""

    path: Path
    scratch: Path

    @property
    def home(self) -> Path:
        return self.scratch / "home"

    @property
    def work(self) -> Path:
        return self.scratch / "work"

    @property
    def data(self) -> Path:
        return self.scratch / "data"

    @property
    def record(self) -> Path:
        return self.path / "messages.txt"


@contextmanager
def _folder(name: str) -> Iterator[Folder]:
    path = FOLDER / "runs" / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    # Not below the project: a host looks for instructions and a repository in the folders above its own.
    with TemporaryDirectory(prefix="madang-hosts-", ignore_cleanup_errors=True) as scratch:
        folder = Folder(path, Path(scratch))
        folder.home.mkdir()
        folder.work.mkdir()
        try:
            yield folder
        finally:
            _end_daemons(folder)


async def run_host(host: Host, transport: str) -> Run:
    """Play the script in a host that reaches Madang by `transport` ("stdio" or "http")."""
    try:
        command = command_of(host)
    except NotAvailable as reason:
        return Run(host.title, host.version, transport, unavailable=str(reason))
    model = ScriptedModel()
    with _folder(f"{host.command}-{transport}") as folder:
        _import_playbooks(folder)
        version = host.version or await _version(command, folder)
        async with serving(model.app()) as port, _madang(folder, transport) as connection:
            place = Place(folder.home, folder.work, f"http://127.0.0.1:{port}", connection)
            output = await _start(command, host.configure(place), folder)
    (folder.path / "requests.json").write_text(json.dumps(model.requests, indent=1, ensure_ascii=False))
    return _judged(host.title, version, transport, model.given(), read_transcript(folder.record), output, host.limits)


async def run_form(host: Host, form: Form) -> FormRun:
    """Ask one question in a host on a terminal, choose the first option there, and see whether the model gets it."""
    try:
        command = command_of(host)
    except NotAvailable as reason:
        return FormRun(host.title, unavailable=str(reason))
    question = next(step for step in STEPS if step.tool == "prompt_user")
    first_option = question.arguments([])["options"][0]
    model = ScriptedModel([question])
    with _folder(f"{host.command}-form") as folder:
        madang = Connection(command=[*_recorded_command(folder), "--ask", "elicit"])
        async with serving(model.app()) as port:
            place = Place(folder.home, folder.work, f"http://127.0.0.1:{port}", madang)
            launch = form.configure(place)
            variables = _variables(folder) | dict(launch.variables)
            del variables["CI"]
            terminal = Terminal([*command, *launch.arguments], folder.work, variables, folder.record)
            screen = await anyio.to_thread.run_sync(terminal.press, form.keys)
        (folder.path / "screen.bin").write_bytes(screen)
    is_answered = f"Answer: {first_option}" in "".join(model.given())
    return FormRun(host.title, "" if is_answered else "the answer did not reach the model")


async def run_framework(framework: Framework) -> Run:
    """Play the script through a framework's own MCP client, and take the messages it makes of the results."""
    title, version = framework.title, framework.version
    try:
        python = python_with(framework.module, list(framework.requirements))
    except NotAvailable as reason:
        return Run(title, version, "stdio", unavailable=str(reason))
    with _folder(framework.module) as folder:
        _import_playbooks(folder)
        written = folder.path / "given.json"
        adapter = ["-m", f"hosts.adapters.{framework.module}", str(written), *_recorded_command(folder)]
        output = await _execute([str(python), *adapter], ROOT, _variables(folder), folder)
    given: list[str] = json.loads(written.read_text()) if written.exists() else []
    return _judged(title, version, "stdio", given, read_transcript(folder.record), output, framework.limits)


def _judged(
    title: str,
    version: str,
    transport: str,
    given: Sequence[str],
    transcript: Transcript,
    output: str,
    limits: Sequence[Limit],
) -> Run:
    client, declares = transcript.client, transcript.declares
    if not given:
        last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "it said nothing")
        return Run(title, version, transport, client, declares, unavailable=f"called no tool: {last[:200]}")
    return Run(title, version, transport, client, declares, judge(given, transcript.answers, limits))


def _end_daemons(folder: Folder) -> None:
    """End what a host left running in a session of its own (Cline has such a daemon): it has the home of this run."""
    home = f"HOME={folder.home}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if home in (process / "environ").read_bytes() + b"\0":
                os.kill(int(process.name), signal.SIGKILL)


def _import_playbooks(folder: Folder) -> None:
    command = [str(MADANG), "call", "--data-dir", str(folder.data), "import_playbooks", earlier_playbooks()]
    subprocess.run(command, check=True, capture_output=True)


def _recorded_command(folder: Folder) -> list[str]:
    pipe = ROOT / "hosts" / "pipe.py"
    return [sys.executable, str(pipe), str(folder.record), str(MADANG), "mcp", "--data-dir", str(folder.data)]


@asynccontextmanager
async def _madang(folder: Folder, transport: str) -> AsyncIterator[Connection]:
    """Give a host its way to Madang; over HTTP the server is started first and ended afterwards."""
    if transport == "stdio":
        yield Connection(command=_recorded_command(folder))
        return
    command = [str(MADANG), "mcp", "--http", "127.0.0.1:0", "--data-dir", str(folder.data)]
    variables = {**os.environ, "MADANG_TOKEN": TOKEN}
    async with await anyio.open_process(command, env=variables, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        output = ""
        try:
            with anyio.fail_after(LIMIT_S):
                while "Ctrl-C" not in output:
                    output += (await process.stdout.receive()).decode()
            address = output.split("serves MCP at ")[1].split()[0]
            async with serving(recording_proxy(address, folder.record)) as port:
                yield Connection(url=f"http://127.0.0.1:{port}/mcp", token=TOKEN)
        finally:
            process.terminate()


async def _version(command: Sequence[str], folder: Folder) -> str:
    output = await _execute([*command, "--version"], folder.work, _variables(folder), folder)
    return output.split()[0] if output.split() else ""


async def _start(command: Sequence[str], launch: Launch, folder: Folder) -> str:
    variables = _variables(folder) | dict(launch.variables)
    for arguments in launch.before:
        await _execute([*command, *arguments], folder.work, variables, folder)
    return await _execute([*command, *launch.arguments], folder.work, variables, folder)


def _variables(folder: Folder) -> dict[str, str]:
    """Return an environment that keeps a program out of the home and the accounts of whoever runs this."""
    path = os.pathsep.join([str(node().parent), str(MADANG.parent), os.environ["PATH"]])
    certificates = {name: value for name, value in os.environ.items() if name.endswith(("_CA_CERTS", "_CERT_FILE"))}
    return {"PATH": path, "HOME": str(folder.home), "NO_PROXY": "*", "TERM": "dumb", "CI": "1", **certificates}


async def _execute(command: Sequence[str], work: Path, variables: Mapping[str, str], folder: Folder) -> str:
    """Run a program to its end or to the limit, and return what it printed; its children end with it."""
    printed = folder.path / "output.txt"
    with printed.open("ab") as output:
        start = output.tell()
        process = await anyio.open_process(
            command,
            cwd=work,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with anyio.move_on_after(LIMIT_S):
            await process.wait()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return printed.read_bytes()[start:].decode(errors="replace")
