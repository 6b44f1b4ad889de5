"""Assistants as the settings show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from madang.agent.limits import RunLimits, parse_limits
from madang.agent.model_options import parse_options
from madang.core.calls import Call
from madang.host.decisions import read_decisions
from madang.host.service_modes import ServiceModes
from madang.host.wire_assistants import AssistantDetails, AssistantSummary
from madang.records.assistants import AssistantRecord
from madang.records.decisions import DecisionStore
from madang.records.sessions import SessionStore


class AssistantAnswers:
    """Reads what belongs to assistants beside their records."""

    def __init__(
        self,
        sessions: SessionStore,
        decisions: DecisionStore,
        services: ServiceModes,
        *,
        config_names: frozenset[str],
    ) -> None:
        """`config_names` are the assistants that `config.toml` names."""
        self._sessions = sessions
        self._decisions = decisions
        self._services = services
        self._config_names = config_names

    async def summaries(self, call: Call, records: Iterable[AssistantRecord]) -> list[AssistantSummary]:
        """Return assistants as their list shows them."""
        counts = await self._count_sessions(call)
        return [
            AssistantSummary(
                id=record.id,
                name=record.name,
                model=record.model,
                session_count=counts[record.id],
                is_default=record.id == call.assistant,
                updated_at=record.updated_at,
            )
            for record in records
        ]

    async def details(self, call: Call, record: AssistantRecord) -> AssistantDetails:
        """Return all of an assistant: its services, limits and what was allowed to it."""
        decisions = await read_decisions(call, self._decisions, self._sessions)
        return AssistantDetails(
            id=record.id,
            name=record.name,
            instructions=record.instructions,
            model=record.model,
            options=parse_options(record.options),
            limits=parse_limits(record.limits, has_prices=True),
            default_limits=RunLimits(),
            services=self._services.answers(call, record),
            decisions=[one for one in decisions if one.assistant_id == record.id],
            session_count=(await self._count_sessions(call))[record.id],
            is_default=record.id == call.assistant,
            is_in_config=record.id in self._config_names,
            version=record.version,
            updated_at=record.updated_at,
        )

    async def _count_sessions(self, call: Call) -> Counter[str]:
        return Counter(await self._sessions.count_by_assistant(call.user_id))
