"""Assistants as rows: how each is set up, and which services it may use.

`config.toml` seeds them. An assistant without a row is one with nothing set: it has the default grant.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from madang.core.calls import Call
from madang.core.errors import InvalidArguments
from madang.core.ids import AssistantId, SessionId, UserId, is_name
from madang.core.limits import MAX_NAME_CHARS
from madang.core.phrases import say
from madang.database.port import Database, Row, Transaction
from madang.database.subscriptions import topic
from madang.records.assistant_tables import ASSISTANT_MIGRATIONS, assistant_changed, assistant_topic
from madang.system.clock import timestamp

GRANT_CACHE_S = 1.0
"""How long a grant is used without a look: how late a change that another process made can hold here."""
MAX_CACHED_GRANTS = 10_000
MAX_ASSISTANTS = 1000
MAX_ASSISTANT_CHARS = 100_000

_COLUMNS = "id, name, instructions, model, services, limits, policy, options, version, created_at, updated_at"


@dataclass(frozen=True, slots=True)
class AssistantRecord:
    """One assistant. A new one has version 0."""

    id: AssistantId
    name: str = ""
    instructions: str = ""
    model: str = ""
    services: tuple[str, ...] | None = None
    """The services it may use, by their names or former names. None: every one that neither runs code nor reaches
    out."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """What its model is asked with, where that differs from what the model's own settings say."""
    version: int = 0
    created_at: str = ""
    updated_at: str = ""


class AssistantStore:
    """Assistants in the database, and the grants of those that were asked for lately."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._is_open = False
        self._grants: dict[tuple[UserId, str], tuple[float, frozenset[str] | None]] = {}
        self._writes = 0

    async def open(self) -> None:
        if not self._is_open:
            await self._database.prepare(ASSISTANT_MIGRATIONS)
            self._is_open = True

    async def services(self, call: Call) -> frozenset[str] | None:
        """Return the services that the call's assistant may use, as they were written; None is the default grant.

        A change made in this process holds at once, one of another process within `GRANT_CACHE_S`. It opens the tables
        itself.

        Raises:
            Unavailable: it cannot be looked up.
        """
        key = _key(call)
        cached = self._grants.get(key)
        if cached is not None and self._clock() < cached[0]:
            return cached[1]
        await self.open()
        # Taken before the look: a grant that is written meanwhile must not be hidden by what was there before.
        until, writes = self._clock() + GRANT_CACHE_S, self._writes
        rows = await self._database.find(
            "SELECT services FROM assistant WHERE user_id = ?1 AND id = ?2", *key, user_id=call.user_id
        )
        names = _names(rows[0][0]) if rows else None
        grant = None if names is None else frozenset(names)
        if writes == self._writes:
            if len(self._grants) >= MAX_CACHED_GRANTS:
                self._grants.clear()
            self._grants[key] = until, grant
        return grant

    def known_services(self, call: Call) -> frozenset[str] | None:
        """Return the grant that was looked up last, however old: for texts that decide nothing.

        Raises:
            KeyError: none was.
        """
        return self._grants[_key(call)][1]

    async def get(self, user_id: UserId, assistant_id: AssistantId) -> AssistantRecord | None:
        """Return an assistant, or None if nothing was ever set for it."""
        rows = await self._database.find(
            f"SELECT {_COLUMNS} FROM assistant WHERE user_id = ?1 AND id = ?2", user_id, assistant_id, user_id=user_id
        )
        return _record(rows[0]) if rows else None

    async def list_all(self, user_id: UserId) -> list[AssistantRecord]:
        """Return the user's assistants, by id."""
        rows = await self._database.find(
            f"SELECT {_COLUMNS} FROM assistant WHERE user_id = ?1 ORDER BY id LIMIT ?2",
            user_id,
            MAX_ASSISTANTS,
            user_id=user_id,
        )
        return [_record(row) for row in rows]

    async def save(self, user_id: UserId, assistant: AssistantRecord) -> AssistantRecord:
        """Replace the version of an assistant that was read, or add one of version 0.

        Raises:
            Conflict: it was changed meanwhile, or there is one of this name.
            InvalidArguments: it is too large, or its id or a service is no name.
        """
        values = _values(assistant)

        async def work(tx: Transaction) -> AssistantRecord:
            if assistant.version == 0:
                count = await _insert(tx, user_id, assistant.id, values)
            else:
                count = await tx.run(
                    "UPDATE assistant SET name = ?4, instructions = ?5, model = ?6, services = ?7, limits = ?8, "
                    "policy = ?9, options = ?10, updated_at = ?11, version = version + 1 "
                    "WHERE user_id = ?1 AND id = ?2 AND version = ?3",
                    user_id,
                    assistant.id,
                    assistant.version,
                    *values,
                    timestamp(),
                )
            if not count:
                raise assistant_changed(assistant.id)
            await tx.notify(assistant_topic(user_id, assistant.id))
            row = await tx.one(
                f"SELECT {_COLUMNS} FROM assistant WHERE user_id = ?1 AND id = ?2", user_id, assistant.id
            )
            assert row is not None
            return _record(row)

        saved = await self._database.write(work, user_id=user_id)
        self._forget_grants()
        return saved

    async def delete(
        self, user_id: UserId, assistant_id: AssistantId, version: int, successor: AssistantId
    ) -> list[SessionId]:
        """Delete the version of an assistant that was read; return its sessions, which go on with `successor`.

        Raises:
            NotFound: there is no such assistant.
            Conflict: it was changed meanwhile, or a run of it is not over.
        """
        from madang.records.assistant_removal import remove_assistant  # on use: most processes never do this

        sessions = await remove_assistant(self._database, user_id, assistant_id, version, successor)
        self._forget_grants()
        return sessions

    async def seed(self, user_id: UserId, grants: Mapping[str, Iterable[str]]) -> None:
        """Take over what `config.toml` says of assistants, as far as it says something new.

        An assistant without a row gets one. One that config.toml says something else of than the last time gets that:
        the person has just edited the file. Otherwise what was edited elsewhere stays, as does an assistant that the
        file no longer names.
        """
        if not grants:
            return
        await self.open()
        seeds = {AssistantId(id): _list_text(services) for id, services in grants.items()}
        said = "SELECT id, seed FROM assistant WHERE user_id = ?1"
        rows = await self._database.find(said, user_id, user_id=user_id)
        if seeds.items() <= dict(rows).items():
            return

        async def work(tx: Transaction) -> None:
            earlier: dict[str, str] = dict(await tx.all(said, user_id))
            for id, seed in seeds.items():
                if id not in earlier:
                    values = _values(AssistantRecord(id, services=tuple(json.loads(seed))))
                    await _insert(tx, user_id, id, values, seed)
                elif earlier[id] != seed:
                    await tx.run(
                        "UPDATE assistant SET services = ?3, seed = ?3, updated_at = ?4, version = version + 1 "
                        "WHERE user_id = ?1 AND id = ?2",
                        user_id,
                        id,
                        seed,
                        timestamp(),
                    )
                else:
                    continue
                await tx.notify(assistant_topic(user_id, id))

        await self._database.write(work, user_id=user_id)
        self._forget_grants()

    def changes(self, user_id: UserId) -> AsyncIterator[frozenset[str]]:
        """Yield an empty set once watching has begun, then the topics of the user's assistants that changed."""
        return self._database.changes(topic("assistant", user_id))

    def _forget_grants(self) -> None:
        self._writes += 1
        self._grants.clear()


