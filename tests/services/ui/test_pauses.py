"""Questions and waits on their pauses, on every back end: asked once, withdrawn, relayed, and told later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from madang.core.calls import LOCALES, Call, Locale
from madang.core.errors import Denied
from madang.core.ids import AssistantId, SessionId
from madang.core.pauses import PauseRecord
from madang.core.results import ToolResult
from madang.database.port import Database, Transaction
from madang.records.pauses import PauseStore, withdraw_run
from madang.rendering.replies import reply as rendered
from madang.services.ui.domain import Question, Refusal, Wait
from madang.services.ui.service import UiService
from madang.services.ui.store import UiStore
from madang.services.ui.tools import UiTools
from madang.services.ui.views.questions import question_outcome
from madang.services.ui.views.waits import wait_outcome
from madang.system import clock
from tests.asking import Asker, open_asker
from tests.backends import BACK_ENDS

CALL = Call(assistant_id=AssistantId("default"), session_id=SessionId("monday"), actor="person", door="host")
RUN = replace(CALL, actor="model", door="agent", run_id="run-1", call_id="call-1", operation_id="run-1/1/1")
RELAYING = replace(CALL, actor="foreign", door="mcp-stdio", pages="off", client_id="first", relays=True)
WEEK_S = 7 * 24 * 60 * 60


class Desk:
    """The ui service on one database, with its pauses."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.store = UiStore(database)
        self.pauses = PauseStore(database)
        self.service = UiService(database)

    async def ask(self, call: Call, text: str = "Which?") -> Question:
        return await self.store.ask(call, "select", text, ["Blue", "Green"], "", WEEK_S)

    async def withdraw(self, run_id: str) -> None:
        async def work(tx: Transaction) -> None:
            await withdraw_run(tx, CALL.user_id, run_id)

        await self.database.write(work, user_id=CALL.user_id)

    async def outcome(self, id: str) -> ToolResult[Any]:
        """Return what the run is told, as another process would read it."""
        pause = await self.pauses.get(CALL, id)
        assert pause is not None
        return await self.service.outcome(RUN, pause)


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[Desk]:
    desk = Desk(database)
    try:
        await desk.store.open()
        yield desk
    finally:
        await database.close()


@pytest.fixture(params=BACK_ENDS)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(BACK_ENDS[request.param](tmp_path)) as desk:
        yield desk


async def test_a_question_is_in_the_inbox_with_its_asker(desk: Desk) -> None:
    asked = await desk.ask(RUN, "Which one?\nReally?")

    assert await desk.pauses.list_open(CALL.user_id, 10) == [
        PauseRecord(
            id=asked.message_id,
            kind="prompt",
            service="ui",
            tool="prompt_user",
            title="Which one? Really?",
            session_id=SessionId("monday"),
            assistant_id=AssistantId("default"),
            asker="run:run-1",
            run_id="run-1",
            call_id="call-1",
            opened_at=asked.created_at,
            expires_at=asked.expires_at,
        )
    ]


async def test_the_same_operation_asks_once_and_gets_the_same_answer(desk: Desk) -> None:
    tools = UiTools(desk.store)
    other = replace(RUN, operation_id="run-1/1/2")

    asked, again = [await tools.prompt_user(RUN, "Which?", "select", ["Blue", "Green"]) for _ in range(2)]
    waiting, still = [await tools.wait_for_user(other, "Plug it in", "Look again") for _ in range(2)]

    assert (again, still) == (asked, waiting)
    assert len(await desk.pauses.list_open(CALL.user_id, 10)) == 2
    await desk.store.reply(CALL, asked.data.message_id, "Blue", cancelled=False)
    answered = await tools.prompt_user(RUN, "Which?", "select", ["Blue", "Green"])
    assert (answered.text, answered.pause) == (asked.text, asked.pause)


@pytest.mark.parametrize("back_end", [name for name in BACK_ENDS if name != "memory"])
async def test_the_same_operation_at_once_from_two_connections_asks_once(tmp_path: Path, back_end: str) -> None:
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(opened(BACK_ENDS[back_end](tmp_path))) for _ in range(2)]
        for number in range(20):
            call = replace(RUN, operation_id=f"operation {number}")
            asked = await asyncio.gather(*(desk.ask(call) for desk in (first, second) * 3))
            assert len({question.message_id for question in asked}) == 1
        assert (await first.store.list_items(CALL, "pending"))[1] == 20


