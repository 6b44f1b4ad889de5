"""What the tools of the content service promise."""

from __future__ import annotations

from urllib.parse import quote

from tests.asking import Asker
from tests.promises import Arguments, Ids, Promise, ServicePromises

LARGE_STORE = {"name": "이" * 200, "description": "설" * 2000}


async def prepare(asker: Asker) -> Ids:
    deleted = await asker.done("add_content", content="A line that was not needed")
    await asker.done("delete_content", contentId=deleted.data["contentId"])
    added = await asker.done("add_content", content="First line\nSecond line 둘째 줄\n")
    return {
        "store": added.data["storeId"],
        "content": added.data["contentId"],
        "deleted": deleted.data["contentId"],
    }


async def fill(asker: Asker) -> Ids:
    for number in range(30):
        added = await asker.done(
            "add_content",
            content=f"{number} " + "글월 " * 5_000 + "글월\n" * 5_000,
            metadata={"filename": f"{number} " + "이" * 250},
        )
        await asker.done("create_store", metadata=LARGE_STORE)
    last = {"store": added.data["storeId"], "content": added.data["contentId"]}
    deleted = await asker.done("add_content", content="x", metadata={"filename": "이" * 250})
    await asker.done("delete_content", contentId=deleted.data["contentId"])
    return {**last, "deleted": deleted.data["contentId"]}


async def bring_in(asker: Asker, text: str) -> list[tuple[str, Arguments]]:
    """Add `text` as text, as a file's name, inside a document, and as the address of a file."""
    address = "data:text/plain," + quote(f"{text} needle")
    page = f"<title>{text}</title><h1>{text}</h1><p>{text} needle"
    ways: list[Arguments] = [
        {"content": f"{text} needle", "metadata": {"filename": text}},
        {"fileUrl": address, "metadata": {"filename": f"{text}.txt"}},
        {"fileUrl": "data:text/html," + quote(page)},
        {"fileUrl": f"file:///{text}"},
        {"fileUrl": f"data:{text};{text},{text}"},
        {"fileUrl": address, "metadata": {"filename": f"{text}.pdf"}},
    ]
    replies = [await asker.ask("add_content", **way) for way in ways]
    ids = {reply.data["contentId"] for reply in replies if not reply.is_error}
    return [
        *(("add_content", way) for way in ways),
        *(("read_content", {"contentId": id}) for id in ids),
        ("list_content", {}),
        ("list_stores", {}),
        ("keyword_similarity_search", {"query": "needle"}),
        *(("delete_content", {"contentId": id}) for id in ids),
    ]


def by_store(ids: Ids) -> Arguments:
    return {"storeId": ids["store"]}


def by_content(ids: Ids) -> Arguments:
    return {"contentId": ids["content"]}


def by_deleted(ids: Ids) -> Arguments:
    return {"contentId": ids["deleted"]}


NO_STORE = {"storeId": "nothing"}
NO_CONTENT = {"contentId": "nothing"}

PROMISES = ServicePromises(
    {
        "create_store": Promise(
            "write",
            {"metadata": {"name": "Papers 논문", "description": "To read"}},
            largest={"metadata": LARGE_STORE},
        ),
        "list_stores": Promise("read", {}),
        "add_content": Promise(
            "write",
            {"content": "New text 새 글", "metadata": {"filename": "new.txt"}},
            refused={"content": "Text", "fileUrl": "data:,Text"},
        ),
        "list_content": Promise("read", by_store, refused=NO_STORE, largest={"pagination": {"limit": 50}}),
        "read_content": Promise(
            "read",
            lambda ids: {**by_content(ids), "lineRange": {"fromLine": 2, "toLine": 2}},
            refused=NO_CONTENT,
            largest=by_content,
        ),
        "keyword_similarity_search": Promise(
            "read",
            {"query": "second 둘째", "options": {"topN": 3}},
            refused={"query": "?!"},
            largest={"query": "글월" * 1000, "options": {"topN": 50}},
        ),
        "delete_content": Promise("destroy", by_content, refused=NO_CONTENT),
        "stop_adding": Promise("write", {"jobId": "nothing"}, refused={"jobId": ""}, audience="panel"),
        "restore_content": Promise("write", by_deleted, refused=NO_CONTENT, audience="panel"),
        "delete_store": Promise("destroy", by_store, refused=NO_STORE),
    },
    prepare,
    fill,
    bring_in,
)
