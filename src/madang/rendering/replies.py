"""The one builder of answers: every text, error and page that leaves a tool is put together here."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

from madang.core.calls import Call
from madang.core.errors import MadangError
from madang.core.phrases import Line, Phrase, Rows, Text, Translate, render_line, say
from madang.core.resources import Resource
from madang.core.results import Reply, ShownPage, ToolResult, UiPage
from madang.rendering import pages
from madang.rendering.catalogue import translator

MAX_ROWS = 50
MAX_TEXT_BYTES = 8 * 1024
MIN_ROWS_BYTES = 2 * 1024
MIN_ROW_BYTES = 300


def reply(service: str, tool: str, call: Call, result: ToolResult[Any]) -> Reply:
    """Put a tool's result into the words and the form of this call's reader."""
    translate = translator(call.locale)
    text = list(result.text)
    if result.pause is not None:
        shows_page = result.page is not None and call.pages != "off"
        what = result.pause.on_page if shows_page else result.pause.without_page
        text += ["", say("Status: Agent paused for user interaction ({what}).", what=what)]
    return Reply(
        tool=tool,
        service=service,
        text=f"[{tool}] {render_text(text, translate)}",
        data=result.data.model_dump(mode="json", by_alias=True),
        page=_shown(result.page, call, translate),
        pause=result.pause.kind if result.pause else None,
        form=result.pause.form if result.pause else None,
        refill=_fragment(result.refill, translate) if result.refill and call.pages != "off" else "",
        links=result.links,
    )


def error_reply(service: str, tool: str, call: Call, error: MadangError) -> Reply:
    """Put an error into words: what happened, and what to do about it."""
    translate = translator(call.locale)
    message = error.message.render(translate)
    hint = error.hint.render(translate) if error.hint else ""
    text = f"[{tool}] " + say("Error: {message}", message=error.message).render(translate)
    if error.hint:
        text += "\n" + say("Hint: {hint}", hint=error.hint).render(translate)
    return Reply(
        tool=tool,
        service=service,
        text=text,
        data={"error": {"code": error.code, "message": message, "hint": hint}},
        error_code=error.code,
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
        no_answer=say("The host did not answer.").render(translate),
    )


def document(resource: Resource, call: Call) -> str:
    """Return the whole text of a resource, with its frontmatter; documents are read on purpose, so they are not cut."""
    assert not isinstance(resource.body, bytes), "the bytes of a file are no text"
    translate = translator(call.locale)
    lines = [line for block in resource.body for line in _lines(block, translate)]
    if resource.frontmatter:
        # JSON strings are YAML strings too, whatever the text in them looks like.
        fields = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in resource.frontmatter.items()]
        lines = ["---", *fields, "---", *lines]
    return "\n".join(lines) + "\n"


def render_text(text: Text, translate: Translate) -> str:
    """Render `text` within bounds: a list that does not fit is cut at a row, a long line in itself, and both say so."""
    blocks = [_lines(block, translate) for block in text]
    whole = "\n".join(chain.from_iterable(blocks))
    if len(whole.encode()) <= MAX_TEXT_BYTES and max(map(len, blocks), default=0) <= MAX_ROWS:
        return whole
    single = [lines[0] for block, lines in zip(text, blocks, strict=True) if not isinstance(block, Rows)]
    rows = [
        row for block, lines in zip(text, blocks, strict=True) if isinstance(block, Rows) for row in lines[:MAX_ROWS]
    ]
    reserved = min(MIN_ROWS_BYTES, sum(len(row.encode()) + 1 for row in rows))
    longest = _longest([len(line.encode()) for line in single], MAX_TEXT_BYTES - reserved - len(single))
    room = MAX_TEXT_BYTES - sum(min(len(line.encode()), longest) + 1 for line in single)
    shown: list[str] = []
    for block, lines in zip(text, blocks, strict=True):
        if not isinstance(block, Rows):
            shown.append(_cut(lines[0], longest, translate))
            continue
        fitting, room = _fitting(lines, translate, room)
        shown += fitting
        left_out = len(lines) - len(fitting)
        if left_out:
            rest = Phrase(block.rest.template, {**block.rest.values, "shown": len(fitting), "left_out": left_out})
            shown.append(rest.render(translate))
    return "\n".join(shown)


def _fitting(rows: list[str], translate: Translate, room: int) -> tuple[list[str], int]:
    """Return the rows that fit and the room that is left. One row is always shown, or a list could never be read."""
    shown: list[str] = []
    for row in rows[:MAX_ROWS]:
        line = row if shown else _cut(row, max(room, MIN_ROW_BYTES), translate)
        room -= len(line.encode()) + 1
        if room < 0 and shown:
            break
        shown.append(line)
    return shown, room


def _lines(block: Line | Rows, translate: Translate) -> list[str]:
    return [render_line(line, translate) for line in (block.lines if isinstance(block, Rows) else [block])]


def _longest(sizes: list[int], room: int) -> int:
    """Return how long a line may be so that all fit: short ones stay whole, the long ones share what is left."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return max(share, MIN_ROW_BYTES)
        room -= size
    return max(sizes, default=0)


def _cut(line: str, longest: int, translate: Translate) -> str:
    encoded = line.encode()
    if len(encoded) <= longest:
        return line
    kept = encoded[:longest].decode(errors="ignore")
    rest = say("… (cut here: {left_out} more characters are in the structured result)", left_out=len(line) - len(kept))
    return kept + rest.render(translate)


def _shown(page: UiPage | None, call: Call, translate: Translate) -> ShownPage | None:
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
