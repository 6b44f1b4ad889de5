"""Images that the person has uploaded for a message that is not written yet. The message takes them over."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.ids import new_id
from madang.core.phrases import say
from madang.database.port import Database, MigrationSet, Transaction, private_rows
from madang.records.sessions import SessionStore, ensure_session
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW
from madang.text.kinds import MAX_IMAGE_BYTES

PREFIX = "image-"
MAX_IMAGES = 20
"""That wait in one session. Of more, the oldest go: they were for a message that was never sent."""


def _table(time: str, now: str, number: str) -> str:
    return f"""
        CREATE TABLE image_upload (
          user_id TEXT NOT NULL, id TEXT NOT NULL, session_no {number} NOT NULL,
          name TEXT NOT NULL, mime_type TEXT NOT NULL, data TEXT NOT NULL,
          created_at {time} NOT NULL DEFAULT {now},
          PRIMARY KEY (user_id, id),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        );
        CREATE INDEX image_upload_by_session ON image_upload (user_id, session_no, id);
        """


IMAGE_UPLOAD_MIGRATIONS = MigrationSet(
    "image_uploads",
    sqlite=(_table("TEXT", f"({SQLITE_NOW})", "INTEGER"),),
    postgresql=(_table("TIMESTAMPTZ", POSTGRESQL_NOW, "BIGINT") + private_rows("image_upload"),),
)

_FORGET_OLD = """
DELETE FROM image_upload WHERE user_id = ?1 AND session_no = ?2 AND id NOT IN (
  SELECT id FROM image_upload WHERE user_id = ?1 AND session_no = ?2 ORDER BY id DESC LIMIT ?3
)
"""


@dataclass(frozen=True, slots=True)
class UploadedImage:
    """An image that waits for its message."""

    id: str
    name: str
    mime_type: str
    data: bytes = field(repr=False)


class ImageUploads:
    """Uploaded images in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        await SessionStore(self._database).open()
        await self._database.prepare(IMAGE_UPLOAD_MIGRATIONS)

    async def add(self, call: Call, name: str, mime_type: str, data: bytes) -> str:
        """Keep an image of the call's session, and return its id.

        Raises:
            LimitExceeded: it is too large for a message.
        """
        if len(data) > MAX_IMAGE_BYTES:
            raise LimitExceeded(say("The images are larger than {max} MB.", max=MAX_IMAGE_BYTES // 1024**2))
        id, text = f"{PREFIX}{new_id()}", base64.b64encode(data).decode("ascii")

        async def work(tx: Transaction) -> None:
            session_no = await ensure_session(tx, call)
            await tx.run(
                "INSERT INTO image_upload (user_id, id, session_no, name, mime_type, data) "
                "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                call.user_id,
                id,
                session_no,
                name,
                mime_type,
                text,
            )
            await tx.run(_FORGET_OLD, call.user_id, session_no, MAX_IMAGES)

        await self._database.write(work, user_id=call.user_id)
        return id

    async def read(self, call: Call, ids: Sequence[str]) -> list[UploadedImage]:
        """Return those of these images that the call's session has, in this order.

        Raises:
            LimitExceeded: together they are too large for a message.
        """
        images = [image for id in ids if id.startswith(PREFIX) for image in await self._find(call, id)]
        if sum(len(image.data) for image in images) > MAX_IMAGE_BYTES:
            raise LimitExceeded(say("The images are larger than {max} MB.", max=MAX_IMAGE_BYTES // 1024**2))
        return images

    async def delete(self, call: Call, ids: Sequence[str]) -> None:
        """Delete images that a message has taken over."""
        if not ids:
            return

        async def work(tx: Transaction) -> None:
            for id in ids:
                await tx.run("DELETE FROM image_upload WHERE user_id = ?1 AND id = ?2", call.user_id, id)

        await self._database.write(work, user_id=call.user_id)

    async def _find(self, call: Call, id: str) -> list[UploadedImage]:
        rows = await self._database.find(
            "SELECT i.id, i.name, i.mime_type, i.data FROM image_upload i "
            "JOIN session s ON s.user_id = i.user_id AND s.no = i.session_no "
            "WHERE i.user_id = ?1 AND s.id = ?2 AND i.id = ?3",
            call.user_id,
            call.session,
            id,
            user_id=call.user_id,
        )
        return [UploadedImage(id, name, mime_type, base64.b64decode(data)) for id, name, mime_type, data in rows]
