"""Puts the agent together: an open Madang whose calls by a model go through the agent's policy, and the runs on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from madang.agent.calls import is_effect
from madang.agent.execution import RunSetup, SetupLoader
from madang.agent.inbox import Inbox
from madang.agent.limits import parse_limits
from madang.agent.model_options import with_own_options
from madang.agent.models import ModelOpener, OpenModels
from madang.agent.offers import ToolOffers
from madang.agent.policy import AgentPolicy
from madang.agent.rules import NO_RULES, ApprovalRules, check_path_rules
from madang.agent.runner import Runner
from madang.agent.service import AgentService, AgentTools, PlaybookCreator
from madang.agent.stores import RunStores, make_run_stores
from madang.agent.tool_search import ToolSearch
from madang.app import Madang, open_madang
from madang.core.calls import Call
from madang.core.errors import Unavailable
from madang.core.phrases import say
from madang.core.service import Service
from madang.database.patience import Patience, PatientDatabase
from madang.database.port import Database
from madang.files.folders.agents_file import AGENTS_FILE, read_agents_file
from madang.files.place import read_place
from madang.llm.fallback import split_models
from madang.provider.policy import ALLOWED
from madang.records.analysis.analysis import Analysis
from madang.records.data_folder import WORKSPACES
from madang.records.decisions import DecisionStore
from madang.records.egress import EgressLog
from madang.records.events import EventLog
from madang.records.runs.deltas import DeltaStore
from madang.records.runs.message_search import MessageSearch
from madang.records.runs.offers import OfferStore
from madang.records.runs.records import Run
from madang.records.runs.store import RunStore
from madang.records.runs.words import MessageAnalysis
from madang.settings import Settings


@dataclass(frozen=True)
class Agent:
    """An open agent."""

    madang: Madang
    runner: Runner
    stores: RunStores
    events: EventLog
    search: MessageSearch
    inbox: Inbox
    models: OpenModels
    decisions: DecisionStore
    egress: EgressLog

    def watch(self) -> None:
        """Take over runs that can go on, from now on."""
        self.madang.background.keep(self.runner.watch, "runs")


@asynccontextmanager
async def open_agent(
    settings: Settings,
    open_model: ModelOpener,
    *,
    only_session: Call | None = None,
    rules: ApprovalRules = NO_RULES,
    base_url: str = "",
    default_model: Callable[[], str] | None = None,
    services: Sequence[Service] = (),
    is_unattended: bool = False,
) -> AsyncIterator[Agent]:
    """Open Madang with an agent on it. The user's runs of other processes that can go on are taken over from now on.

    With `only_session` only those of the call's session, and only after `Agent.watch`: a process that ends with its own
    run must not begin others, which may need a key or a rule that it does not have. `base_url` and `services` are as
    for `open_madang`.
    `is_unattended`: nobody looks on, as with `madang run`.
    `default_model` is asked for each run whose assistant has no model; without it, it is that of the settings.

    Raises:
        SetupError: the data folder cannot be used, the settings name an unknown service, or a rule gives paths to a
            tool that takes none.
    """
    policy = AgentPolicy(rules)
    async with open_madang(settings, base_url, policy=policy, services=services) as madang:
        database = madang.database
        decisions = await _open_decisions(madang, policy)
        liveness = database.new_liveness()
        egress = EgressLog(database)
        models = OpenModels(open_model, lambda host: egress.record(settings.user, host, "model"))
        analysis = Analysis(madang.executor)
        offers = ToolOffers(madang.provider, OfferStore(database), ToolSearch(analysis))
        patience = Patience()
        # Beside a file all processes have the same folders.
        place = liveness.place = read_place(settings.data_dir / WORKSPACES) if settings.database else ""

        def run_stores(database: Database) -> RunStores:
            runs = RunStore(database, liveness, MessageAnalysis(analysis), user_id=settings.user, place=place)
            return make_run_stores(database, runs, offers, patience)

        stores, patient = run_stores(database), run_stores(PatientDatabase(database, patience))
        load_setup = _setup_loader(settings, madang, models, default_model, is_unattended=is_unattended)
        search = MessageSearch(database, MessageAnalysis(analysis))
        madang.provider.register(AgentService(_agent_tools(madang, stores, search, offers)))
        check_path_rules(rules, madang.provider.find_tool)
        runner = Runner(stores, patient, DeltaStore(database), madang.provider, load_setup, only_session, place)
        await madang.assistants.open()
        await runner.open()
        events, inbox = EventLog(database), Inbox(database, madang.provider)
        agent = Agent(madang, runner, stores, events, search, inbox, models, decisions, egress)
        if only_session is None:
            agent.watch()
        try:
            yield agent
        finally:
            await runner.close()
            await models.close()
            await egress.close()
            await analysis.close()
            await liveness.close()


async def _open_decisions(madang: Madang, policy: AgentPolicy) -> DecisionStore:
    """Return what the person has decided for more than one call, which the policy goes by from now on."""
    decisions = DecisionStore(madang.database)
    await decisions.open()
    await madang.database.check_for_agents()
    policy.connect(decisions, madang.sessions, madang.assistants, madang.provider.find_service_name, madang.folders)
    return decisions


def _setup_loader(
    settings: Settings,
    madang: Madang,
    models: OpenModels,
    default_model: Callable[[], str] | None,
    *,
    is_unattended: bool,
) -> SetupLoader:
    async def load_setup(run: Run) -> RunSetup:
        assistant = await madang.assistants.get(run.user_id, run.assistant_id)
        session = await madang.sessions.get(run.call())
        fallback = default_model() if default_model is not None else settings.default_model
        name = run.model or settings.model or (assistant.model if assistant else "") or fallback
        names = split_models(name)
        opened = await models.get(names[0]) if names else None
        if opened is not None and assistant is not None:
            opened = replace(opened, options=with_own_options(opened.options, assistant.options))
        own = assistant.instructions if assistant else ""
        folders = await madang.executor.reads.run(run.call(), _folder_instructions, madang, run.call())
        return RunSetup(
            opened,
            "\n\n".join(filter(None, (own, folders))),
            parse_limits(assistant.limits if assistant else {}, has_prices=opened is None or bool(opened.prices)),
            locale=(session.locale if session else None) or settings.locale,
            is_unattended=is_unattended,
            models=names,
        )

    return load_setup


def _agent_tools(madang: Madang, stores: RunStores, search: MessageSearch, offers: ToolOffers) -> AgentTools:
    return AgentTools(
        search,
        stores.calls,
        _playbook_creator(madang),
        lambda name: is_effect(madang.provider.find_tool(name)),
        offers,
    )


def _folder_instructions(madang: Madang, call: Call) -> str:
    """Return what the AGENTS.md of the session's folder says, if the person has agreed to it as it is now."""
    folder = madang.folders.personal(call)
    file = read_agents_file(folder) if folder is not None else None
    if file is None or not file.text or not madang.folder_trust.find_answer(call.user_id, file):
        return ""
    return f"The person's folder says in its {AGENTS_FILE}, which they agreed to:\n\n{file.text}"


def _playbook_creator(madang: Madang) -> PlaybookCreator:
    async def create(call: Call, arguments: Mapping[str, Any]) -> str:
        # It is part of a call that was decided already.
        reply = await madang.provider.execute_tool(call, "create_playbook", dict(arguments), ALLOWED)
        if reply.is_error:
            raise Unavailable(say("The playbook was not made: {reason}", reason=reply.text))
        return str(reply.data["playbook"]["id"])

    return create
