"""The one builder of replies: every text, error and page that leaves a tool is put together here."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import MadangError, StoreUnavailable
from madang.core.limits import MAX_REPLY_BYTES, MAX_REPLY_IMAGE_BYTES, MAX_REPLY_ROWS
from madang.core.phrases import Block, Phrase, Rows, Text, Translate, chosen, layout, render_line, say
from madang.core.resources import Resource
from madang.core.results import ForeignPage, Image, Pause, Reply, ShownPage, ToolResult, UiPage
from madang.rendering import pages
from madang.rendering.catalogue import translator
from madang.rendering.page_texts import page_texts

MIN_ROWS_BYTES = 2 * 1024
MIN_ROW_BYTES = 300


def reply(
    service: str,
    tool: str,
    call: Call,
    result: ToolResult[Any],
    check_time: Callable[[], None] | None = None,
    *,
    words: Translate | None = None,
) -> Reply:
    """Put a tool's result into the words and the form of this call's reader.

    `check_time` is called at each phrase, and raises to end it. `words` are those of a reader who lacks some tools.
    """
    plain = _stoppable(translator(call.locale), check_time)
    translate = _stoppable(words, check_time) if words else plain
    shows_page = (result.page is not None or result.refill is not None) and call.pages != "off"
    in_run = call.actor == "model"
    text = chosen(result.text, shows_page=shows_page, in_run=in_run)
    following = chosen(result.next, shows_page=shows_page, in_run=in_run)
    images, left_out = _fitting_images(result.images)
    if left_out:
        following.append(_images_left_out(left_out))
    following = [line for line in following if _is_said(line, translate)]
    # A foreign tool's data is what it sent; that of ours is a document.
    is_document = isinstance(result.data, Document)
    data = result.data.model_dump(mode="json", by_alias=True) if is_document else dict(result.data)
    if following:
        text += ["", *following]
    if result.pause is not None:
        what = result.pause.on_page if shows_page else result.pause.without_page
        text += ["", say("Status: Agent paused for user interaction ({what}).", what=what)]
        following.append(say("Paused: {what}.", what=what))
        data["pause"] = _pause_data(result.pause)
    # The data has all rows of a part, where the text may end earlier: each says where it goes on itself.
    following = [*(rows.rest_after(len(rows.lines)) for rows in _parts(text)), *following]
    if following:
        data["next"] = render_text(following, translate)
    return Reply(
        tool=tool,
        service=service,
        text=f"[{tool}] {render_text(text, translate)}",
        data=data,
        page=_rendered_page(result.page, call, plain) or _foreign_page(result.foreign_page, call),
        pause=result.pause.kind if result.pause else None,
        pause_id=result.pause.id if result.pause else "",
        settles=result.settles,
        origins=result.origins,
        form=result.pause.form if result.pause else None,
        refill=_fragment(result.refill, plain) if result.refill and call.pages != "off" else "",
        links=result.links,
        images=images,
        raw=result.raw,
    )


def _parts(text: Text) -> list[Rows]:
    """Return the lists of a text that are a part of a longer one."""
    return [block for block in text if isinstance(block, Rows) and block.left_out_after(len(block.lines))]


def _fitting_images(images: Sequence[Image]) -> tuple[tuple[Image, ...], list[Image]]:
    """Return the images that fit into one reply, and the others. An image is whole or left out, never scaled."""
    fitting, left_out, budget_bytes = [], [], MAX_REPLY_IMAGE_BYTES
    for image in images:
        if len(image.data) <= budget_bytes:
            fitting.append(image)
            budget_bytes -= len(image.data)
        else:
            left_out.append(image)
    return tuple(fitting), left_out


def _images_left_out(images: Sequence[Image]) -> Phrase:
    names = ", ".join(image.alt or image.mime_type for image in images)
    return say(
        "Images left out, because those of one result take at most {max} MB: {names}.",
        max=MAX_REPLY_IMAGE_BYTES // 1024**2,
        names=names,
    )


def _pause_data(pause: Pause) -> dict[str, str]:
    fields = {"kind": pause.kind, "id": pause.id, "status": "waiting", "expiresAt": pause.expires_at}
    return {name: value for name, value in fields.items() if value}


def error_reply(
    service: str,
    tool: str,
    call: Call,
    error: MadangError,
    *,
    words: Translate | None = None,
    is_unchanged: bool = False,
) -> Reply:
    """Put an error into words: what happened, and what to do about it. `words` are as for `reply`.

    `is_unchanged`: the tool changes something, and it is certain that this call did not. Models that are not told so
    take a failed change for a done one.
    """
    translate = translator(call.locale)
    what = error.message
    if is_unchanged:
        what = layout("{what} {unchanged}", what=what, unchanged=say("Nothing was changed."))
    message = what.render(translate)
    hint = error.hint.render(words or translate) if error.hint else ""
    text = f"[{tool}] " + say("Error: {message}", message=what).render(translate)
    if hint and error.hint:
        text += "\n" + say("Hint: {hint}", hint=error.hint).render(words or translate)
    return Reply(
        tool=tool,
        service=service,
        text=text,
        data={"error": {"code": error.code, "message": message, "hint": hint}},
        error_code=error.code,
        is_store_away=isinstance(error, StoreUnavailable),
    )


def page_document(
    call: Call, fragment: str = "", *, title: Phrase | None = None, refresh_tool: str = "", refresh_args: str = ""
) -> str:
    """Return a whole page around `fragment`, or around nothing when the page is to be filled by its host."""
    translate = translator(call.locale)
    return pages.render_page(
        fragment,
        title=title.render(translate) if title else "Madang",
        lang=call.locale,
        refresh_tool=refresh_tool,
        refresh_args=refresh_args,
        texts=page_texts(translate),
    )


def document(resource: Resource, call: Call) -> str:
    """Return the whole text of a resource, with its frontmatter. It is not truncated: a client asked for this one."""
    assert not isinstance(resource.body, bytes), "the bytes of a file are no text"
    translate = translator(call.locale)
    body = chosen(resource.body, shows_page=False)
    lines = [line for block in body for line in _lines(block, translate)]
    if resource.frontmatter:
        # JSON strings are YAML strings too, whatever the text in them looks like.
        fields = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in resource.frontmatter.items()]
        lines = ["---", *fields, "---", *lines]
    return "\n".join(lines) + "\n"


def render_text(text: Text, translate: Translate) -> str:
    """Render `text` within its bounds: a long list ends at a row, a long line is truncated, and both say so.

    A line that depends on the page is rendered for a reader who does not see it.
    """
    shown = [block for block in chosen(text, shows_page=False) if _is_said(block, translate)]
    blocks = [_lines(block, translate) for block in shown]
    whole = "\n".join(chain.from_iterable(blocks))
    fits = len(whole.encode()) <= MAX_REPLY_BYTES and max(map(len, blocks), default=0) <= MAX_REPLY_ROWS
    if fits and not _parts(shown):
        return whole
    single = [lines[0] for block, lines in zip(shown, blocks, strict=True) if not isinstance(block, Rows)]
    rows = [
        row
        for block, lines in zip(shown, blocks, strict=True)
        if isinstance(block, Rows)
        for row in lines[:MAX_REPLY_ROWS]
    ]
    reserved = min(MIN_ROWS_BYTES, sum(len(row.encode()) + 1 for row in rows))
    max_line_bytes = _max_line_bytes([len(line.encode()) for line in single], MAX_REPLY_BYTES - reserved - len(single))
    budget_bytes = MAX_REPLY_BYTES - sum(min(len(line.encode()), max_line_bytes) + 1 for line in single)
    result: list[str] = []
    for block, lines in zip(shown, blocks, strict=True):
        if not isinstance(block, Rows):
            result.append(_truncate(lines[0], max_line_bytes, translate))
            continue
        fitting, budget_bytes = _fitting_rows(lines, translate, budget_bytes)
        result += fitting
        if block.left_out_after(len(fitting)) and (rest := block.rest_after(len(fitting)).render(translate)):
            result.append(rest)
    return "\n".join(result)


def _is_said(line: str | Phrase | Block | Rows, translate: Translate) -> bool:
    """Tell whether anything is left of a line in this reader's words."""
    return not isinstance(line, Phrase) or not line.template or bool(translate(line.template))


