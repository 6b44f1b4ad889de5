"""What the model should know about content this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.messages import Line, Rows, say
from madang.core.service import ServiceContext
from madang.services.content.store import ContentRows

MOST_NAMED = 10
LONGEST_IN_ROW = 80


async def content_context(rows: ContentRows, call: Call) -> ServiceContext:
    """Tell which stores there are and which contents came last."""
    stores = await rows.list_stores(call)
    if not stores:
        return ServiceContext("", {"stores": [], "contents": [], "total": 0})
    newest, total = await rows.newest(call, MOST_NAMED)
    text: list[Line | Rows] = [
        say("# Content: {total} file(s) (use 'keyword_similarity_search' to search them)", total=total)
    ]
    others = [store for store in stores if not store.is_own][:MOST_NAMED]
    text += [
        say(
            '  Store "{name}" (storeId: {id}): {count} file(s)',
            name=store.name[:LONGEST_IN_ROW],
            id=store.key.id,
            count=store.contents,
        )
        for store in others
    ]
    text += [f"  {content.filename[:LONGEST_IN_ROW]} (contentId: {content.id})" for content in newest]
    if total > len(newest):
        text.append(say("  … {left_out} more. Use 'list_content' to see them.", left_out=total - len(newest)))
    state = {
        "stores": [{"storeId": store.key.id, "name": store.name, "contents": store.contents} for store in stores],
        "contents": [{"contentId": content.id, "filename": content.filename} for content in newest],
        "total": total,
    }
    return ServiceContext(text, state)