async def test_a_run_that_ends_withdraws_its_questions_and_waits(desk: Desk) -> None:
    asked, waiting = await desk.ask(RUN), await desk.store.wait(replace(RUN, operation_id=""), "Plug it in", "")
    await desk.withdraw("run-1")

    question, refusal = await desk.store.reply(CALL, asked.message_id, "Blue", cancelled=False)
    wait, too_late = await desk.store.resume(CALL, waiting.wait_id)

    assert (question.status, refusal, question.answer) == ("withdrawn", Refusal("withdrawn"), "")
    assert (wait.status, too_late) == ("withdrawn", Refusal("withdrawn"))
    assert {one.status for one in (await desk.store.list_items(CALL, "withdrawn"))[0]} == {"withdrawn"}
    assert await desk.store.list_items(CALL, "pending") == ([], 0)


async def test_what_a_model_relays_answers_only_what_its_own_client_asked(desk: Desk) -> None:
    other = replace(RELAYING, client_id="second")
    own, waiting = await desk.ask(RELAYING), await desk.store.wait(RELAYING, "Plug it in", "")
    theirs = [await desk.ask(RUN), await desk.ask(other), await desk.ask(CALL)]
    their_wait = await desk.store.wait(other, "Plug it in", "")

    for asked in theirs:
        with pytest.raises(Denied):
            await desk.store.reply(RELAYING, asked.message_id, "Blue", cancelled=False)
        assert await desk.store.get(CALL, asked.message_id) == asked
    with pytest.raises(Denied):
        await desk.store.resume(RELAYING, their_wait.wait_id)

    answered, refusal = await desk.store.reply(RELAYING, own.message_id, "Blue", cancelled=False)
    resumed, _ = await desk.store.resume(RELAYING, waiting.wait_id)
    assert (answered.by, refusal, resumed.by) == ("relayed", None, "relayed")
    at_a_page = replace(RELAYING, client_id="second", pages="linked", relays=False)
    for asked in theirs:
        assert (await desk.store.reply(at_a_page, asked.message_id, "Blue", cancelled=False))[0].by == "client"


async def test_a_client_that_was_started_anew_may_relay_the_answer_to_what_it_asked_before(desk: Desk) -> None:
    first = replace(RELAYING, client_id="before", client_name="goose")
    asked = await desk.ask(first)

    with pytest.raises(Denied):
        await desk.store.reply(
            replace(first, client_id="x", client_name="other"), asked.message_id, "Blue", cancelled=False
        )
    question, _ = await desk.store.reply(replace(first, client_id="after"), asked.message_id, "Blue", cancelled=False)

    assert question.by == "relayed"


async def test_what_is_there_from_before_may_be_relayed(desk: Desk) -> None:
    asked = await desk.ask(CALL)

    async def forget_asker(tx: Transaction) -> None:
        await tx.run("UPDATE pause SET asker = '' WHERE user_id = ?1", CALL.user_id)

    await desk.database.write(forget_asker, user_id=CALL.user_id)

    assert (await desk.store.reply(RELAYING, asked.message_id, "Blue", cancelled=False))[0].by == "relayed"


async def test_a_relayed_answer_is_marked_in_the_result_and_in_the_audit() -> None:
    async with open_asker() as asker:
        terminal = asker.with_call(actor="foreign", pages="off", relays=True, client_id="first")
        id = (await terminal.done("prompt_user", prompt="Which?", type="text")).data["messageId"]

        answered = await terminal.done("reply_prompt", messageId=id, answer="Blue")
        read = await terminal.done("get_prompt", messageId=id)
        rows = await _audit(asker)

    assert (answered.data["by"], read.data["by"], answered.settles) == ("relayed", "relayed", id)
    for reply in (answered, read):
        assert "Relayed: the client's model told this in the person's name." in reply.text
    assert rows == [("prompt_user", "allow"), ("reply_prompt", "relayed"), ("get_prompt", "allow")]


async def test_an_answer_to_another_clients_question_is_denied_with_a_hint() -> None:
    async with open_asker() as asker:
        id = (await asker.done("prompt_user", prompt="Which?", type="text")).data["messageId"]
        terminal = asker.with_call(actor="foreign", pages="off", relays=True, client_id="first")
        reply = await terminal.ask("reply_prompt", messageId=id, answer="Blue")

    assert reply.error_code == "denied"
    assert "in the inbox" in reply.data["error"]["hint"]


async def _audit(asker: Asker) -> list[tuple[Any, ...]]:
    await asker.provider._audit.close()
    return await asker.database.find("SELECT tool, decision FROM audit ORDER BY seq")


