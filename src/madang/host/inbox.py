"""The inbox over the API: all that waits for the person, of whatever session and client, and settling it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from madang.agent.inbox import InboxItem
from madang.core.calls import Call, Locale
from madang.core.errors import Conflict, Expired, InvalidArguments, NotFound
from madang.core.ids import SessionId
from madang.core.pauses import PauseRecord
from madang.core.phrases import say
from madang.host.api import ApiRequest, Operation, checked
from madang.host.manual import turn_parts
from madang.host.parts import HostParts
from madang.host.wire_inbox import (
    ChoiceAnswer,
    InboxAnswer,
    InboxItemAnswer,
    InboxQuery,
    SettleAnswer,
    SettleBody,
    SettledItemAnswer,
)
from madang.rendering.catalogue import translator
from madang.storage.clock import format_timestamp, now
from madang.storage.pause_history import ANSWERED, UNANSWERED, list_settled
from madang.storage.sessions import SessionRecord

MAX_ITEMS = 100
HISTORY = timedelta(days=7)
QUESTIONS = ("text", "select", "multiselect", "choice", "wait")


class InboxApi:
    """The operations on what waits for the person."""

    def __init__(self, parts: HostParts) -> None:
        self._parts = parts

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/inbox", self.list_items, InboxAnswer, query=InboxQuery),
            Operation("GET", "/api/inbox/{id}", self.get, InboxItemAnswer),
            Operation("POST", "/api/inbox/{id}", self.settle, SettleAnswer, SettleBody),
        ]

    async def list_items(self, request: ApiRequest) -> InboxAnswer:
        """Return what is open, or what was answered or ended otherwise in the last seven days, newest first."""
        query: InboxQuery = request.query
        call = self._parts.call_of(request.request)
        if query.state != "open":
            return await self._history(call, query)
        pauses = await self._parts.inbox.list_open(call.user_id, MAX_ITEMS)
        return InboxAnswer(items=[await self._read(call, pause) for pause in pauses], settled=[], next="")

    async def get(self, request: ApiRequest) -> InboxItemAnswer:
        """Return one thing that is open."""
        call = self._parts.call_of(request.request)
        return await self._read(call, await self._open_pause(call, request.path("id")))

    async def settle(self, request: ApiRequest) -> SettleAnswer:
        """Answer a question, decide over a call, or take the turn of the model. The first answer counts."""
        body: SettleBody = request.body
        call = self._parts.call_of(request.request)
        pause = await self._parts.inbox.get(call, request.path("id"))
        if pause is None:
            raise _unknown()
        session = await self._parts.sessions.get(replace(call, session_id=SessionId(pause.session_id)))
        call = call if session is None else self._parts.in_session(call, session)
        # Also of one that is settled: the same answer again is told as what it was, another one as too late.
        item = await self._parts.inbox.read(call, pause)
        text = await self._settle(call, item, body)
        now = await self._parts.inbox.get(call, pause.id)
        return SettleAnswer(id=pause.id, status=now.status if now is not None else pause.status, text=text)

    async def _settle(self, call: Call, item: InboxItem, body: SettleBody) -> str:
        inbox = self._parts.inbox
        match _wish(body):
            case "answer" if item.type in QUESTIONS:
                assert body.answer is not None
                return checked(await inbox.answer(call, item, body.answer)).text
            case "decline":
                reply = await inbox.decline(call, item)
                return "" if reply is None else checked(reply).text
            case "allow" if item.type == "approval":
                self._check_open(item.pause)
                await inbox.decide(call, item, allow=bool(body.allow), scope=body.scope)
                return ""
            case "act" if item.type == "model":
                self._check_open(item.pause)
                await inbox.act(call, item, turn_parts(body.say or "", body.calls or []))
                return ""
        raise InvalidArguments(say("This is not how it can be settled: it is a '{type}'.", type=item.type))

    async def _history(self, call: Call, query: InboxQuery) -> InboxAnswer:
        statuses = ANSWERED if query.state == "answered" else UNANSWERED
        since = format_timestamp(now() - HISTORY)
        page = await list_settled(
            self._parts.database, call.user_id, statuses, since=since, limit=query.limit, after=query.after
        )
        sessions = await self._parts.sessions.find(call.user_id, list({pause.session_id for pause in page.items}))
        titles = {session.id: session.title for session in sessions}
        settled = [_settled(pause, titles.get(pause.session_id, ""), call.locale) for pause in page.items]
        return InboxAnswer(items=[], settled=settled, next=page.next)

    async def _read(self, call: Call, pause: PauseRecord) -> InboxItemAnswer:
        session = await self._parts.sessions.get(replace(call, session_id=SessionId(pause.session_id)))
        return await self.read_item(call, pause, session)

    async def read_item(self, call: Call, pause: PauseRecord, session: SessionRecord | None) -> InboxItemAnswer:
        """Return what is open with all that the person needs to settle it, in the language of its session."""
        at, title = (call, "") if session is None else (self._parts.in_session(call, session), session.title)
        item = await self._parts.inbox.read(at, pause)
        return InboxItemAnswer(
            id=item.id,
            kind=pause.kind,
            type=item.type,
            title=_title(pause, at.locale),
            text=_title(pause, at.locale) if pause.kind == "choice" else item.text,
            choices=[ChoiceAnswer(value=one.value, label=one.label) for one in item.choices],
            left_out=item.left_out,
            hint=item.hint,
            reason=item.reason.render(translator(at.locale)) if item.reason is not None else "",
            session_id=pause.session_id,
            session_title=title,
            run_id=pause.run_id,
            call_id=pause.call_id,
            tool=pause.tool,
            opened_at=pause.opened_at,
            expires_at=pause.expires_at,
            asker=pause.asker_name,
        )

    async def _open_pause(self, call: Call, id: str) -> PauseRecord:
        pause = await self._parts.inbox.get(call, id)
        if pause is None or not pause.is_open:
            raise _unknown()
        return pause

    def _check_open(self, pause: PauseRecord) -> None:
        if pause.status in ("expired", "withdrawn"):
            raise Expired(say("This is over: nobody waits for it any more."))
        if not pause.is_open:
            raise Conflict(say("This was decided already, or is over."), hint=say("Look at what is open now."))


def _title(pause: PauseRecord, locale: Locale) -> str:
    return translator(locale)(pause.title) if pause.kind == "choice" else pause.title


def _settled(pause: PauseRecord, session_title: str, locale: Locale) -> SettledItemAnswer:
    return SettledItemAnswer(
        id=pause.id,
        kind=pause.kind,
        title=_title(pause, locale),
        session_id=pause.session_id,
        session_title=session_title,
        tool=pause.tool,
        opened_at=pause.opened_at,
        asker=pause.asker_name,
        status=pause.status,
        settled_at=pause.settled_at,
        settled_by=pause.settled_by,
        settler=pause.settler_name,
        answer=pause.answer,
    )


def _wish(body: SettleBody) -> str:
    """Return which of the ways to settle a body has.

    Raises:
        InvalidArguments: it has none, or several.
    """
    wishes = [
        name
        for name, is_given in (
            ("answer", body.answer is not None),
            ("decline", body.decline is True),
            ("allow", body.allow is not None),
            ("act", body.say is not None or body.calls is not None),
        )
        if is_given
    ]
    if len(wishes) != 1:
        raise InvalidArguments(say("Exactly one of answer, decline, allow, and say or calls is to be given."))
    return wishes[0]


def _unknown() -> NotFound:
    return NotFound(say("There is no such question."), hint=say("Look at what is open now."))
