"""Near misses of names."""

from __future__ import annotations

import time

from madang.core.suggestions import did_you_mean, nearest_name, nearest_names


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