async def test_the_outcome_is_told_from_the_rows(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await desk.ask(RUN)
    waiting = await desk.store.wait(replace(RUN, operation_id=""), "Plug it in", "Print page 1")
    assert [(await desk.outcome(id)).data.status for id in (asked.message_id, waiting.wait_id)] == [
        "pending",
        "waiting",
    ]

    await desk.store.reply(CALL, asked.message_id, "Green", cancelled=False)
    monkeypatch.setattr(clock, "now", lambda: datetime.now(UTC) + timedelta(seconds=90))
    await desk.store.resume(CALL, waiting.wait_id)

    answer, word = await desk.outcome(asked.message_id), await desk.outcome(waiting.wait_id)
    assert (answer.data.answer, answer.data.by) == ("Green", "person")
    assert (word.data.status, word.data.elapsed_s >= 89) == ("resumed", True)
    for result in (answer, word):
        assert (result.pause, result.page, result.settles) == (None, None, "")


QUESTION = Question(
    message_id="one", type="text", prompt="Which?", created_at="2026-01-01T00:00:00.000Z", expires_at="2026-01-08"
)
WAIT = Wait(
    wait_id="two",
    message="Plug it in",
    resume_instruction="Print page 1",
    created_at="2026-01-01T00:00:00.000Z",
    expires_at="2026-01-31",
)


@pytest.mark.parametrize("locale", LOCALES)
def test_the_words_of_every_outcome(locale: Locale) -> None:

    ends: list[dict[str, Any]] = [
        {"status": "pending"},
        {"status": "answered", "answer": "Blue"},
        {"status": "cancelled"},
        {"status": "expired"},
        {"status": "withdrawn"},
    ]
    wait_ends: list[dict[str, Any]] = [
        {"status": "waiting"},
        {"status": "resumed", "elapsed_s": 90.0},
        {"status": "expired"},
        {"status": "withdrawn"},
    ]
    results: list[tuple[str, ToolResult[Any]]] = [
        *(("prompt_user", question_outcome(QUESTION.model_copy(update=end))) for end in ends),
        *(("wait_for_user", wait_outcome(WAIT.model_copy(update=end))) for end in wait_ends),
    ]

    texts = [rendered("ui", tool, replace(CALL, locale=locale), result).text.split("\n\n") for tool, result in results]

    first = [head.split("\n")[0] for head, _ in texts]
    following = list(dict.fromkeys(tail.split(". ")[0] for _, tail in texts))
    if locale == "en":
        assert (first, following) == snapshot(
            (
                [
                    "[prompt_user] The person has not answered yet.",
                    "[prompt_user] Answer: Blue",
                    "[prompt_user] The person cancelled the prompt without an answer.",
                    "[prompt_user] Prompt one expired at 2026-01-08 without an answer.",
                    "[prompt_user] Prompt one was withdrawn without an answer: "
                    "the run that asked it was stopped, or this session is a copy.",
                    "[wait_for_user] The person has not said to continue yet.",
                    "[wait_for_user] The person said to continue, after 90 s.",
                    "[wait_for_user] Wait two expired at 2026-01-31: the person did not say to continue.",
                    "[wait_for_user] Wait two was withdrawn: "
                    "the run that waited was stopped, or this session is a copy.",
                ],
                [
                    "The question stays open, and its answer will be given to you when it comes",
                    "You may now go on with this answer; do not ask again.",
                    "There is no answer",
                    "The wait stays open, and you will be told when the person continues",
                    "You may now go on; do not wait for this again.",
                ],
            )
        )
    else:
        assert (first, following) == snapshot(
            (
                [
                    "[prompt_user] 사용자가 아직 답하지 않았습니다.",
                    "[prompt_user] 답: Blue",
                    "[prompt_user] 사용자가 답하지 않고 질문을 취소했습니다.",
                    "[prompt_user] 질문 one은 답을 받지 못하고 2026-01-08에 만료되었습니다.",
                    "[prompt_user] 질문 one은 답을 받지 못하고 거두어졌습니다: "
                    "질문한 실행이 중지되었거나 이 세션이 사본입니다.",
                    "[wait_for_user] 사용자가 아직 계속하라고 하지 않았습니다.",
                    "[wait_for_user] 사용자가 90초 뒤에 계속하라고 했습니다.",
                    "[wait_for_user] 대기 two는 2026-01-31에 만료되었습니다: 사용자가 계속하라고 하지 않았습니다.",
                    "[wait_for_user] 대기 two는 거두어졌습니다: 기다리던 실행이 중지되었거나 이 세션이 사본입니다.",
                ],
                [
                    "질문은 열려 있으며, 답이 오면 알려 줍니다",
                    "이제 이 답으로 진행해도 됩니다",
                    "답이 없습니다",
                    "대기는 열려 있으며, 사용자가 계속하라고 하면 알려 줍니다",
                    "이제 진행해도 됩니다",
                ],
            )
        )
