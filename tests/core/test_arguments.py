"""Bounds on arguments, and validation errors in words."""

from __future__ import annotations

from copy import deepcopy
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from madang.core.arguments import check_shape, coerced, invalid_arguments, without_empty
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, LimitExceeded
from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES
from madang.core.schemas import flat_schema


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


class Part(Document):
    label: str
    from_line: int = 1
    note: str | None = None


class Example(Document):
    page_size: Annotated[int, Field(le=100)] = 1
    share: float = 0.5
    flag: bool = True
    kind: Literal["a", "b"] = "a"
    names: list[str] = Field(default_factory=list)
    numbers: list[int] = Field(default_factory=list)
    parts: list[Part] = Field(default_factory=list)
    range: Part = Part(label="")


class Needy(Document):
    goal: str
    page: int = 1


SCHEMA = flat_schema(Example)


def refusal(
    arguments: dict[str, Any], model: type[Document] = Example, schema: dict[str, Any] | None = None
) -> InvalidArguments:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(arguments)
    return invalid_arguments(raised.value, flat_schema(model) if schema is None else schema)


def meant(arguments: dict[str, Any]) -> Any:
    """Return refused arguments as they are taken instead."""
    with pytest.raises(ValidationError) as raised:
        Example.model_validate(arguments)
    return coerced(arguments, raised.value, SCHEMA)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"pageSize": "2"}, "pageSize: must be an integer."),
        ({"page_size": 1.5}, "pageSize: must be an integer."),
        ({"share": float("nan")}, "share: must be a finite number."),
        ({"share": "x"}, "share: must be a number."),
        ({"flag": 1}, "flag: must be true or false."),
        ({"kind": "c"}, "kind: must be one of 'a', 'b'."),
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


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"pageSize": 101}, "Correct pageSize and call again."),
        ({"page_size": True}, "Correct pageSize and call again."),
        ({"parts": [{"label": "a", "fromLine": "x"}]}, "Correct parts.0.fromLine and call again."),
        ({"parts": [{}]}, "An item of parts takes label (required), fromLine, note."),
        ({"parts": ["a"]}, "An item of parts takes label (required), fromLine, note."),
        ({"parts": [{"label": "a", "fromLines": 1}]}, "Did you mean 'fromLine'? An item of parts takes label"),
        ({"range": {}}, "range takes label (required), fromLine, note."),
        ({"range": 5}, "range takes label (required), fromLine, note."),
        ({"PageSize": 1}, "Did you mean 'pageSize'? The arguments are: pageSize, share, flag,"),
        ({"page_sizes": 1}, "Did you mean 'pageSize'? The arguments are: pageSize, share, flag,"),
        ({"elephant": 1}, "The arguments are: pageSize, share, flag, kind, names, numbers, parts, range."),
        ({"x" * 100_000: 1}, "The arguments are: pageSize, share,"),
        ({"pageSize": 101, "elephant": 1}, "The arguments are: pageSize, share,"),
    ],
)
def test_the_hint_is_at_the_level_that_was_wrong(arguments: dict[str, Any], hint: str) -> None:
    assert str(refusal(arguments).hint).startswith(hint)


def test_the_hint_marks_what_is_required() -> None:
    assert str(refusal({}, Needy).hint) == "The arguments are: goal (required), page."
    assert str(refusal({"x": 1}, Document).hint) == "This tool takes no arguments."
    assert refusal({"x": 1}, Document, schema={}).hint is not None


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        ({"pageSize": None, "share": 0.5}, {"share": 0.5}),
        ({"page_size": None}, {}),
        ({"parts": None, "range": None, "names": None}, {}),
        ({"parts": [{"label": "a", "fromLine": None}]}, {"parts": [{"label": "a"}]}),
        ({"pageSize": "12"}, {"pageSize": 12}),
        ({"pageSize": "007"}, {"pageSize": 7}),
        ({"numbers": ["1", 2, "3"]}, {"numbers": [1, 2, 3]}),
        ({"parts": [{"label": "a"}, {"label": "b", "from_line": "3"}]},
         {"parts": [{"label": "a"}, {"label": "b", "from_line": 3}]}),
        ({"parts": '[{"label": "a"}]'}, {"parts": [{"label": "a"}]}),
        ({"numbers": " [1, 2] "}, {"numbers": [1, 2]}),
    ],
)  # fmt: skip
def test_null_is_left_out_and_digits_and_json_are_what_they_say(
    arguments: dict[str, Any], taken: dict[str, Any]
) -> None:
    before = deepcopy(arguments)

    assert meant(arguments) == taken
    assert arguments == before
    Example.model_validate(taken)


@pytest.mark.parametrize(
    "arguments",
    [
        *({"pageSize": value} for value in (True, 1.5, "1.5", " 1", "1 ", "+1", "-1", "", "one", "\u0663", "1_0", [1])),
        {"pageSize": "1" * 19},
        {"numbers": [None]},
        {"names": [None]},
        {"parts": [{"label": None}]},
        {"parts": [None]},
        {"share": "1"},
        {"flag": "true"},
        {"names": [1]},
        {"elephant": None},
        *({"parts": value} for value in ("", "a", "{}", '"[]"', "[", "1", "[" * 100_000)),
        {"share": "[1]"},
    ],
)  # fmt: skip
def test_everything_else_is_refused_as_it_was(arguments: dict[str, Any]) -> None:
    assert meant(arguments) is None


@pytest.mark.parametrize("inner", ['"\\u0000"', '"\\ud800"', "[" * 70 + "]" * 70])
def test_what_no_tool_could_mean_is_refused_inside_of_json_too(inner: str) -> None:
    with pytest.raises((InvalidArguments, LimitExceeded)):
        meant({"names": f"[{inner}]"})


def test_a_null_that_a_field_takes_keeps_its_meaning() -> None:
    """In a merge patch null removes; only a null that would be refused is dropped."""
    taken = meant({"parts": [{"label": "a", "note": None}], "pageSize": None})

    assert taken == {"parts": [{"label": "a", "note": None}]}


@given(st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(
    st.sampled_from(["pageSize", "page_size", "parts", "label", "fromLine", "numbers", "other"]), inner)))  # fmt: skip
def test_whatever_is_taken_otherwise_was_refused_before_and_is_no_bug(value: Any) -> None:
    try:
        Example.model_validate(value)
    except ValidationError as error:
        coerced(value, error, SCHEMA)
        invalid_arguments(error, SCHEMA)


def test_empty_arguments_count_as_absent_where_they_exclude_each_other() -> None:
    arguments = {"content": "", "fileUrl": "a", "file_url": [], "storeId": ""}

    assert without_empty(arguments, ("content", "file_url")) == {"fileUrl": "a", "storeId": ""}
    assert without_empty({"content": 0}, ("content",)) == {"content": 0}
