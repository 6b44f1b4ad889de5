"""What the model should know about content this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.phrases import Line, Rows, layout, say
from madang.core.service import RowQuery, ServiceContext, StateRows
from madang.core.texts import one_line
from madang.core.trust import Origin
from madang.rendering.catalogue import translator
from madang.services.content.domain.contents import Content
from madang.services.content.domain.jobs import Job, JobKind, JobPlace, JobState
from madang.services.content.engine.jobs import Jobs
from madang.services.content.store import ContentStore
from madang.services.content.views.stores import store_name

MAX_NAMED_CONTENTS = 5
"""In the text, for the model."""
MAX_STATE_CONTENTS = 100
"""In the data, for panels; `content_rows` has the others."""
MAX_NAME_IN_ROW_CHARS = 80


class StoreInState(Document):
    """A store, and how many contents it has."""

    store_id: str
    name: str
    contents: int


class ContentInState(Document):
    """A content without its text."""

    content_id: str
    filename: str
    mime_type: str
    size: int
    lines: int
    pages: int
    """Of a paged document; 0 for others."""
    uploaded_at: str


class JobInState(Document):
    """A file that is being read, or a search index that is brought up to what was added, and takes a while."""

    job_id: str
    kind: JobKind
    name: str
    """Of the file; empty for an index."""
    state: JobState
    started_at: str
    error: str
    """Why it failed."""
    can_stop: bool
    """Whether `stop_adding` ends it, or puts it out of sight after it failed."""


class ContentState(Document):
    """The stores of a session, its newest contents, how many there are in all, and what is being done for them."""

    stores: list[StoreInState]
    contents: list[ContentInState]
    total: int
    jobs: list[JobInState]


async def content_context(contents: ContentStore, jobs: Jobs, call: Call) -> ServiceContext:
    """Return the stores of the session and its newest contents."""
    stores = await contents.list_stores(call)
    places = {JobPlace.of_session(call), *(JobPlace.of_store(store.key) for store in stores)}
    shown = [_job_row(job, call) for job in jobs.shown(places)]
    if not stores:
        return ServiceContext("", ContentState(stores=[], contents=[], total=0, jobs=shown))
    listed, total = await contents.newest(call, MAX_STATE_CONTENTS)
    is_empty = not total and all(store.is_own for store in stores)
    newest = listed[:MAX_NAMED_CONTENTS]
    text: list[Line | Rows] = [
        say(
            "# Content: {total} file(s), the newest first ('keyword_similarity_search' finds passages in them, "
            "'read_content' reads one)",
            total=total,
        )
    ]
    others = [store for store in stores if not store.is_own][:MAX_NAMED_CONTENTS]
    text += [
        say(
            '  Store "{name}" (storeId: {id}): {count} file(s)',
            name=store_name(store, MAX_NAME_IN_ROW_CHARS),
            id=store.key.id,
            count=store.contents,
        )
        for store in others
    ]
    text += [
        layout("  {name} (contentId: {id})", name=one_line(content.filename, MAX_NAME_IN_ROW_CHARS), id=content.id)
        for content in newest
    ]
    if total > len(newest):
        text.append(say("  … {left_out} more: 'list_content'.", left_out=total - len(newest)))
    state = ContentState(
        stores=[StoreInState(store_id=store.key.id, name=store.name, contents=store.contents) for store in stores],
        contents=[_content_row(content) for content in listed],
        total=total,
        jobs=shown,
    )
    summary = say("Contents: {total} ('list_content').", total=total) if total else None
    names = [store.name for store in others] + [content.filename for content in newest]
    return ServiceContext("" if is_empty else text, state, tuple(Origin("name", name) for name in names), summary)


async def content_rows(contents: ContentStore, call: Call, query: RowQuery) -> StateRows | None:
    """Return a part of a session's contents, newest first."""
    if query.name != "contents" or query.under:
        return None
    listed, total = await contents.newest(call, query.page_size, query.offset)
    return StateRows([_content_row(content) for content in listed], total)


def _job_row(job: Job, call: Call) -> JobInState:
    return JobInState(
        job_id=job.id,
        kind=job.kind,
        name=job.name,
        state=job.state,
        started_at=job.started_at,
        error=job.error.render(translator(call.locale)) if job.error is not None else "",
        can_stop=job.can_stop,
    )


def _content_row(content: Content) -> ContentInState:
    return ContentInState.model_construct(
        content_id=content.id,
        filename=content.filename,
        mime_type=content.mime_type,
        size=content.size,
        lines=content.line_count,
        pages=len(content.page_lines),
        uploaded_at=content.uploaded_at,
    )
