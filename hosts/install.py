"""Puts the hosts from npm, and the frameworks from PyPI, into `.hosts/`: each in a folder of its own, pinned."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from hosts.programs import Host

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / ".hosts"
INSTALL_LIMIT_S = 600
_MARK = "installed.txt"


class NotAvailable(Exception):
    """A host or framework cannot be had here; says why."""


def node() -> Path:
    """Return the Node 22 that scripts/node-packages installs for the tests: some hosts need it, all run with it."""
    programs = sorted((ROOT / ".node" / "node_modules").glob("node-*/bin/node"))
    if not programs:
        raise NotAvailable("no Node 22: run scripts/node-packages")
    return programs[0]


def command_of(host: Host) -> list[str]:
    """Return the command that starts a host, installed now if it is not there yet."""
    if not host.package:
        program = shutil.which(host.command)
        if program is None:
            raise NotAvailable(f"`{host.command}` is not on the PATH")
        return [program]
    folder = FOLDER / host.command
    _install_node_package(folder, host)
    return _node_command(folder, host)


def _install_node_package(folder: Path, host: Host) -> None:
    wanted = f"{host.package}@{host.version}"
    if _is_installed(folder, wanted):
        return
    if shutil.which("npm") is None:
        raise NotAvailable("npm is not installed")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # Its settings hold here too: nothing that runs at installation, no notices.
    shutil.copy(ROOT / "requirements" / "node" / ".npmrc", folder)
    (folder / "package.json").write_text('{"private": true}\n')
    # No lock: hosts bring a package for each platform, and a registry that lacks one of them cannot make a whole lock.
    _run(["npm", "install", "--no-package-lock", "--save-exact", wanted], folder, wanted)
    (folder / _MARK).write_text(wanted)


def _node_command(folder: Path, host: Host) -> list[str]:
    modules = folder / "node_modules"
    # What opencode's installation script would copy over its command.
    own_binaries = sorted(modules.glob(f"{host.command}-*/bin/{host.command}"), key=lambda path: len(str(path)))
    if own_binaries:
        return [str(own_binaries[0])]
    package = modules / host.package
    declared = json.loads((package / "package.json").read_text())["bin"]
    program = package / (declared if isinstance(declared, str) else declared[host.command])
    with program.open("rb") as file:
        is_script = file.read(2) == b"#!"
    return [str(node()), str(program)] if is_script else [str(program)]


def python_with(name: str, requirements: list[str]) -> Path:
    """Return the Python of a virtual environment that holds `requirements`, made now if it is not there yet."""
    folder = FOLDER / "venvs" / name
    python = folder / "bin" / "python"
    wanted = " ".join(requirements)
    if not _is_installed(folder, wanted):
        venv.create(folder, with_pip=True, clear=True)
        _run([str(python), "-m", "pip", "install", "--quiet", *requirements], folder, wanted)
        (folder / _MARK).write_text(wanted)
    return python


def _is_installed(folder: Path, wanted: str) -> bool:
    mark = folder / _MARK
    return mark.exists() and mark.read_text() == wanted


def _run(command: list[str], folder: Path, wanted: str) -> None:
    print(f"Installing {wanted}", file=sys.stderr)
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=INSTALL_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{wanted} did not install within {INSTALL_LIMIT_S} s") from None
    if done.returncode:
        errors = [line.strip() for line in done.stderr.splitlines() if "error" in line.lower()] or ["no reason given"]
        raise NotAvailable(f"{wanted} did not install: {' '.join(errors[:2])[:200]}")
