"""`madang sessions show`, `search`, `fork` and `usage`: what was said in sessions, branches, and what models took."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import timedelta

from madang.app import Madang
from madang.cli.language import line_of
from madang.cli.terminal import show, show_json, show_table
from madang.core.calls import Call
from madang.core.errors import RequestError
from madang.core.ids import SessionId, is_name, is_raw_name, normalised_name
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import say
from madang.core.texts import one_line
from madang.records.analysis.analysis import Analysis
from madang.records.runs.journal import Message
from madang.records.runs.message_search import MAX_HITS, MessageHit, MessageSearch
from madang.records.runs.messages import MessageStore
from madang.records.runs.store import open_run_tables
from madang.records.runs.usage import UsageStore, UsageTotal
from madang.records.runs.words import MessageAnalysis, readable_text
from madang.system.clock import format_timestamp, now

MAX_SHOWN = 200
MAX_TEXT_CHARS = 200


async def _show(madang: Madang, options: argparse.Namespace, call: Call) -> int:
    await open_run_tables(madang.database)
    messages = await MessageStore(madang.database).read_page(call, limit=MAX_SHOWN)
    if options.json:
        show_json([_document(message) for message in messages])
        return 0
    rows = [
        (
            message.created_at[:16].replace("T", " "),
            message.id,
            message.role,
            one_line(" ".join(readable_text(message.parts).split()), MAX_TEXT_CHARS),
        )
        for message in messages
    ]
    show_table(
        [line_of(madang.settings, one) for one in (say("WHEN (UTC)"), say("MESSAGE"), say("WHO"), say("TEXT"))], rows
    )
    return 0


def _document(message: Message) -> dict[str, object]:
    return {
        "id": message.id,
        "seq": message.seq,
        "role": message.role,
        "at": message.created_at,
        "turn": message.turn,
        "parts": list(message.parts),
    }


async def _search(madang: Madang, options: argparse.Namespace, call: Call) -> int:
    await open_run_tables(madang.database)
    analysis = Analysis(madang.executor)
    try:
        search = MessageSearch(madang.database, MessageAnalysis(analysis))
        hits = await search.search(call, options.query, session_id=call.session_id, limit=MAX_HITS)
    finally:
        await analysis.close()
    if options.json:
        show_json([_hit(hit) for hit in hits])
        return 0
    if not hits:
        show(line_of(madang.settings, say('No message has all words of "{query}".', query=options.query)))
        return 1
    for hit in hits:
        head = (
            f"{hit.message.created_at[:16].replace('T', ' ')}  {hit.session_id}  {hit.message.role}  {hit.message.id}"
        )
        show(f"{one_line(head)}\n    {one_line(hit.excerpt)}")
    return 0


def _hit(hit: MessageHit) -> dict[str, object]:
    return {
        "sessionId": hit.session_id,
        "title": hit.title,
        "messageId": hit.message.id,
        "role": hit.message.role,
        "at": hit.message.created_at,
        "excerpt": hit.excerpt,
    }


async def _fork(madang: Madang, options: argparse.Namespace, call: Call) -> int:
    target = named(madang, options.target).session
    await madang.session_operations.fork(
        call, target, options.after or options.before, before=options.after is None, title=options.title
    )
    show(line_of(madang.settings, say("The session '{target}' branches off '{id}'.", id=call.session, target=target)))
    return 0


async def _usage(madang: Madang, options: argparse.Namespace, call: Call) -> int:
    await open_run_tables(madang.database)
    since = format_timestamp(now() - timedelta(days=max(options.days, 1) - 1))[:10]
    totals = await UsageStore(madang.database).list_totals(call, since)
    if options.json:
        show_json([_total(total) for total in totals])
        return 0
    unknown = line_of(madang.settings, say("not known"))
    rows = [
        (
            total.day,
            total.session_id,
            total.model,
            str(total.requests),
            str(total.input_tokens),
            str(total.cached_tokens),
            str(total.output_tokens),
            unknown if total.unpriced == total.requests else f"{total.cost:.4f}" + ("+" if total.unpriced else ""),
        )
        for total in totals
    ]
    show_table([line_of(madang.settings, heading) for heading in _USAGE_HEADINGS], rows)
    return 0


def _total(total: UsageTotal) -> dict[str, object]:
    return {
        "day": total.day,
        "sessionId": total.session_id,
        "model": total.model,
        "requests": total.requests,
        "inputTokens": total.input_tokens,
        "cachedTokens": total.cached_tokens,
        "outputTokens": total.output_tokens,
        "cost": None if total.unpriced == total.requests else total.cost,
        "unpricedRequests": total.unpriced,
    }


_USAGE_HEADINGS = (
    say("DAY (UTC)"),
    say("SESSION"),
    say("MODEL"),
    say("REQUESTS"),
    say("INPUT"),
    say("CACHED"),
    say("OUTPUT"),
    say("COST"),
)

HistoryAction = Callable[[Madang, argparse.Namespace, Call], Awaitable[int]]
HISTORY_ACTIONS: Mapping[str, HistoryAction] = {"show": _show, "search": _search, "fork": _fork, "usage": _usage}
"""What is done with the call's session, or, where it names none, with all."""


def named(madang: Madang, name: str) -> Call:
    """Return a call in the session of this name.

    Raises:
        RequestError: it is no name.
    """
    if not is_raw_name(name):
        raise RequestError(
            say("The {what} must have 1 to {max} printable characters.", what="session", max=MAX_NAME_CHARS)
        )
    # One from before hidden characters were refused can still be deleted or exported, by exactly that name.
    spelling = normalised_name(name) if is_name(name) else name
    return replace(madang.call("command"), session_id=SessionId(spelling))
