"""Images that wait for a message: of one session and one user, few, and gone with the message or the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from madang.core.calls import Call
from madang.core.errors import LimitExceeded
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, Transaction
from madang.records.image_uploads import MAX_IMAGES, ImageUploads
from madang.text.kinds import MAX_IMAGE_BYTES
from tests.backends import BACK_ENDS

ANN = Call(AssistantId("editor"), SessionId("tea"), UserId("ann"))
OTHERS = (replace(ANN, user_id=UserId("bob")), replace(ANN, session_id=SessionId("coffee")))


@pytest.fixture(params=BACK_ENDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    database = BACK_ENDS[request.param](tmp_path)
    await ImageUploads(database).open()
    yield database
    await database.close()


@pytest.fixture
def images(database: Database) -> ImageUploads:
    return ImageUploads(database)


async def test_an_image_is_read_in_its_own_session_alone(images: ImageUploads) -> None:
    data = bytes(range(256))
    id = await images.add(ANN, "차.png", "image/png", data)
    [image] = await images.read(ANN, [id, "image-none", "content-1"])
    assert (image.id, image.name, image.mime_type, image.data) == (id, "차.png", "image/png", data)
    for other in OTHERS:
        assert await images.read(other, [id]) == []
    await images.delete(OTHERS[0], [id])
    assert len(await images.read(ANN, [id])) == 1
    await images.delete(ANN, [id])
    assert await images.read(ANN, [id]) == []


async def test_only_the_newest_wait(images: ImageUploads) -> None:
    ids = []
    for number in range(MAX_IMAGES + 2):
        ids.append(await images.add(ANN, f"{number}.png", "image/png", b"x"))
        await asyncio.sleep(0.002)  # of two ids of the same millisecond either may be the lower
    assert [image.id for image in await images.read(ANN, ids)] == ids[2:]


async def test_what_no_message_can_hold_is_refused(images: ImageUploads) -> None:
    with pytest.raises(LimitExceeded):
        await images.add(ANN, "a.png", "image/png", b"x" * (MAX_IMAGE_BYTES + 1))
    ids = [await images.add(ANN, "a.png", "image/png", b"x" * (MAX_IMAGE_BYTES // 2 + 1)) for _ in range(2)]
    with pytest.raises(LimitExceeded):
        await images.read(ANN, ids)


async def test_images_go_with_their_session(images: ImageUploads, database: Database) -> None:
    id = await images.add(ANN, "a.png", "image/png", b"x")

    async def work(tx: Transaction) -> None:
        await tx.run("DELETE FROM session WHERE user_id = ?1 AND id = ?2", ANN.user_id, ANN.session)

    await database.write(work, user_id=ANN.user_id)
    assert await images.read(ANN, [id]) == []
