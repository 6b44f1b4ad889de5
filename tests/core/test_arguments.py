"""Bounds on arguments, and validation errors in words."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError

from madang.core.arguments import check_shape, invalid_arguments
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return {"x": value}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"a": [1, {"b": None}]},
        {"배포": "🚀 \u2028 \x7f"},
        nested(MAX_ARGUMENT_DEPTH - 3),
        {"a": [0] * (MAX_ARGUMENT_VALUES - 2)},
    ],
)
def test_what_a_tool_could_mean_passes(arguments: dict[str, Any]) -> None:
    check_shape(arguments)


@pytest.mark.parametrize("depth", [MAX_ARGUMENT_DEPTH, 100_000])
def test_too_deep_is_refused(depth: int) -> None:
    with pytest.raises(LimitExceeded, match="nested deeper than 64 levels"):
        check_shape(nested(depth))


def test_too_many_is_refused() -> None:
    with pytest.raises(LimitExceeded, match="more than 100000 values"):
        check_shape({"a": [0] * MAX_ARGUMENT_VALUES})


def test_one_list_that_stands_in_many_places_is_refused_before_it_is_unfolded() -> None:
    wide = [0] * (MAX_ARGUMENT_VALUES - 10)

    with pytest.raises(LimitExceeded, match="more than 100000 values"):
        check_shape({"a": [wide] * (MAX_ARGUMENT_VALUES - 10)})


@pytest.mark.parametrize("arguments", [{"a\x00": 1}, {"a": "\x00"}, {"a": [{"b": ["c\x00d"]}]}])
def test_a_nul_is_refused_wherever_it_is(arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArguments, match="A text holds a NUL character"):
        check_shape(arguments)


@pytest.mark.parametrize("bad", ["\ud83d", "\ude00x"])
def test_half_a_surrogate_pair_is_refused(bad: str) -> None:
    with pytest.raises(InvalidArguments, match="half of a surrogate pair"):
        check_shape({"a": bad})


class Example(Document):
    page_size: int = 1
    share: float = 0.5
    flag: bool = True
    kind: Literal["a", "b"] = "a"
    names: list[str] = Field(default_factory=list)


def refusal(arguments: dict[str, Any], *fields: str) -> InvalidArguments:
    with pytest.raises(ValidationError) as raised:
        Example.model_validate(arguments)
    return invalid_arguments(raised.value, fields=fields)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pageSize": "2"}, "pageSize: must be an integer."),
        ({"page_size": 1.5}, "pageSize: must be an integer."),
        ({"share": float("nan")}, "share: must be a finite number."),
        ({"share": "x"}, "share: must be a number."),
        ({"flag": 1}, "flag: must be true or false."),
        ({"kind": "c"}, "kind: must be one of 'a' or 'b'."),
        ({"names": [1]}, "names.0: must be a string."),
        ({"Names": []}, "Names: is not an argument of this tool."),
        ({"pageSize": "x", "flag": 0}, "pageSize: must be an integer. flag: must be true or false."),
        (
            {"pageSize": "x", "share": "x", "flag": 0, "kind": "c", "names": 1},
            "pageSize: must be an integer. share: must be a number. flag: must be true or false. And 2 more.",
        ),
    ],
)
def test_each_field_is_named_with_what_is_wrong(arguments: dict[str, Any], said: str) -> None:
    assert str(refusal(arguments)) == said


def test_the_hint_lists_the_arguments_there_are() -> None:
    assert str(refusal({"flag": 0}, "pageSize", "flag").hint) == "The arguments are: pageSize, flag."
    assert str(refusal({"flag": 0}).hint) == "This tool takes no arguments."
