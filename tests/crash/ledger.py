"""What the clients of a killed server know, held against what is on disk."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import apsw


@dataclass
class Ledger:
    """What was tried and what was acknowledged, by tool and key. Keys are used once, but for updates."""

    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    acknowledged: Counter[tuple[str, str]] = field(default_factory=Counter)

    def note(self, line: str) -> None:
        """Take a line such as `ack add_todo 3-0-17`."""
        word, tool, key = line.split()
        (self.tried if word == "try" else self.acknowledged)[tool, key] += 1

    def check(self, folder: Path) -> None:
        """Every acknowledged write is there, one that was not is there at most once, and all counts agree."""
        connection = apsw.Connection(str(folder / "madang.db"))
        try:
            assert connection.execute("PRAGMA integrity_check").get == "ok"
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
            found = self._found(connection)
        finally:
            connection.close()
        for key in self.tried.keys() | found.keys():
            assert self.acknowledged[key] <= found[key] <= self.tried[key], key

    def _found(self, connection: apsw.Connection) -> Counter[tuple[str, str]]:
        found: Counter[tuple[str, str]] = Counter()
        # Who was killed very early has not made all tables yet; each service makes its own in one transaction.
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if "playbook" in tables:
            self._check_counts(connection)
            for goal, version in connection.execute("SELECT goal, version FROM playbook"):
                found["create_playbook", goal] += 1
                if version > 1:
                    found["update_playbook", goal] += version - 1
        if "plan" in tables:
            for (document,) in connection.execute("SELECT document FROM plan"):
                for todo in json.loads(document)["state"]["todos"]:
                    found["add_todo", todo["name"]] += 1
        return found

    def _check_counts(self, connection: apsw.Connection) -> None:
        owners = connection.execute("SELECT no, total FROM playbook_owner ORDER BY no").fetchall()
        rows = connection.execute("SELECT owner_no, count(*) FROM playbook GROUP BY 1 ORDER BY 1").fetchall()
        assert owners == rows
