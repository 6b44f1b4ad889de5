"""Chunks, snippets and excerpts: the pure parts of the engine."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from madang.core.limits import MAX_EXCERPT_BYTES
from madang.services.content.domain.contents import line_count, split_chunk_id
from madang.services.content.engine import excerpts
from madang.services.content.engine.chunks import MAX_CHUNK_CHARS, split
from madang.services.content.engine.snippets import MAX_SNIPPET_CHARS, snippet
from madang.text.search.highlights import highlight_terms
from madang.text.search.tokens import Tokenizer

PIECES = st.sampled_from(
    ["\n", "\n\n", "# Heading\n", "word ", "낱말 ", "x" * 700, "가" * 2_000, "\x07" * 1_300, ". ", "\r\n", "e\u0301"]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=60).map("".join)


@given(TEXTS)
def test_chunks_are_together_exactly_the_text_and_know_their_lines(text: str) -> None:
    chunks = split(text)

    assert "".join(chunk.text for chunk in chunks) == text
    assert [chunk.number for chunk in chunks] == list(range(1, len(chunks) + 1))
    before = ""
    for chunk in chunks:
        assert 1 <= len(chunk.text) <= MAX_CHUNK_CHARS
        assert chunk.from_line == before.count("\n") + 1
        before += chunk.text
        assert chunk.to_line == line_count(before)
    assert chunks[-1].to_line == line_count(text)


def test_chunks_break_where_a_reader_would_pause() -> None:
    paragraph = "A sentence of a paragraph that goes on for a while.\n" * 9
    text = "".join(f"# Part {number}\n\n{paragraph}\n" for number in range(6))

    chunks = split(text)

    assert len(chunks) == 2
    assert all(chunk.text.startswith("# Part") for chunk in chunks)


def test_a_long_line_breaks_between_sentences_or_words() -> None:
    chunks = split("A sentence that is not too long. " * 200)

    assert len(chunks) > 1
    assert all(chunk.text.endswith(" ") and (chunk.from_line, chunk.to_line) == (1, 1) for chunk in chunks)


@given(TEXTS, st.data())
def test_an_excerpt_is_the_lines_that_were_asked_for_or_the_first_of_them(text: str, data: st.DataObject) -> None:
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    first = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(first, len(lines)))
    chunks = [chunk for chunk in split(text) if chunk.to_line >= first]

    excerpt = excerpts.of_lines(chunks, first, last)

    wanted = "".join(lines[first - 1 : last])
    assert excerpt.text
    assert wanted.startswith(excerpt.text)
    assert len(excerpt.text.encode()) <= MAX_EXCERPT_BYTES
    assert excerpt.from_line == first
    if not excerpt.next_chunk:
        assert excerpt.text == "".join(lines[first - 1 : excerpt.to_line])
    else:
        assert (
            excerpt.text + "".join(c.text for c in chunks if c.number >= excerpt.next_chunk)
            == text[len("".join(lines[: first - 1])) :]
        )


def test_a_snippet_shows_the_words_that_were_asked_for_whole() -> None:
    text = "Nothing here. " * 50 + "Then the happiest zebras were running home. " + "Nothing there. " * 50
    terms = Tokenizer().query("happy zebra runs").words

    part = snippet(text, highlight_terms(terms, "happy zebra runs"))

    assert "happiest zebras were running home." in part
    assert len(part) <= MAX_SNIPPET_CHARS + 2
    assert part.startswith("…")
    assert part.endswith("…")
    assert set(part.strip("…").split()) <= set(text.split())


def test_a_snippet_does_not_take_parts_of_other_words() -> None:
    text = "start part cart. " * 40 + "The art of fugue. " + "start part cart. " * 40

    assert "The art of fugue." in snippet(text, ["art"])


def test_a_snippet_in_korean_is_around_the_morphemes() -> None:
    text = "관계없는 문장이 이어진다. " * 40 + "서울에서 올림픽이 열렸다. " + "관계없는 문장이 이어진다. " * 40
    query = "서울 올림픽은 언제 열렸나"

    assert "서울에서 올림픽이 열렸다." in snippet(text, highlight_terms(Tokenizer().query(query).words, query))


@given(st.text(max_size=2_000), st.lists(st.text(min_size=1, max_size=5), max_size=5))
def test_a_snippet_is_a_part_of_the_text_on_one_line(text: str, terms: list[str]) -> None:
    part = snippet(text, terms)

    assert len(part) <= MAX_SNIPPET_CHARS + 2
    assert "\n" not in part


def test_a_chunk_id_names_content_and_number() -> None:
    id = "01a1df2d-49f8-7839-b7a6-d883bc2b628b"

    assert split_chunk_id(f"{id}-12") == (id, 12)
    assert split_chunk_id(id) == (id, None)
    assert split_chunk_id("1-2") == ("1-2", None)
