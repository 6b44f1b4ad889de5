"""Where runs are kept."""

from __future__ import annotations

from dataclasses import dataclass

from madang.agent.approvals import Approvals
from madang.agent.manual import ManualTurns
from madang.agent.offers import ToolOffers
from madang.database.patience import Patience
from madang.database.port import Database
from madang.records.operations import OperationStore
from madang.records.pauses import PauseStore
from madang.records.runs.calls import CallStore
from madang.records.runs.messages import MessageStore
from madang.records.runs.store import RunStore
from madang.records.runs.usage import UsageStore


@dataclass(frozen=True, slots=True)
class RunStores:
    """The stores that a run reads and writes, each of one part of it."""

    runs: RunStore
    calls: CallStore
    messages: MessageStore
    pauses: PauseStore
    approvals: Approvals
    manual: ManualTurns
    usage: UsageStore
    operations: OperationStore
    offers: ToolOffers
    patience: Patience
    """With a database that does not answer: stores for runs are made on a `PatientDatabase` with it."""


def make_run_stores(database: Database, runs: RunStore, offers: ToolOffers, patience: Patience) -> RunStores:
    """Return the stores of runs in a database, beside `runs` in the same."""
    return RunStores(
        runs,
        CallStore(database),
        MessageStore(database),
        PauseStore(database),
        Approvals(database),
        ManualTurns(database),
        UsageStore(database),
        OperationStore(database),
        offers,
        patience,
    )
