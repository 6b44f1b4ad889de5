"""Questions and waits as rows, on every back end: they are settled once, whoever is how fast."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from anyio import fail_after

from madang.core.calls import Call
from madang.core.errors import ContextMissing, NotFound
from madang.core.ids import AssistantId, SessionId, UserId
from madang.database.port import Database, Transaction
from madang.records.pause_rows import pause_topic
from madang.records.pauses import MAX_DELETED_PAUSES, settle_pause
from madang.services.ui.domain import MAX_TIMEOUT_S, WAIT_TIMEOUT_S, AnswerValue, InboxItem, Question, Refusal, Wait
from madang.services.ui.store import MAX_LISTED_ITEMS, UiStore
from madang.system import clock
from tests.backends import BACK_ENDS

CALL = Call(assistant_id=AssistantId("default"), session_id=SessionId("monday"))
STRANGERS = [
    Call(assistant_id=AssistantId("default"), session_id=SessionId("tuesday")),
    Call(assistant_id=AssistantId("default"), session_id=SessionId("monday"), user_id=UserId("somebody")),
]
WEEK_S = 7 * 24 * 60 * 60
RACES = 1000

SetClock = Callable[..., None]


@asynccontextmanager
async def opened(database: Database) -> AsyncIterator[UiStore]:
    store = UiStore(database)
    try:
        await store.open()
        yield store
    finally:
        await database.close()


@pytest.fixture(params=BACK_ENDS)
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[UiStore]:
    async with opened(BACK_ENDS[request.param](tmp_path)) as store:
        yield store


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Set the clock so much later than it is, or earlier."""

    def set(**later: float) -> None:
        moment = datetime.now(UTC) + timedelta(**later)
        monkeypatch.setattr(clock, "now", lambda: moment)

    return set


async def ask(store: UiStore, **changes: Any) -> Question:
    """Ask for one of two colours, or something else."""
    question: dict[str, Any] = {"type": "select", "text": "Which?", "options": ["Blue", "Green"]}
    question |= {"placeholder": "", "timeout_s": WEEK_S} | changes
    return await store.ask(CALL, **question)


async def resume(store: UiStore, id: str, call: Call = CALL) -> Wait:
    """End a wait, and return it as it then is."""
    return (await store.resume(call, id))[0]


async def settle(store: UiStore, asked: Question, answer: AnswerValue | None = "Blue") -> Question:
    """Answer a question, or cancel it with None; it has to be accepted."""
    question, refusal = await store.reply(CALL, asked.message_id, answer, cancelled=answer is None)
    assert refusal is None
    return question


async def refused(store: UiStore, asked: Question, answer: AnswerValue | None, *, cancelled: bool = False) -> Refusal:
    """Return why an answer is not accepted."""
    _, refusal = await store.reply(CALL, asked.message_id, answer, cancelled=cancelled)
    assert refusal is not None
    return refusal


def id_of(item: InboxItem) -> str:
    return item.wait_id if isinstance(item, Wait) else item.message_id


def newest_first(items: Sequence[InboxItem]) -> list[InboxItem]:
    """By their ids, which tell the time to the millisecond."""
    return sorted(items, key=id_of, reverse=True)


async def test_a_question_is_kept_as_it_was_asked(store: UiStore) -> None:
    asked = await ask(store, type="multiselect", text="어느 것? <b>", options=["파랑", "Green"], placeholder="…")

    assert await store.get(CALL, asked.message_id) == asked
    assert (asked.status, asked.answer, asked.settled_at) == ("pending", "", "")
    assert await store.list_items(CALL, "pending") == ([asked], 1)


async def test_an_answer_settles_a_question(store: UiStore) -> None:
    asked = await ask(store)

    answered = await settle(store, asked, "Green")

    assert answered == asked.model_copy(
        update={"status": "answered", "answer": "Green", "settled_at": answered.settled_at, "by": "program"}
    )
    assert answered.settled_at >= asked.created_at
    assert await store.get(CALL, asked.message_id) == answered
    assert await store.list_items(CALL, "pending") == ([], 0)
    assert await store.list_items(CALL, "answered") == ([answered], 1)


async def test_the_same_answer_again_is_answered_as_before(store: UiStore) -> None:
    asked = await ask(store, type="multiselect")
    first = await settle(store, asked, ["Blue"])

    assert await settle(store, asked, ["Blue"]) == first


async def test_cancelling_settles_too_and_can_be_said_twice(store: UiStore) -> None:
    asked = await ask(store)

    cancelled = await settle(store, asked, None)

    assert (cancelled.status, cancelled.answer) == ("cancelled", "")
    assert await settle(store, asked, None) == cancelled
    assert await refused(store, asked, "Blue") == Refusal("conflict")
    assert await store.get(CALL, asked.message_id) == cancelled


