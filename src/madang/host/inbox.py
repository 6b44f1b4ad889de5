"""The inbox over the API: all that waits for the person, of whatever session and client, and settling it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from madang.agent.inbox import Inbox
from madang.core.calls import Call, Locale
from madang.core.errors import InvalidArguments, NotFound
from madang.core.ids import SessionId
from madang.core.pauses import (
    Answer,
    Decline,
    ModelTurn,
    PauseAnswer,
    PauseForm,
    PauseRecord,
    Permission,
    in_words,
)
from madang.core.phrases import say
from madang.database.port import Database
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls, in_session
from madang.host.manual import turn_parts
from madang.host.wire_inbox import (
    ChoiceAnswer,
    InboxAnswer,
    InboxItemAnswer,
    InboxQuery,
    SettleAnswer,
    SettleBody,
    SettledItemAnswer,
)
from madang.llm.messages import dump_parts
from madang.records.pause_history import ANSWERED, UNANSWERED, list_settled
from madang.records.session_rows import SessionRecord
from madang.records.sessions import SessionStore
from madang.rendering.catalogue import translator
from madang.system.clock import format_timestamp, now

MAX_ITEMS = 100
HISTORY = timedelta(days=7)


class InboxApi:
    """The operations on what waits for the person."""

    def __init__(self, calls: HostCalls, inbox: Inbox, *, sessions: SessionStore, database: Database) -> None:
        self._calls = calls
        self._inbox = inbox
        self._sessions = sessions
        self._database = database

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/inbox", self.list_items, InboxAnswer, query=InboxQuery),
            Operation("GET", "/api/inbox/{id}", self.get, InboxItemAnswer),
            Operation("POST", "/api/inbox/{id}", self.settle, SettleAnswer, SettleBody),
        ]

    async def list_items(self, request: ApiRequest) -> InboxAnswer:
        """Return what is open, or what was answered or ended otherwise in the last seven days, newest first."""
        query: InboxQuery = request.query
        call = self._calls.call_of(request.request)
        if query.state != "open":
            return await self._history(call, query)
        pauses = await self._inbox.list_open(call.user_id, MAX_ITEMS)
        return InboxAnswer(items=await self._read(call, pauses), settled=[], next="")

    async def get(self, request: ApiRequest) -> InboxItemAnswer:
        """Return one thing that is open."""
        call = self._calls.call_of(request.request)
        pause = await self._inbox.get(call, request.path("id"))
        if pause is None or not pause.is_open:
            raise _unknown()
        (item,) = await self._read(call, [pause])
        return item

    async def settle(self, request: ApiRequest) -> SettleAnswer:
        """Answer a question, decide over a call, or take the turn of the model. The first answer counts."""
        body: SettleBody = request.body
        call = self._calls.call_of(request.request)
        pause = await self._inbox.get(call, request.path("id"))
        if pause is None:
            raise _unknown()
        sessions = await self._find_sessions(call, [pause])
        if pause.session_id in sessions:
            call = in_session(call, sessions[pause.session_id])
        # Also of one that is settled: the same answer again is told as what it was, another one as too late.
        settled = await self._inbox.settle(call, pause, _answer(body))
        return SettleAnswer(id=settled.id, status=settled.status, text=settled.answer)

    async def _history(self, call: Call, query: InboxQuery) -> InboxAnswer:
        statuses = ANSWERED if query.state == "answered" else UNANSWERED
        since = format_timestamp(now() - HISTORY)
        page = await list_settled(
            self._database, call.user_id, statuses, since=since, limit=query.limit, after=query.after
        )
        sessions = await self._find_sessions(call, page.items)
        settled = [_settled(pause, sessions.get(pause.session_id), call.locale) for pause in page.items]
        return InboxAnswer(items=[], settled=settled, next=page.next)

    async def _read(self, call: Call, pauses: list[PauseRecord]) -> list[InboxItemAnswer]:
        return await read_items(self._inbox, call, pauses, await self._find_sessions(call, pauses))

    async def _find_sessions(self, call: Call, pauses: Iterable[PauseRecord]) -> dict[SessionId, SessionRecord]:
        sessions = await self._sessions.find(call.user_id, list({pause.session_id for pause in pauses}))
        return {session.id: session for session in sessions}


async def read_items(
    inbox: Inbox, call: Call, pauses: Sequence[PauseRecord], sessions: Mapping[SessionId, SessionRecord]
) -> list[InboxItemAnswer]:
    """Return what is open with all that the person needs to settle it, each in the language of its session."""
    forms = await inbox.read_all(call, pauses)
    return [_item(form, sessions.get(form.pause.session_id), call.locale) for form in forms]


def _item(form: PauseForm, session: SessionRecord | None, locale: Locale) -> InboxItemAnswer:
    """Return what is open, in the language of its session."""
    pause = form.pause
    translate = translator((session.locale if session is not None else None) or locale)
    return InboxItemAnswer(
        id=form.id,
        kind=pause.kind,
        service=pause.service,
        type=form.type,
        title=in_words(form.title, translate),
        text=in_words(form.text, translate),
        choices=[ChoiceAnswer(value=option.value, label=option.label) for option in form.options],
        left_out=form.left_out,
        hint=in_words(form.hint, translate),
        reason=form.reason.render(translate) if form.reason is not None else "",
        can_decline=form.can_decline,
        scopes=list(form.scopes),
        session_id=pause.session_id,
        session_title=session.title if session is not None else "",
        run_id=pause.run_id,
        call_id=pause.call_id,
        tool=pause.tool,
        opened_at=pause.opened_at,
        expires_at=pause.expires_at,
        asker=pause.asker_name,
    )


def _settled(pause: PauseRecord, session: SessionRecord | None, locale: Locale) -> SettledItemAnswer:
    return SettledItemAnswer(
        id=pause.id,
        kind=pause.kind,
        title=in_words(pause.heading, translator(locale)),
        session_id=pause.session_id,
        session_title=session.title if session is not None else "",
        tool=pause.tool,
        opened_at=pause.opened_at,
        asker=pause.asker_name,
        status=pause.status,
        settled_at=pause.settled_at,
        settled_by=pause.settled_by,
        settler=pause.settler_name,
        answer=pause.answer,
    )


def _answer(body: SettleBody) -> PauseAnswer:
    """Return what a body says.

    Raises:
        InvalidArguments: it says nothing, or several things.
    """
    answers: list[PauseAnswer] = []
    if body.answer is not None:
        answers.append(Answer(body.answer))
    if body.decline is True:
        answers.append(Decline())
    if body.allow is not None:
        answers.append(Permission(body.allow, body.scope))
    if body.say is not None or body.calls is not None:
        answers.append(ModelTurn(dump_parts(turn_parts(body.say or "", body.calls or []))))
    if len(answers) != 1:
        raise InvalidArguments(say("Exactly one of answer, decline, allow, and say or calls is to be given."))
    return answers[0]


def _unknown() -> NotFound:
    return NotFound(say("There is no such question."), hint=say("Look at what is open now."))
