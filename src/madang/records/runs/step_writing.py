"""Writing a step of a run: all rows that it adds and changes beside the run's own, in the unit of the step."""

from __future__ import annotations

import json

from madang.core.trust import dump_origins
from madang.database.port import Dialect, Transaction
from madang.records.runs.deltas import delete_deltas
from madang.records.runs.journal import StaleNews, Step, delete_queued, encode_parts
from madang.records.runs.records import Run
from madang.records.runs.usage import write_calibration, write_usage
from madang.records.runs.word_rows import MessageWords, write_words
from madang.system.clock import timestamp

_NEW_MESSAGE = (
    "INSERT INTO message (user_id, session_no, seq, id, run_no, turn, role, parts, tokens, covers_seq, kind, model, "
    "input_tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
)
_NEW_CALL = (
    "INSERT INTO run_call (user_id, run_no, turn, number, call_id, tool, arguments, state) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'received')"
)
_CHANGE_CALL = """
UPDATE run_call SET state = ?5, outcome = ?6, decision = coalesce(?7, decision), pause_id = coalesce(?8, pause_id),
  result = ?9, fingerprint = ?10, started_at = coalesce(started_at, ?11), ended_at = ?12,
  took_ms = coalesce(?13, took_ms), data = ?14, data_left_out = ?15, view_id = coalesce(?16, view_id),
  origins = ?17
WHERE user_id = ?1 AND run_no = ?2 AND turn = ?3 AND number = ?4
"""


async def write_rows(tx: Transaction, dialect: Dialect, run: Run, step: Step, first_seq: int) -> None:
    """Write what a step adds and changes beside the run. `first_seq` is the number of its first event.

    Raises:
        LimitExceeded: a message is too large. The unit must not be committed then.
        StaleNews: a queued message is not there any more. Nor then.
    """
    if step.messages:
        await _write_messages(tx, dialect, run, step, first_seq)
    if step.calls:
        key = run.user_id, run.no, _turn(run, step)
        await tx.run_many(
            _NEW_CALL, [(*key, call.number, call.call_id, call.tool, call.arguments) for call in step.calls]
        )
    for message_no in step.streamed:
        await delete_deltas(tx, run, message_no)
    for pause_id in step.answered_late:
        await tx.run(
            "UPDATE run_call SET outcome = 'answered_late' WHERE user_id = ?1 AND pause_id = ?2 AND pause_id <> ''",
            run.user_id,
            pause_id,
        )
        await delete_queued(tx, run, await _session_no(tx, run), pause_id)
    if step.usage is not None:
        await write_usage(tx, run.user_id, await _session_no(tx, run), step.usage)
    if step.calibration is not None:
        await write_calibration(tx, run.user_id, step.calibration)
    await _change_calls(tx, run, step)


async def _write_messages(tx: Transaction, dialect: Dialect, run: Run, step: Step, first_seq: int) -> None:
    """Write the messages of a step, and take those out of the queue that the model is given with them."""
    session_no = await _session_no(tx, run)
    for message in step.messages:
        await tx.run(
            _NEW_MESSAGE,
            run.user_id,
            session_no,
            first_seq + message.event,
            message.id,
            run.no,
            message.turn or _turn(run, step),
            message.role,
            encode_parts(message.parts),
            message.tokens,
            message.covers_seq,
            message.kind,
            message.model,
            message.input_tokens,
        )
        if message.role != "summary":  # it repeats what is found anyway
            words = message.words or MessageWords("")
            await write_words(tx, dialect, run.user_id, session_no, first_seq + message.event, words)
    for id in step.given:
        if not await delete_queued(tx, run, session_no, id):
            raise StaleNews(id)


async def _change_calls(tx: Transaction, run: Run, step: Step) -> None:
    now = timestamp()
    for change in step.changes:
        await tx.run(
            _CHANGE_CALL,
            run.user_id,
            run.no,
            _turn(run, step),
            change.number,
            change.state,
            change.outcome,
            change.decision,
            change.pause_id,
            encode_parts(change.result) if change.result else "",
            change.fingerprint,
            now if change.state == "started" else None,
            now if change.state == "done" else None,
            change.took_ms,
            json.dumps(change.data) if change.data is not None else "",
            change.data_left_out,
            change.view_id,
            dump_origins(change.origins),
        )


def _turn(run: Run, step: Step) -> int:
    return run.turn if step.turn is None else step.turn


async def _session_no(tx: Transaction, run: Run) -> int:
    row = await tx.one("SELECT session_no FROM run WHERE user_id = ?1 AND no = ?2", run.user_id, run.no)
    assert row is not None
    number: int = row[0]
    return number