async def test_another_answer_is_a_conflict_and_changes_nothing(store: UiStore) -> None:
    asked = await ask(store)
    answered = await settle(store, asked)

    for answer, cancelled in (("Green", False), (None, True), ("Red", False), (["Blue"], False)):
        value: Any = answer
        assert await refused(store, asked, value, cancelled=cancelled) == Refusal("conflict")
    assert await store.get(CALL, asked.message_id) == answered


@pytest.mark.parametrize("answer", ["Red", "", None, ["Blue"], []])
async def test_an_answer_that_does_not_fit_leaves_the_question_pending(
    store: UiStore, answer: AnswerValue | None
) -> None:
    asked = await ask(store)

    refusal = await refused(store, asked, answer)

    assert refusal.reason in ("missing", "not_text", "not_an_option")

    assert await store.get(CALL, asked.message_id) == asked


@pytest.mark.parametrize("stranger", STRANGERS, ids=["session", "user"])
async def test_somebody_elses_question_is_answered_like_one_that_never_was(store: UiStore, stranger: Call) -> None:
    asked = await ask(store)
    waiting = await store.wait(CALL, "Wait", "")
    id = asked.message_id

    for attempt, message in (
        (store.get(stranger, id), f"Prompt {id} not found."),
        (store.get(stranger, "unknown"), "Prompt unknown not found."),
        (store.reply(stranger, id, "Blue", cancelled=False), f"Prompt {id} not found."),
        (store.reply(stranger, id, "Red", cancelled=False), f"Prompt {id} not found."),
        (store.reply(stranger, id, None, cancelled=True), f"Prompt {id} not found."),
        (store.reply(stranger, "unknown", "Blue", cancelled=False), "Prompt unknown not found."),
        (store.resume(stranger, waiting.wait_id), f"Wait {waiting.wait_id} not found."),
        (store.resume(stranger, "unknown"), "Wait unknown not found."),
    ):
        with pytest.raises(NotFound) as caught:
            await attempt
        assert str(caught.value) == message

    assert await store.list_items(stranger, "pending") == ([], 0)
    assert await store.get(CALL, id) == asked


async def test_without_a_session_nothing_is_asked(store: UiStore) -> None:
    with pytest.raises(ContextMissing):
        await store.list_items(Call(assistant_id=AssistantId("default")), "pending")


async def test_after_its_time_a_question_is_expired_everywhere(store: UiStore, set_clock: SetClock) -> None:
    asked = await ask(store, timeout_s=60)
    set_clock(seconds=61)

    expired = asked.model_copy(update={"status": "expired", "settled_at": asked.expires_at})
    assert await store.get(CALL, asked.message_id) == expired
    assert await store.list_items(CALL, "pending") == ([], 0)
    assert await store.list_items(CALL, "expired") == ([expired], 1)
    for answer, cancelled in (("Blue", False), (None, True)):
        assert await refused(store, asked, answer, cancelled=cancelled) == Refusal("expired")


async def test_a_question_that_expires_while_it_is_answered_is_expired(store: UiStore, set_clock: SetClock) -> None:
    """The statement that settles requires the time itself: what was read before may be old by then."""
    asked = await ask(store, timeout_s=60)
    set_clock(seconds=61)

    async def settle_late(tx: Transaction) -> None:
        await settle_pause(tx, CALL, asked.message_id, status="answered", tool="reply_prompt", arguments={})

    await store._database.write(settle_late, user_id=CALL.user_id)

    assert (await store.get(CALL, asked.message_id)).status == "expired"


async def test_an_answer_outlives_the_time_of_its_question(store: UiStore, set_clock: SetClock) -> None:
    asked = await ask(store, timeout_s=60)
    answered = await settle(store, asked)
    set_clock(days=400)

    assert await store.get(CALL, asked.message_id) == answered
    assert await settle(store, asked) == answered
    assert await store.list_items(CALL, "expired") == ([], 0)


@pytest.mark.parametrize("days", [1, -1])
async def test_a_clock_that_is_a_day_wrong_expires_nothing(store: UiStore, set_clock: SetClock, days: int) -> None:
    asked = [await ask(store) for _ in range(3)]
    waiting = await store.wait(CALL, "Wait", "")
    set_clock(days=days)

    assert await store.list_items(CALL, "pending") == (newest_first([*asked, waiting]), 4)
    assert (await settle(store, asked[0])).status == "answered"
    assert (await resume(store, waiting.wait_id)).elapsed_s >= 0


