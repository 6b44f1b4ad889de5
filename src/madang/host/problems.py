"""What a person hands on when something goes wrong: the last lines of the log and a report, neither with any content.

A report is made of an allow-list: versions, the system, states, counts and codes of errors. No text, name, path,
address or token of the person's is among them, whatever it is called (T43).
"""

from __future__ import annotations

import platform
import re
import sqlite3
import sys
from collections.abc import Iterable
from datetime import timedelta
from importlib import metadata

from madang import __version__
from madang.core.calls import Call
from madang.database.port import Database
from madang.host.api import ApiRequest, Operation
from madang.host.calls import HostCalls
from madang.host.model_catalogue import ModelCatalogue
from madang.host.recent_log import RecentLog
from madang.host.wire import LogAnswer, LogQuery, ReportAnswer
from madang.provider.provider import Provider
from madang.records.audit import AuditLog
from madang.system.clock import format_timestamp, now

PACKAGES = ("mcp", "pydantic", "starlette", "uvicorn", "apsw", "asyncpg")
REPORTED_LINES = 100
MAX_ERRORS = 50
ERROR_DAYS = 7
OTHER_TOOL = "(another tool)"
_CODE = re.compile(r"[a-z][a-z_]{0,40}")

_COUNTS = (
    ("sessions", "SELECT count(*) AS n FROM session WHERE user_id = ?1"),
    ("messages", "SELECT count(*) AS n FROM message WHERE user_id = ?1"),
    ("events", "SELECT coalesce(sum(last_seq), 0) AS n FROM session WHERE user_id = ?1"),
    ("pages", "SELECT count(*) AS n FROM page_view WHERE user_id = ?1"),
    ("open questions", "SELECT count(*) AS n FROM pause WHERE user_id = ?1 AND status = 'open'"),
)
_RUNS = "SELECT state, count(*) AS n FROM run WHERE user_id = ?1 GROUP BY state ORDER BY state"
_RUN_ERRORS = (
    "SELECT error_code, count(*) AS n FROM run WHERE user_id = ?1 AND error_code <> '' "
    "GROUP BY error_code ORDER BY n DESC LIMIT ?2"
)
_CALL_ERRORS = (
    "SELECT tool, outcome, count(*) AS n FROM audit WHERE user_id = ?1 AND at >= ?2 AND outcome <> 'ok' "
    "GROUP BY tool, outcome ORDER BY n DESC LIMIT ?3"
)


class OwnServices:
    """The services that ship with Madang: their names are nobody's content. That of an external server is the person's.

    They are those that the provider has when this is made.
    """

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._names = frozenset(provider.status)

    def states(self) -> list[str]:
        """Return the state of each of them by its name, and how many others there are."""
        statuses, own = self._provider.status, self._names
        return [f"{name} {status.state}" for name, status in statuses.items() if name in own] + [
            f"others {sum(name not in own for name in statuses)}"
        ]

    def tool_name(self, name: str) -> str:
        """Return the name of a tool of theirs: what a model or a page has called is any text."""
        tool = self._provider.find_tool(name)
        is_own = tool is not None and self._provider.find_service_name(tool.name) in self._names
        return name if is_own else OTHER_TOOL


class ProblemApi:
    """The operations of a problem report."""

    def __init__(
        self,
        calls: HostCalls,
        log: RecentLog,
        *,
        database: Database,
        audit: AuditLog,
        services: OwnServices,
        catalogue: ModelCatalogue,
    ) -> None:
        self._calls = calls
        self._log = log
        self._database = database
        self._audit = audit
        self._services = services
        self._catalogue = catalogue

    def operations(self) -> list[Operation]:
        return [
            Operation("GET", "/api/log", self.read_log, LogAnswer, query=LogQuery),
            Operation("GET", "/api/report", self.report, ReportAnswer),
        ]

    async def read_log(self, request: ApiRequest) -> LogAnswer:
        """Return the last lines of the log, newest last, without content."""
        query: LogQuery = request.query
        return LogAnswer(lines=self._log.read(query.lines))

    async def report(self, request: ApiRequest) -> ReportAnswer:
        """Return a report of a problem that holds no content: what is where, how much there is, and what failed."""
        call = self._calls.call_of(request.request)
        sections = [
            ("Madang", self._versions()),
            ("Services", self._services.states()),
            ("Counts", await self._counts(call)),
            (f"Errors of calls, {ERROR_DAYS} days", await self._call_errors(call)),
            ("Errors of runs", await self._run_errors(call)),
            ("Log", self._log.read(REPORTED_LINES)),
        ]
        return ReportAnswer(text="\n\n".join(_section(title, lines) for title, lines in sections) + "\n")

    def _versions(self) -> list[str]:
        return [
            f"madang {__version__}",
            f"python {platform.python_version()} {platform.python_implementation()}",
            f"system {platform.system()} {platform.release()} {platform.machine()}",
            f"sqlite {sqlite3.sqlite_version}",
            *(f"{name} {version}" for name in PACKAGES if (version := _version(name))),
            f"database {self._database.dialect}",
            f"language {self._calls.call.locale}",
            f"encoding {sys.getfilesystemencoding()}",
        ]

    async def _counts(self, call: Call) -> list[str]:
        lines = [f"{name} {await self._count(call, sql)}" for name, sql in _COUNTS]
        runs = await self._database.find(_RUNS, call.user_id, user_id=call.user_id)
        lines += [f"runs {state} {count}" for state, count in runs]
        return [*lines, f"models {len(self._catalogue.names)}"]

    async def _count(self, call: Call, sql: str) -> int:
        ((count,),) = await self._database.find(sql, call.user_id, user_id=call.user_id)
        return int(count)

    async def _call_errors(self, call: Call) -> list[str]:
        await self._audit.flush()
        since = format_timestamp(now() - timedelta(days=ERROR_DAYS))
        rows = await self._database.find(_CALL_ERRORS, call.user_id, since, MAX_ERRORS, user_id=call.user_id)
        return [f"{self._services.tool_name(tool)} {_code(outcome)} {count}" for tool, outcome, count in rows]

    async def _run_errors(self, call: Call) -> list[str]:
        rows = await self._database.find(_RUN_ERRORS, call.user_id, MAX_ERRORS, user_id=call.user_id)
        return [f"{_code(code)} {count}" for code, count in rows]


def _code(code: str) -> str:
    """Return a code of an error. Ours are words with underscores; anything else may be somebody's text."""
    return code if _CODE.fullmatch(code) else "(another)"


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", *(list(lines) or ["none"])])


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
