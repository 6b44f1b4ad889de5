"""What there is, is on its page; what a page says there is, exists."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import madang.host_app  # noqa: F401 - with everything that it imports: errors are known when their modules are
from madang.cli import _parser
from madang.core.errors import MadangError, RequestError, SetupError, ToolError
from madang.core.service import Service
from madang.database.sqlite.database import SqliteDatabase
from madang.llm.errors import ModelError
from madang.provider.failures import InternalError
from madang.services import builtin_services
from madang.settings import _Config, read_settings
from tests.asking import NO_FOLDERS
from tests.docs.pages import PAGES, ROOT, blocks, headings, name_of

SETTINGS = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")
ERRORS = ROOT / "docs/reference/errors.md"
README = (ROOT / "README.md").read_text(encoding="utf-8")
SERVICES = builtin_services(SqliteDatabase(None), NO_FOLDERS)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.metadata.name)
def test_the_page_of_a_service_has_a_section_for_each_tool_with_its_arguments(service: Service) -> None:
    page = ROOT / f"docs/services/{service.metadata.name}.md"
    sections = [heading.strip("`") for heading in headings(page) if heading.endswith(")`")]

    assert sorted(sections) == sorted(_signature(tool.name, tool.input_schema) for tool in service.tools)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.metadata.name)
def test_the_readme_names_every_tool(service: Service) -> None:
    listed = [tool.name for tool in service.tools if tool.audience != "panel"]
    assert [name for name in listed if f"`{name}`" not in README] == []


def test_every_option_and_command_is_in_the_settings_reference() -> None:
    wanted = {f"madang {name}" for name in _commands()}
    wanted |= {
        option for parser in _commands().values() for action in parser._actions for option in action.option_strings
    }

    assert {one for one in wanted if f"`{one}" not in SETTINGS} == set()


def test_the_settings_reference_names_every_service() -> None:
    (row,) = [line for line in SETTINGS.splitlines() if line.startswith("| `--services A,B`")]

    assert [name for one in SERVICES if f"`{(name := one.metadata.name)}`" not in row] == []


def test_every_option_in_the_settings_reference_exists() -> None:
    known = {
        option for parser in _commands().values() for action in parser._actions for option in action.option_strings
    }

    assert set(re.findall(r"`(--[a-z-]+)", SETTINGS)) - known == set()


def test_the_readme_lists_every_command() -> None:
    assert [name for name in _commands() if " " not in name and f"`madang {name}" not in README] == []


def test_the_variables_in_the_settings_reference_are_those_that_are_read() -> None:
    environment = _Recording()

    read_settings(environment)

    ours = {name for name in environment.asked if name.startswith("MADANG_")}
    assert set(re.findall(r"`(MADANG_\w+)`", SETTINGS)) == ours


def test_every_key_of_the_config_file_is_in_the_settings_reference() -> None:
    section = SETTINGS.partition("## config.toml")[2].partition("\n## ")[0]

    assert [key for key in _Config.model_fields if f"`{key}`" not in section] == []


def test_the_example_of_a_config_file_is_one(tmp_path: Path) -> None:
    (example,) = [block.body for block in blocks(ROOT / "docs/reference/settings.md") if block.language == "toml"]
    (tmp_path / "config.toml").write_text(example, encoding="utf-8")

    settings = read_settings({}, data_dir=str(tmp_path))

    assert (settings.locale, settings.assistant, settings.grants) == ("ko", "editor", {"reviewer": ("planning",)})
    assert (settings.events_days, settings.audit_days) == (90, 365)


def test_every_error_code_is_in_the_table_of_its_family() -> None:
    tables = re.split(r"^## ", ERRORS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    listed = [set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) for table in tables]
    model, program, run, person = (codes for codes in listed if codes)

    assert (model, program, run, person) == (
        _codes(ToolError) | {InternalError.code},
        _codes(RequestError) | {RequestError.code},
        _codes(ModelError) | {ModelError.code},
        {SetupError.code},
    )
    assert _codes(MadangError) == model | program | run | person


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_page_is_unfinished(page: Path) -> None:
    words = re.findall(r"\b(TODO|FIXME|TBD|XXX|lorem)\b", page.read_text(encoding="utf-8"), re.IGNORECASE)

    # A todo of a plan is written in lower case; a note to ourselves never is.
    assert [word for word in words if word not in ("todo", "Todo")] == []


class _Recording(Mapping[str, str]):
    """An empty environment that remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _commands() -> dict[str, argparse.ArgumentParser]:
    """Return every command, also those of two words."""
    return dict(_below(_parser(), ""))


def _below(parser: argparse.ArgumentParser, name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, inner in action.choices.items():
                yield f"{name}{word}", inner
                yield from _below(inner, f"{name}{word} ")


def _codes(family: type[MadangError]) -> set[str]:
    found = set()
    for kind in family.__subclasses__():
        found |= {kind.code} if "code" in vars(kind) else set()
        found |= _codes(kind)
    return found


def _signature(name: str, schema: dict[str, object]) -> str:
    """Return a tool as its section names it: `mark_todo(id*, completed=true, summary)`."""
    required = schema.get("required", [])
    properties = schema["properties"]
    assert isinstance(required, list)
    assert isinstance(properties, dict)
    shown = []
    for argument, part in properties.items():
        default = str(part["default"]) if "default" in part else ""
        default = default.lower() if isinstance(part.get("default"), bool) else default
        shown.append(f"{argument}*" if argument in required else f"{argument}={default}" if default else argument)
    return f"{name}({', '.join(shown)})"


def test_no_command_line_in_the_docs_holds_a_token() -> None:
    """Every account of a machine can see the command lines of all others."""
    shown = [block.body for page in PAGES for block in blocks(page) if block.language in ("sh", "console", "bash", "")]

    assert len(shown) > 10
    assert [text for text in shown if re.search(r"Authorization:|Bearer |--token|TOKEN=[A-Za-z0-9]", text)] == []