async def test_a_clock_that_was_far_ahead_costs_nothing_once_it_is_right(store: UiStore, set_clock: SetClock) -> None:
    asked = await ask(store)
    set_clock(days=1000)
    assert (await store.get(CALL, asked.message_id)).status == "expired"
    assert (await store.list_items(CALL, "expired"))[1] == 1

    set_clock(days=0)
    assert (await settle(store, asked)).status == "answered"


async def test_every_method_is_one_transaction(store: UiStore, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, waiting = await ask(store), await store.wait(CALL, "Wait", "")
    counter = Mock(wraps=store._database)
    monkeypatch.setattr(store, "_database", counter)

    for method in (
        lambda: ask(store),
        lambda: store.get(CALL, asked.message_id),
        lambda: store.list_items(CALL, "pending"),
        lambda: store.read_lately(CALL, timedelta(days=1), 5),
        lambda: refused(store, asked, "Red"),
        lambda: settle(store, asked),
        lambda: store.wait(CALL, "Wait", ""),
        lambda: resume(store, waiting.wait_id),
    ):
        counter.reset_mock()
        await method()
        assert len(counter.method_calls) == 1


async def test_many_questions_are_open_at_once_and_the_newest_are_listed(store: UiStore) -> None:
    asked = [await ask(store, text=f"Question {number}") for number in range(MAX_LISTED_ITEMS + 5)]

    listed, total = await store.list_items(CALL, "pending")

    assert listed == newest_first(asked)[:MAX_LISTED_ITEMS]
    assert total == MAX_LISTED_ITEMS + 5
    middle = id_of(listed[50])
    await store.reply(CALL, middle, "Blue", cancelled=False)
    listed, total = await store.list_items(CALL, "pending")
    assert (len(listed), total) == (MAX_LISTED_ITEMS, MAX_LISTED_ITEMS + 4)
    assert middle not in set(map(id_of, listed))


async def test_a_wait_ends_once_and_knows_how_long_it_took(store: UiStore, set_clock: SetClock) -> None:
    waiting = await store.wait(CALL, "Plug it in", "Look again")
    set_clock(seconds=90)

    resumed = await resume(store, waiting.wait_id)

    assert waiting.status == "waiting"
    assert (resumed.status, resumed.message, resumed.resume_instruction) == ("resumed", "Plug it in", "Look again")
    assert resumed.elapsed_s >= 89
    set_clock(seconds=900)
    assert await resume(store, waiting.wait_id) == resumed


async def test_a_wait_is_read_and_listed_like_a_question(store: UiStore) -> None:
    asked, waiting = await ask(store), await store.wait(CALL, "Plug it in", "Look again")

    assert await store.get(CALL, waiting.wait_id) == waiting
    assert await store.list_items(CALL, "pending") == (newest_first([asked, waiting]), 2)

    resumed = await resume(store, waiting.wait_id)
    assert await store.get(CALL, waiting.wait_id) == resumed
    assert await store.list_items(CALL, "pending") == ([asked], 1)
    assert await store.list_items(CALL, "answered") == ([resumed], 1)


async def test_a_wait_is_open_for_thirty_days(store: UiStore, set_clock: SetClock) -> None:
    waiting = await store.wait(CALL, "Plug it in", "")
    set_clock(seconds=WAIT_TIMEOUT_S - 60)
    assert await store.get(CALL, waiting.wait_id) == waiting

    set_clock(seconds=WAIT_TIMEOUT_S + 60)
    expired = waiting.model_copy(update={"status": "expired"})
    assert await store.get(CALL, waiting.wait_id) == expired
    assert await resume(store, waiting.wait_id) == expired
    assert await store.list_items(CALL, "pending") == ([], 0)
    assert await store.list_items(CALL, "expired") == ([expired], 1)

    set_clock(days=0)
    assert (await resume(store, waiting.wait_id)).status == "resumed"


async def test_what_the_person_settled_lately_is_listed_the_last_first(store: UiStore, set_clock: SetClock) -> None:
    first, second, third, unanswered = [await ask(store) for _ in range(4)]
    waiting, open_wait = await store.wait(CALL, "Plug it in", ""), await store.wait(CALL, "Unplug it", "")
    set_clock(hours=1)
    answered = await settle(store, third)
    set_clock(hours=2)
    resumed = await resume(store, waiting.wait_id)
    set_clock(hours=3)
    cancelled = await settle(store, first, None)
    set_clock(hours=4)
    last = await settle(store, second)

    day = timedelta(days=1)
    assert (await store.read_lately(CALL, day, 5)).settled == [last, cancelled, resumed, answered]
    assert (await store.read_lately(CALL, day, 2)).settled == [last, cancelled]
    assert (await store.read_lately(CALL, timedelta(minutes=90), 5)).settled == [last, cancelled]
    assert (await store.read_lately(STRANGERS[0], day, 5)).settled == []
    set_clock(days=2)
    assert (await store.read_lately(CALL, day, 5)).settled == []
    assert {id_of(item) for item in (await store.list_items(CALL, "pending"))[0]} == {
        unanswered.message_id,
        open_wait.wait_id,
    }


async def test_each_change_is_told_once(store: UiStore) -> None:
    asked, other = await ask(store), await ask(store)
    changes = store.changes(CALL, asked.message_id)
    with fail_after(60):
        assert await anext(changes) == frozenset()
        await settle(store, other)
        await settle(store, asked)
        assert await anext(changes) == {pause_topic(CALL.user_id, CALL.session, asked.message_id)}

        again = asyncio.ensure_future(anext(changes))
        await settle(store, asked)
        assert await refused(store, asked, "Green") == Refusal("conflict")
        last = await ask(store)
        everything = store.changes(CALL)
        await anext(everything)
        await settle(store, last)
        await anext(everything)

    assert not again.done()
    again.cancel()
    await asyncio.wait([again])


@pytest.mark.parametrize("back_end", BACK_ENDS)
async def test_of_two_answers_at_once_exactly_one_wins(tmp_path: Path, back_end: str) -> None:
    """A thousand times, each from two connections where the back end can have two."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(opened(BACK_ENDS[back_end](tmp_path)))
        second = first
        if back_end != "memory":
            second = await stack.enter_async_context(opened(BACK_ENDS[back_end](tmp_path)))

        async def race(number: int) -> None:
            asked = await ask(first)
            blue = first.reply(CALL, asked.message_id, "Blue", cancelled=False)
            other = second.reply(CALL, asked.message_id, "Green", cancelled=number % 3 == 0)
            outcomes = await asyncio.gather(*((blue, other) if number % 2 else (other, blue)))

            (winner,) = [question for question, refusal in outcomes if refusal is None]
            (loser,) = [question for question, refusal in outcomes if refusal == Refusal("conflict")]
            assert winner == loser == await second.get(CALL, asked.message_id)

        for begin in range(0, RACES, 50):
            await asyncio.gather(*(race(number) for number in range(begin, begin + 50)))
        _, answered = await first.list_items(CALL, "answered")
        _, cancelled = await first.list_items(CALL, "cancelled")

    assert answered + cancelled == RACES


async def test_what_was_settled_a_month_ago_is_removed_when_something_new_is_asked(
    store: UiStore, set_clock: SetClock
) -> None:
    answered, cancelled = await ask(store), await ask(store)
    expired, open_still = await ask(store, timeout_s=60), await ask(store, timeout_s=MAX_TIMEOUT_S)
    await settle(store, answered)
    await settle(store, cancelled, None)
    over, waiting = await store.wait(CALL, "Over", ""), await store.wait(CALL, "Waiting", "")
    await resume(store, over.wait_id)
    theirs = await store.wait(STRANGERS[1], "Theirs", "")
    await resume(store, theirs.wait_id, STRANGERS[1])

    set_clock(days=29)
    await ask(store)
    for question in (answered, cancelled, expired, open_still):
        await store.get(CALL, question.message_id)

    set_clock(days=30, minutes=2)
    await store.wait(CALL, "Once more", "")
    for question in (answered, cancelled, expired):
        with pytest.raises(NotFound):
            await store.get(CALL, question.message_id)
    with pytest.raises(NotFound):
        await resume(store, over.wait_id)
    assert (await store.get(CALL, open_still.message_id)).status == "expired"
    assert (await store.get(CALL, waiting.wait_id)).status == "expired"
    assert (await resume(store, theirs.wait_id, STRANGERS[1])).message == "Theirs"

    set_clock(days=60, minutes=2)
    await ask(store)
    with pytest.raises(NotFound):
        await store.get(CALL, waiting.wait_id)


async def test_much_that_is_old_is_removed_a_little_at_a_time(store: UiStore, set_clock: SetClock) -> None:
    for _ in range(MAX_DELETED_PAUSES + 5):
        asked = await ask(store)
        await settle(store, asked, None)

    set_clock(days=31)
    await ask(store)
    assert (await store.list_items(CALL, "cancelled"))[1] == 5
    await ask(store)
    assert (await store.list_items(CALL, "cancelled"))[1] == 0