def _fitting_rows(rows: list[str], translate: Translate, budget_bytes: int) -> tuple[list[str], int]:
    """Return the rows that fit and what is left of the budget. One row is always shown, truncated if need be."""
    fitting: list[str] = []
    for row in rows[:MAX_REPLY_ROWS]:
        line = row if fitting else _truncate(row, max(budget_bytes, MIN_ROW_BYTES), translate)
        budget_bytes -= len(line.encode()) + 1
        if budget_bytes < 0 and fitting:
            break
        fitting.append(line)
    return fitting, budget_bytes


def _lines(block: str | Phrase | Block | Rows, translate: Translate) -> list[str]:
    return [render_line(line, translate) for line in (block.lines if isinstance(block, Rows) else [block])]


def _max_line_bytes(sizes: list[int], budget_bytes: int) -> int:
    """Return how long a line may be so that all fit: short lines stay whole, the long ones share the rest equally."""
    for index, size in enumerate(sorted(sizes)):
        share = budget_bytes // (len(sizes) - index)
        if size > share:
            return max(share, MIN_ROW_BYTES)
        budget_bytes -= size
    return max(sizes, default=0)


def _truncate(line: str, max_bytes: int, translate: Translate) -> str:
    encoded = line.encode()
    if len(encoded) <= max_bytes:
        return line
    head = encoded[:max_bytes].decode(errors="ignore")
    rest = say("… (cut here: {left_out} more {left_out|character|characters})", left_out=len(line) - len(head))
    return head + rest.render(translate)


def _stoppable(translate: Translate, check_time: Callable[[], None] | None) -> Translate:
    if check_time is None:
        return translate

    def checked(template: str) -> str:
        check_time()
        return translate(template)

    return checked


def _foreign_page(page: ForeignPage | None, call: Call) -> ShownPage | None:
    # Our own chat puts it behind its fences; over MCP it is not ours to hand on.
    is_shown = page is not None and call.pages != "off" and call.door in ("agent", "host")
    return ShownPage(page.name, "", foreign=page) if page is not None and is_shown else None


def _rendered_page(page: UiPage | None, call: Call, translate: Translate) -> ShownPage | None:
    if page is None or call.pages == "off":
        return None
    fragment = _fragment(page, translate)
    if call.pages == "linked":
        return ShownPage(page.name, fragment)
    return ShownPage(page.name, fragment, page_document(call, fragment, title=page.title))


def _fragment(page: UiPage, translate: Translate) -> str:
    def fill(template: str, **values: object) -> str:
        return Phrase(template, values).render(translate)

    return pages.render_fragment(page.template, page.context, fill)
