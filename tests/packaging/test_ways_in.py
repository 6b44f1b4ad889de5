"""What is prepared for registries, bundles, links and containers says what the code does."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import pytest
import yaml

from madang.cli import _parser
from madang.services import prebuilt_schemas
from madang.settings import read_settings

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
UVX = ["uvx", "madang", "mcp"]


def read_json(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_the_bundle_names_our_version_our_tools_and_a_command_that_there_is() -> None:
    manifest = read_json("manifest.json")

    assert manifest["version"] == PROJECT["project"]["version"]
    assert {tool["name"] for tool in manifest["tools"]} <= set(prebuilt_schemas())
    assert (ROOT / manifest["server"]["entry_point"]).exists()
    launch = manifest["server"]["mcp_config"]
    assert launch["args"][-2:] == ["madang", "mcp"]
    options = {f"${{user_config.{name}}}": option for name, option in manifest["user_config"].items()}
    assert set(launch["env"].values()) == set(options)
    # What a person leaves as it is gives settings that are valid.
    assert read_settings({name: options[value]["default"] for name, value in launch["env"].items()}).locale == "en"


def test_the_bundle_holds_what_it_is_installed_from(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("it is packed from what git lists")
    subprocess.run([ROOT / "scripts/bundle"], check=True, capture_output=True)

    with zipfile.ZipFile(ROOT / "dist/madang.mcpb") as bundle:
        names = bundle.namelist()
        assert bundle.read("manifest.json") == (ROOT / "manifest.json").read_bytes()
    assert {"pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src/madang/__main__.py"} <= set(names)
    assert "src/madang/locale/ko/LC_MESSAGES/madang.mo" in names
    assert [name for name in names if not name.startswith("src/") and "/" in name] == []


REGISTRY_SHAPE = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "name": {"type": "string", "pattern": r"^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "maxLength": 100},
        "description": {"type": "string", "maxLength": 100},
        "version": {"type": "string", "maxLength": 255},
        "packages": {
            "items": {
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"const": "pypi"},
                    "transport": {"required": ["type"]},
                    "packageArguments": {"items": {"required": ["type", "value"]}},
                    "environmentVariables": {"items": {"required": ["name"]}},
                },
            }
        },
    },
}
"""What we use of the registry's own schema (2025-12-11)."""


def test_the_entry_of_the_registry_starts_what_uvx_would() -> None:
    entry = read_json("server.json")

    jsonschema.validate(entry, REGISTRY_SHAPE)
    (package,) = entry["packages"]
    arguments = [argument["value"] for argument in package["packageArguments"]]
    assert [package["runtimeHint"], package["identifier"], *arguments] == UVX
    assert entry["version"] == package["version"] == PROJECT["project"]["version"]
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")
    reference = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
    assert [one["name"] for one in package["environmentVariables"] if f"`{one['name']}`" not in reference] == []


def test_every_link_starts_the_same() -> None:
    page = (ROOT / "docs/reference/install-links.md").read_text(encoding="utf-8")
    links = re.findall(r"^\| [^|]+ \| (?:\[install\]\((.+)\)|`(.+)`) \|$", page, re.MULTILINE)

    assert len(links) == 6
    for link in (first or second for first, second in links):
        assert _started(link) == UVX, link
    (added,) = re.findall(r"code --add-mcp '(.+?)'", page)
    assert [json.loads(added)["command"], *json.loads(added)["args"]] == UVX
    _parser().parse_args(UVX[2:])


def _started(link: str) -> list[str]:
    parts = urlsplit(link)
    fields = parse_qs(parts.query)
    if parts.scheme == "goose":
        return [*fields["cmd"], *fields["arg"]]
    if parts.scheme == "vscode":
        entry = json.loads(unquote(parts.query))
    elif fields["config"][0].startswith("{"):
        entry = json.loads(fields["config"][0])
    else:
        entry = json.loads(base64.b64decode(fields["config"][0]))
    return [entry["command"], *entry["args"]]


def test_the_container_runs_a_command_that_there_is_on_a_folder_that_is_kept() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    entry, command = (json.loads(line.partition(" ")[2]) for line in lines if line.startswith(("ENTRYPOINT", "CMD")))

    assert entry == ["madang"]
    _parser().parse_args(command)
    assert "VOLUME /data" in lines
    assert any(line.startswith("ENV MADANG_DATA_DIR=/data") for line in lines)
    assert "USER madang" in lines
    for line in lines:
        for name in shlex.split(line)[1:-1] if line.startswith("COPY") and "--from" not in line else ():
            assert (ROOT / name).exists(), name
    copied = {name for line in lines if line.startswith("COPY") and "--from" not in line for name in line.split()[1:-1]}
    kept = set(re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    assert kept == copied


def test_what_the_container_is_built_from_makes_a_wheel(tmp_path: Path) -> None:
    """All but its Node: the front end that is built here already is taken along."""
    if not (ROOT / ".git").exists():
        pytest.skip("the files are those that git lists")
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [name for line in lines if line.startswith("COPY") and "--from" not in line for name in line.split()[1:-1]]
    listed = subprocess.run(["git", "ls-files", "-z", *copied], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    subprocess.run([sys.executable, "scripts/web"], cwd=ROOT, capture_output=True, check=True)
    shutil.copytree(ROOT / "src/madang/host/static", tmp_path / "src/madang/host/static")

    words = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path / "wheel")]
    subprocess.run([sys.executable, *words], cwd=tmp_path, capture_output=True, check=True)

    with zipfile.ZipFile(next((tmp_path / "wheel").glob("*.whl"))) as wheel:
        assert "madang/host/static/index.html" in wheel.namelist()


