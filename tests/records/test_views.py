"""Views as rows: kept once for an operation, each user's own, and gone with their session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.results import ForeignPage, Link, Reply, ShownPage
from madang.database.port import Database, MigrationSet, Transaction
from madang.records.sessions import SessionStore, ensure_session
from madang.records.views import MAX_VIEW_BYTES, VIEW_MIGRATIONS, ViewStore, view_id
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("editor"), SessionId("tea"), UserId("ann"), run_id="r", call_id="c1", operation_id="r:1:0")
BOB = replace(ANN, user_id=UserId("bob"))
ID = view_id(ANN.operation_id)
REPLY = Reply(
    "prompt_user",
    "ui",
    "[prompt_user] 어떤 차?",
    {"type": "text"},
    ShownPage("madang/question", "<p>어떤 차?</p>"),
    pause_id="p1",
    links=(Link("madang://x", "x.txt", size=3),),
)
WRITTEN = replace(REPLY, page=ShownPage("x", "", foreign=ForeignPage("x", "<script></script>", is_fixed=False)))
"""With a page that a model may have written."""


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    await ViewStore(database).open()
    yield database
    await database.close()


@pytest.fixture
def views(database: Database) -> ViewStore:
    return ViewStore(database)


async def test_a_view_comes_back_as_it_was_kept(views: ViewStore) -> None:
    await views.keep(ANN, {"prompt": "어떤 차?"}, REPLY)
    view = await views.get(ANN.user_id, ID)
    assert view is not None
    assert (view.session_id, view.run_id, view.call_id) == ("tea", "r", "c1")
    assert (view.service, view.tool, view.page, view.pause_id) == ("ui", "prompt_user", "madang/question", "p1")
    assert (view.arguments, view.text, view.data) == ({"prompt": "어떤 차?"}, REPLY.text, REPLY.data)
    assert (view.fragment, view.links) == ("<p>어떤 차?</p>", REPLY.links)
    assert await views.find_pages(ANN.user_id, [ID, "other"]) == {ID: "madang/question"}


async def test_a_call_that_is_repeated_has_one_view(views: ViewStore, database: Database) -> None:
    await views.keep(ANN, {"n": 1}, REPLY)
    await views.keep(ANN, {"n": 2}, REPLY)
    view = await views.get(ANN.user_id, ID)
    assert view is not None
    assert view.arguments == {"n": 2}
    rows = await database.find("SELECT count(*) AS views FROM page_view", user_id=ANN.user_id)
    assert rows[0][0] == 1


async def test_a_view_is_its_users_own(views: ViewStore) -> None:
    await views.keep(ANN, {}, REPLY)
    assert await views.get(BOB.user_id, ID) is None
    assert await views.find_pages(BOB.user_id, [ID]) == {}


async def test_a_view_goes_with_its_session(views: ViewStore, database: Database) -> None:
    await views.keep(ANN, {}, REPLY)
    await SessionStore(database).delete(ANN)
    assert await views.get(ANN.user_id, ID) is None


async def test_what_cannot_be_a_view_is_not_kept(views: ViewStore) -> None:
    await views.keep(replace(ANN, operation_id=""), {}, REPLY)
    await views.keep(replace(ANN, operation_id="r:1:1"), {}, replace(REPLY, page=None))
    await views.keep(replace(ANN, operation_id="r:1:2"), {"text": "x" * MAX_VIEW_BYTES}, REPLY)
    ids = [view_id(operation) for operation in ("", "r:1:1", "r:1:2")]
    assert await views.find_pages(ANN.user_id, ids) == {}


async def may_run_scripts(views: ViewStore, call: Call = ANN) -> bool:
    view = await views.get(call.user_id, ID)
    assert view is not None
    return view.may_run_scripts


async def test_scripts_run_where_the_person_let_them_until_the_call_has_another_page(views: ViewStore) -> None:
    for call in (ANN, BOB):
        await views.keep(call, {}, WRITTEN)
    assert not await may_run_scripts(views)
    await views.let_run_scripts(ANN.user_id, ID)
    assert (await may_run_scripts(views), await may_run_scripts(views, BOB)) == (True, False)
    await views.keep(ANN, {}, WRITTEN)
    assert not await may_run_scripts(views)


@pytest.mark.parametrize("back_end", ["disk", "server"])
@pytest.mark.parametrize("steps", [1, 2])
async def test_views_of_an_earlier_version_are_kept_and_run_no_scripts_yet(
    tmp_path: Path, back_end: str, steps: int
) -> None:
    database = BACK_ENDS[back_end](tmp_path)
    await SessionStore(database).open()
    earlier = VIEW_MIGRATIONS.sqlite[:steps], VIEW_MIGRATIONS.postgresql[:steps]
    await database.prepare(MigrationSet(VIEW_MIGRATIONS.name, *earlier))
    result = (
        '{"text": "x", "data": {}, "fragment": "", "links": [], "raw": null, "foreign": {"name": "x", "html": "y", '
    )
    result += '"connect_domains": [], "resource_domains": [], "is_fixed": false}}'

    async def keep(call: Call, tx: Transaction) -> None:
        await tx.run(
            "INSERT INTO page_view (user_id, id, session_no, assistant_id, run_id, call_id, service, tool, page, "
            "pause_id, arguments, result) VALUES (?1, ?2, ?3, '', '', '', 'x', 'x', 'x', '', '{}', ?4)",
            call.user_id,
            ID,
            await ensure_session(tx, call),
            result,
        )

    for call in (ANN, BOB):
        await database.write(partial(keep, call), user_id=call.user_id)
    await database.close()

    database = BACK_ENDS[back_end](tmp_path)
    views = ViewStore(database)
    await views.open()
    try:
        assert not await may_run_scripts(views)
        await views.let_run_scripts(ANN.user_id, ID)
        assert (await may_run_scripts(views), await may_run_scripts(views, BOB)) == (True, False)
    finally:
        await database.close()
