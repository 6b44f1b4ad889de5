"""Near misses of names."""

from __future__ import annotations

import json
import time
from importlib.resources import files

import pytest

from madang.core.suggestions import did_you_mean, nearest_name, nearest_names, nearest_tools


def test_the_nearest_name_comes_first_and_a_far_one_not_at_all() -> None:
    known = ["list_playbooks", "get_playbook", "add_todo", "list_playbook_runs"]

    assert nearest_names("list_playbook", known) == ["list_playbooks", "list_playbook_runs", "get_playbook"]
    assert nearest_names("xyzzy", known) == []
    assert (nearest_name("addTodos", known), nearest_name("xyzzy", known)) == ("add_todo", "")


def test_the_sentence_names_one_or_several() -> None:
    assert str(did_you_mean("add_tod", ["add_todo", "get_playbook"])) == "Did you mean 'add_todo'?"
    assert str(did_you_mean("ab1", ["ab2", "ab3", "ab4"])) == "Did you mean 'ab4', 'ab3' or 'ab2'?"
    assert did_you_mean("xyzzy", ["add_todo"]) is None


def test_the_names_of_a_stranger_take_bounded_time() -> None:
    known = ["a" * 50_000 + str(number) for number in range(100)] + [f"{number:0100}" for number in range(50_000)]
    started = time.process_time()

    assert nearest_names("b" * 50_000, known) == []
    assert nearest_names("add_todo", [*known, "add_todos"]) == []
    assert time.process_time() - started < 5


TOOLS = sorted(json.loads(files("madang.services").joinpath("schemas.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("rename_file", "move_file"),
        ("rename", "move_file"),
        ("create_file", "write_file"),
        ("createFile", "write_file"),
        ("save_file", "write_file"),
        ("open_file", "read_file"),
        ("remove_file", "delete_file"),
        ("update_file", "edit_file"),
        ("set_goal", "create_goal"),
        ("new_goal", "create_goal"),
        ("add_task", "add_todo"),
        ("remove_todo", "clear_todos"),
        ("complete_todo", "mark_todo"),
        ("cat", "read_file"),
        ("ls", "list_directory"),
        ("list_files", "list_directory"),
        ("rm", "delete_file"),
        ("find", "search_files"),
        ("ask", "prompt_user"),
        ("ask_user", "prompt_user"),
        ("AskUserQuestion", "prompt_user"),
        ("plot_data", "visualize_data"),
        ("add_tod", "add_todo"),
    ],
)
def test_another_word_for_a_tool_leads_to_it_first(said: str, meant: str) -> None:
    assert nearest_tools(said, TOOLS)[0] == meant


def test_only_tools_that_are_there_are_suggested() -> None:
    assert nearest_tools("cat", ["add_todo"]) == []
    assert nearest_tools("rename_file", ["read_file"]) == ["read_file"]
    assert nearest_tools("x" * 10_000, TOOLS) == []
