"""The title of a session: from its first message, unless the person gives one."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from madang.agent.titles import MAX_AUTO_TITLE_CHARS, title_of
from madang.llm.messages import TextPart
from tests.agent.bench import ME, bench

WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Plan a trip", "Plan a trip"),
        ("\n\n  ---\n Plan   a\ttrip \nand more", "Plan a trip"),
        ("", ""),
        ("…\n!!!", ""),
        (WORDS, "one two three four five six seven eight nine ten eleven twelve thirteen…"),
        ("가" * 200, "가" * (MAX_AUTO_TITLE_CHARS - 1) + "…"),
        (unicodedata.normalize("NFD", "환불 규정"), "환불 규정"),
        ("left\u202eright", "left\\u202eright"),
    ],
)
def test_the_title_is_the_first_line_cut_at_a_word(text: str, title: str) -> None:
    assert title_of(text) == title
    assert len(title_of(text)) <= MAX_AUTO_TITLE_CHARS


async def test_the_first_message_gives_the_title_and_later_ones_do_not(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Hello.")]) as b:
        await b.say("Plan a trip")
        await b.say("And another thing")
        session = await b.madang.sessions.get(ME)
        assert session is not None
        assert session.title == "Plan a trip"


@pytest.mark.parametrize("title", ["Mine", ""])
async def test_what_the_person_calls_it_stays(tmp_path: Path, title: str) -> None:
    async with bench(tmp_path, [TextPart("Hello.")]) as b:
        await b.say("Plan a trip")
        await b.madang.sessions.rename(ME, title)
        await b.say("Plan another")
        session = await b.madang.sessions.get(ME)
        assert session is not None
        assert session.title == title


async def test_a_session_named_before_its_first_message_keeps_its_name(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Hello.")]) as b:
        await b.madang.sessions.rename(ME, "Mine")
        await b.say("Plan a trip")
        session = await b.madang.sessions.get(ME)
        assert session is not None
        assert session.title == "Mine"


async def test_a_message_takes_a_session_out_of_the_archive(tmp_path: Path) -> None:
    async with bench(tmp_path, [TextPart("Hello.")]) as b:
        await b.say("Plan a trip")
        await b.madang.sessions.set_archived(ME, True)
        assert (await b.madang.sessions.list_page(ME.user_id)).items == []
        assert [one.id for one in (await b.madang.sessions.list_page(ME.user_id, archived=True)).items] == ["tea"]
        await b.say("Once more")
        assert [one.id for one in (await b.madang.sessions.list_page(ME.user_id)).items] == ["tea"]
