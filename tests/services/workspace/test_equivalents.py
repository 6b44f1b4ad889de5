"""Edits of texts that are written otherwise than they are typed: in parts, or with signs that look like others."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from madang.core.results import Reply
from madang.services.workspace.engine import equivalents
from madang.services.workspace.engine.equivalents import FoldedText, common_ends, fold
from tests.asking import Asker
from tests.services.workspace.workspaces import folder_of


def apart(text: str) -> str:
    return unicodedata.normalize("NFD", text)


async def edit(asker: Asker, text: str, old: str, new: str, *, replace_all: bool = False) -> tuple[Reply, str]:
    """Make one edit of a file with such a text; return the answer and the file's text afterwards."""
    path = folder_of(asker) / "a.txt"
    path.write_bytes(text.encode())
    reply = await asker.ask(
        "edit_file", path="a.txt", edits=[{"oldText": old, "newText": new, "replaceAll": replace_all}]
    )
    return reply, path.read_bytes().decode()


async def test_text_in_parts_is_edited_by_composed_text_and_the_rest_stays_in_parts(asker: Asker) -> None:
    before, after = apart("첫째 줄\r\n둘째 줄\r\n"), apart("\r\n셋째 줄\r\n")

    reply, text = await edit(asker, f"{before}가나다{after}", "둘째 줄\n가나다\n셋째", "둘째 줄\n라마\n셋째")
    inside, mixed = await edit(asker, apart("각 가 각"), "가", "나")

    assert (reply.error_code, text) == ("", f"{before}라마{after}")
    assert (inside.error_code, mixed) == ("", apart("각 ") + "나" + apart(" 각"))
    assert "taken as equal" not in reply.text


async def test_replacing_all_replaces_both_spellings(asker: Asker) -> None:
    reply, text = await edit(asker, f"한글 {apart('한글')} 한글\n", "한글", "영어", replace_all=True)

    assert (reply.data["replacements"], text) == (3, "영어 영어 영어\n")


async def test_two_spellings_of_one_text_are_two_places(asker: Asker) -> None:
    reply, text = await edit(asker, apart("한글\n한글\n"), "한글", "영어")

    assert reply.error_code == "conflict"
    assert "is in 'a.txt' 2 times, on lines 1, 2." in reply.text
    assert text == apart("한글\n한글\n")


@pytest.mark.parametrize(
    ("sign", "plain", "name"),
    [
        ("\u00a0", " ", "U+00A0 NO-BREAK SPACE"),
        ("\u202f", " ", "U+202F NARROW NO-BREAK SPACE"),
        ("\u3000", " ", "U+3000 IDEOGRAPHIC SPACE"),
        ("\u2019", "'", "U+2019 RIGHT SINGLE QUOTATION MARK"),
        ("\u201c", '"', "U+201C LEFT DOUBLE QUOTATION MARK"),
        ("\u2013", "-", "U+2013 EN DASH"),
        ("\u200b", "", "U+200B ZERO WIDTH SPACE"),
        ("\ufeff", "", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
    ],
)
async def test_a_sign_that_looks_like_another_is_taken_for_it_and_stays(
    asker: Asker, sign: str, plain: str, name: str
) -> None:
    reply, text = await edit(asker, f"x\nalpha{sign}beta = 1\n", f"alpha{plain}beta = 1", f"alpha{plain}beta = 2")
    whole, gone = await edit(asker, f"x\nalpha{sign}beta = 1\n", f"alpha{plain}beta = 1", "one")

    assert (reply.error_code, text) == ("", f"x\nalpha{sign}beta = 2\n")
    assert f"Signs of the file that look like those of oldText were taken as equal: {name}.\n" in reply.text
    assert (whole.error_code, gone) == ("", "x\none\n")


async def test_signs_that_look_alike_in_two_places_are_not_chosen_from(asker: Asker) -> None:
    reply, text = await edit(asker, "a\u00a0b\na\u202fb\n", "a b", "c")

    assert reply.error_code == "conflict"
    assert "2 times, on lines 1, 2" in reply.text
    assert text == "a\u00a0b\na\u202fb\n"


async def test_the_exact_text_is_chosen_before_one_that_looks_like_it(asker: Asker) -> None:
    reply, text = await edit(asker, "a\u00a0b\na b\n", "a b", "c")

    assert (reply.error_code, text) == ("", "a\u00a0b\nc\n")


async def test_an_error_names_signs_that_cannot_be_told_apart(asker: Asker) -> None:
    everywhere, _ = await edit(asker, "alpha\u00a0beta = 1\n", "alpha beta = 1", "x", replace_all=True)
    nearly, _ = await edit(asker, "alpha\u00a0beta\u200b = 1\n", "alpha beta = 2", "x")

    assert everywhere.error_code == nearly.error_code == "not_found"
    assert 'only in white space: "alpha\\u00a0beta = 1" It has U+00A0 NO-BREAK SPACE there.' in everywhere.text
    assert '"alpha\\u00a0beta\\u200b = 1" (' in nearly.text
    assert "It has U+00A0 NO-BREAK SPACE, U+200B ZERO WIDTH SPACE there." in nearly.text


async def test_text_in_parts_that_nearly_fits_is_shown(asker: Asker) -> None:
    reply, _ = await edit(asker, apart("첫째 줄\n둘째 줄입니다\n"), "둘째 줄이다", "x")

    assert reply.error_code == "not_found"
    assert "Line 2 of the file really says" in reply.text


PIECES = st.sampled_from(
    ["a", "\n", " ", "가", apart("각"), apart("é"), "é", "\u00a0", "\u200b", "“", "\u212b", "\uf914", "e\u0323\u0301"]
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)


@given(text=TEXTS, to_plain=st.booleans())
@settings(max_examples=300, deadline=None)
def test_folding_composes_and_leads_back(text: str, to_plain: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(equivalents, "BLOCK_CHARS", 4)
        folded = FoldedText(text, to_plain=to_plain)

    if not to_plain:
        assert folded.text == unicodedata.normalize("NFC", text)
    for start in range(len(folded.text)):
        for end in range(start + 1, len(folded.text) + 1):
            first, last = folded.original_start(start), folded.original_end(end)
            if first is not None and last is not None:
                assert fold(text[first:last], to_plain=to_plain) == folded.text[start:end]


@given(start=TEXTS, one=TEXTS, other=TEXTS, end=TEXTS)
@settings(max_examples=300, deadline=None)
def test_what_two_texts_have_in_common_is_at_their_ends_and_whole(start: str, one: str, other: str, end: str) -> None:
    one, other = start + one + end, start + other + end

    before, after = common_ends(one, other)

    assert before + after <= min(len(one), len(other))
    assert one[:before] == other[:before]
    assert one[len(one) - after :] == other[len(other) - after :]
    for text in (one, other):
        parts = (text[:before], text[before : len(text) - after], text[len(text) - after :])
        assert "".join(fold(part, to_plain=False) for part in parts) == fold(text, to_plain=False)