def test_the_lock_of_the_container_is_that_of_everybody_else_and_the_driver() -> None:
    def pinned(name: str) -> set[str]:
        return set(re.findall(r"^([\w.-]+==[\w.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE))

    assert {line.partition("==")[0] for line in pinned("server.txt") - pinned("run.txt")} == {"asyncpg"}
    assert pinned("run.txt") <= pinned("server.txt") <= pinned("dev.txt") | pinned("run.txt")


def test_the_compose_file_gives_madang_a_database_that_it_takes() -> None:
    services = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]
    variables = services["madang"]["environment"]

    assert variables["MADANG_DATABASE"].startswith("postgresql://madang:${MADANG_DB_PASSWORD}@db/madang")
    script = (ROOT / "docker/create-role.sh").read_text(encoding="utf-8")
    assert "CREATE ROLE madang LOGIN PASSWORD" in script
    assert "CREATE DATABASE madang OWNER madang" in script
    assert "SUPERUSER" not in script
    assert any("docker/create-role.sh" in volume for volume in services["db"]["volumes"])


# What `make run` has to do with: an installation and a build that can be long, and a server that waits.
MAKEFILE = """
PYTHON = python3
run:
{run}

.venv/.run:
	@echo "Installing ..."
	@{install}
	@mkdir -p .venv/bin && cp build .venv/bin/python && cp serve .venv/bin/madang && touch $@
"""
BUILD = "#!/bin/sh\necho Building ...\n{build}\n"
SERVE = '#!/bin/sh\ntrap "exit 130" INT\necho "Serving $*"\nwhile :; do sleep 0.1; done\n'


@pytest.fixture
def make_environment() -> dict[str, str]:
    # The tests may be run by make itself, which would say so here.
    return {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}


@contextmanager
def made(
    folder: Path, environment: dict[str, str], install: str = "true", build: str = "true"
) -> Iterator[subprocess.Popen[str]]:
    """Run `make run` in a process group of its own, as a terminal does."""
    (folder / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/run", folder / "scripts/run")
    for name, script in (("build", BUILD.format(build=build)), ("serve", SERVE)):
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (run,) = re.findall(r"^run:.*\n(\t.+)$", makefile, re.MULTILINE)
    (folder / "Makefile").write_text(MAKEFILE.format(run=run, install=install))
    with subprocess.Popen(
        ["make", "run"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # A shell has programs in its background ignore Ctrl-C, and their children too: the suite may be one of them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def read_until(process: subprocess.Popen[str], awaited: str) -> str:
    """Return what a process prints up to a line."""
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] != awaited:
        line = process.stdout.readline()
        assert line, "".join(lines)
        lines.append(line)
    return "".join(lines)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no make")
@pytest.mark.parametrize(
    ("steps", "awaited"),
    [
        ({"install": "echo pip complains >&2; sleep 60"}, "Installing ...\n"),
        ({"build": "echo npm complains >&2; sleep 60"}, "Building ...\n"),
        ({}, "Serving web\n"),
    ],
    ids=["installing", "building", "serving"],
)
def test_make_run_ends_quietly_on_ctrl_c(
    tmp_path: Path, steps: dict[str, str], awaited: str, make_environment: dict[str, str]
) -> None:
    with made(tmp_path, make_environment, **steps) as process:
        read_until(process, awaited)
        time.sleep(0.3)  # the line comes before what waits
        os.killpg(process.pid, signal.SIGINT)
        rest, _ = process.communicate(timeout=60)

    assert rest.strip().startswith("Stopped.")
    assert not re.search("Error|Interrupt|Terminated|Traceback|complains", rest)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no make")
def test_make_run_shows_why_an_installation_failed(tmp_path: Path, make_environment: dict[str, str]) -> None:
    with made(tmp_path, make_environment, install="echo no such package >&2; exit 1") as process:
        output, _ = process.communicate(timeout=60)

    assert process.returncode != 0
    assert "no such package" in output


@pytest.mark.skipif(sys.platform == "win32", reason="there is no make")
@pytest.mark.parametrize("is_built_before", [False, True])
def test_make_run_starts_without_a_front_end_that_cannot_be_built(
    tmp_path: Path, make_environment: dict[str, str], is_built_before: bool
) -> None:
    if is_built_before:
        (tmp_path / "src/madang/host/static").mkdir(parents=True)
        (tmp_path / "src/madang/host/static/index.html").touch()
    with made(tmp_path, make_environment, build="echo no registry >&2; exit 1") as process:
        output = read_until(process, "Serving web\n")

    assert "no registry" in output
    assert ("built before is used" in output) == is_built_before
    assert ("pip install madang" in output) != is_built_before


@pytest.mark.skipif(sys.platform == "win32", reason="there is no make")
def test_make_run_says_what_it_installs_before_it_does(make_environment: dict[str, str]) -> None:
    """As make would run it, without running it."""
    command = ["make", "--dry-run", "--always-make", ".venv/.run"]
    planned = subprocess.run(command, cwd=ROOT, env=make_environment, capture_output=True, text=True, check=True).stdout

    assert "Installing what Madang needs" in planned
    assert planned.index("Installing what Madang needs") < planned.index("--require-hashes")
