"""Deleting an assistant: with what the person has allowed to it, and with its sessions handed over, in one unit.

A session that kept the name of an assistant without a row would have the default grant, which may be more than it had.
"""

from __future__ import annotations

from madang.core.errors import Conflict, NotFound
from madang.core.ids import AssistantId, SessionId, UserId
from madang.core.phrases import say
from madang.database.port import Database, Transaction
from madang.database.subscriptions import topic
from madang.records.assistant_tables import ASSISTANT_MIGRATIONS, assistant_changed, assistant_topic
from madang.records.decisions import DECISION_MIGRATIONS, forget_assistant_decisions
from madang.records.runs.store import open_run_tables


async def remove_assistant(
    database: Database, user_id: UserId, assistant_id: AssistantId, version: int, successor: AssistantId
) -> list[SessionId]:
    """Do as `AssistantStore.delete` says."""
    await database.prepare(ASSISTANT_MIGRATIONS)
    await database.prepare(DECISION_MIGRATIONS)
    await open_run_tables(database)
    key = (user_id, assistant_id)

    async def work(tx: Transaction) -> list[SessionId]:
        row = await tx.one("SELECT version FROM assistant WHERE user_id = ?1 AND id = ?2", *key)
        if row is None:
            raise NotFound(say("There is no assistant '{id}'.", id=assistant_id))
        if row[0] != version:
            raise assistant_changed(assistant_id)
        if await tx.one(
            "SELECT 1 AS one FROM run WHERE user_id = ?1 AND assistant_id = ?2 AND state IN ('running', 'waiting') "
            "LIMIT 1",
            *key,
        ):
            raise Conflict(
                say("The assistant '{id}' is still at work in a session.", id=assistant_id),
                hint=say("Stop its runs first."),
            )
        rows = await tx.all("SELECT id FROM session WHERE user_id = ?1 AND assistant_id = ?2", *key)
        await tx.run("UPDATE session SET assistant_id = ?3 WHERE user_id = ?1 AND assistant_id = ?2", *key, successor)
        await forget_assistant_decisions(tx, *key)
        await tx.run("DELETE FROM assistant WHERE user_id = ?1 AND id = ?2", *key)
        await tx.notify(assistant_topic(*key))
        for (id,) in rows:
            await tx.notify(topic("session", user_id, id))
        return [id for (id,) in rows]

    return await database.write(work, user_id=user_id)
