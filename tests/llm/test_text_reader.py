"""How a text is parted does not depend on where the server cuts it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from madang.llm.base import ModelAnswer, ModelDelta, ModelRequest
from madang.llm.chat_answer import ChatAnswer
from madang.llm.messages import CallPart, TextPart, ThinkingPart
from tests.llm.adapters import QUESTION
from tests.model_wires import chunk

TOKENS = (
    "<think>", "</think>", "<thi", "[THINK]", "[/THINK]", "<tool_call>", "</tool_call>", "```json\n", "```", "[", "]",
    '{"name": "add_todo", "arguments": {"name": "a"}}', '{"name": "add_todo", "arguments": {"name": "a",}}',
    '{"name": "none", "arguments": {}}', '{"result": 1}', "{", "}", '"name"', "words ", "\n", " ", "😀", "한글",
)  # fmt: skip


def read(pieces: list[str], request: ModelRequest = QUESTION) -> tuple[list[ModelDelta], ModelAnswer]:
    fold = ChatAnswer("server", "model", request)
    deltas = [delta for piece in pieces for delta in fold.add(chunk({"content": piece}))]
    fold.add(chunk({}, "stop"))
    deltas += fold.end()
    return deltas, fold.answer()


def plain(answer: ModelAnswer) -> list[tuple[str, str]]:
    """Return the parts of an answer without the ids of its calls."""
    return [
        ("call", f"{part.tool} {part.arguments}") if isinstance(part, CallPart) else (type(part).__name__, part.text)
        for part in answer.parts
        if isinstance(part, CallPart | TextPart | ThinkingPart)
    ]


@given(st.lists(st.sampled_from(TOKENS), max_size=8).map("".join), st.data())
def test_a_text_is_the_same_wherever_it_is_cut(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]

    _, whole = read([text])
    deltas, cut = read(pieces)

    assert plain(cut) == plain(whole)
    assert str(cut.malformed_call) == str(whole.malformed_call)
    shown = "".join(delta.text for delta in deltas if delta.kind == "text")
    if "</think>" in shown:
        return  # that it was a thought is known by its end only
    assert shown == ("" if cut.malformed_call else cut.text)
    assert not (cut.calls and shown), "nobody is shown a call as an answer"


@given(st.lists(st.sampled_from(TOKENS), max_size=8).map("".join))
def test_nothing_of_a_text_is_lost(text: str) -> None:
    """But for the tags, and blanks around what a model thought or called."""
    _, answer = read([text])

    if answer.calls:
        return
    kept = "".join(part.text for part in answer.parts if isinstance(part, TextPart | ThinkingPart))
    for tag in ("<think>", "</think>", "[THINK]", "[/THINK]"):
        text, kept = text.replace(tag, ""), kept.replace(tag, "")
    assert "".join(kept.split()) == "".join(text.split())