async def _insert(
    tx: Transaction, user_id: UserId, id: AssistantId, values: tuple[str | None, ...], seed: str = ""
) -> int:
    return await tx.run(
        "INSERT INTO assistant (user_id, id, name, instructions, model, services, limits, policy, options, updated_at, "
        "seed, version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1) ON CONFLICT (user_id, id) DO NOTHING",
        user_id,
        id,
        *values,
        timestamp(),
        seed,
    )


def _key(call: Call) -> tuple[UserId, str]:
    return call.user_id, call.assistant_id or ""


def _values(assistant: AssistantRecord) -> tuple[str | None, ...]:
    services = None if assistant.services is None else _list_text(assistant.services)
    values = (
        assistant.name,
        assistant.instructions,
        assistant.model,
        services,
        json.dumps(assistant.limits),
        json.dumps(assistant.policy),
        json.dumps(assistant.options),
    )
    if not is_name(assistant.id) or not all(is_name(name) for name in assistant.services or ()):
        raise InvalidArguments(
            say("The {what} must have 1 to {max} printable characters.", what="name", max=MAX_NAME_CHARS)
        )
    if sum(len(value or "") for value in values) > MAX_ASSISTANT_CHARS:
        raise InvalidArguments(say("An assistant has at most {max} characters.", max=MAX_ASSISTANT_CHARS))
    return values


def _list_text(names: Iterable[str]) -> str:
    return json.dumps(list(names), ensure_ascii=False)


def _names(services: str | None) -> tuple[str, ...] | None:
    return None if services is None else tuple(json.loads(services))


def _record(row: Row) -> AssistantRecord:
    id, name, instructions, model, services, limits, policy, options, version, created_at, updated_at = row
    return AssistantRecord(
        id,
        name,
        instructions,
        model,
        _names(services),
        json.loads(limits),
        json.loads(policy),
        json.loads(options),
        version,
        created_at,
        updated_at,
    )
