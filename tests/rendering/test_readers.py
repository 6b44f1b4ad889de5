"""Texts for readers who have not got all tools: what goes is the smallest part that names one."""

from __future__ import annotations

import pytest

from madang.core.calls import Locale
from madang.core.phrases import Rows, layout, say
from madang.rendering.readers import reader_words, without_tools
from madang.rendering.replies import render_text

LACKING = frozenset({"get_prompt", "list_prompts", "grep"})


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Use 'read_file' to read one.", "Use 'read_file' to read one."),
        ("Note: Use 'get_prompt' to read one.", ""),
        ("It is gone. Use 'list_prompts' to see the rest. It stays so.", "It is gone. It stays so."),
        ("# Questions: {count} ('get_prompt' reads one)", "# Questions: {count}"),
        ("# Answered (do not ask again; 'get_prompt' reads one):", "# Answered (do not ask again):"),
        ("# 질문 {count}개 ('get_prompt'를 쓰면 읽습니다)", "# 질문 {count}개"),
        ("  … {left_out} more: 'list_prompts'.", "  … {left_out} more."),
        ("… more: 'list_prompts' with offset {next}.", "… more."),
        ("Note: The rest cannot be shown; Madang's 'grep' finds places in it.", "Note: The rest cannot be shown."),
        ("First.\n'get_prompt' reads it.", "First.\n"),
    ],
)
def test_the_smallest_part_goes(text: str, kept: str) -> None:
    assert without_tools(text, LACKING) == kept


def test_what_was_filled_in_is_never_taken_for_a_tool() -> None:
    words = reader_words("en", frozenset(), has_others=False)

    assert say("The file '{name}' is there.", name="get_prompt").render(words) == "The file 'get_prompt' is there."


def test_a_line_of_which_nothing_is_left_is_left_out() -> None:
    words = reader_words("en", frozenset(), has_others=False)
    rows = Rows([layout("- {n}", n=n) for n in range(60)], say("Note: Use 'list_prompts' to see all."))

    text = render_text([say("One."), say("Note: Use 'get_prompt' to read it."), "", rows], words)

    assert text.splitlines()[:3] == ["One.", "", "- 0"]
    assert text.splitlines()[-1] == "- 49"


@pytest.mark.parametrize(("locale", "ours"), [("en", "Madang's 'grep'"), ("ko", "Madang의 'grep'")])
def test_only_a_reader_with_other_tools_is_told_whose_tool_it_is(locale: Locale, ours: str) -> None:
    hint = say("Find the place with Madang's 'grep'.")
    tools = frozenset({"grep"})

    assert ours in hint.render(reader_words(locale, tools, has_others=True))
    assert ours not in hint.render(reader_words(locale, tools, has_others=False))
    assert "'grep'" in hint.render(reader_words(locale, tools, has_others=False))
