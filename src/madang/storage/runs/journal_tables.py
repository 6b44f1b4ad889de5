"""The tables of what a run says and does: messages, those that wait to be given to the model, and calls.

A message has the number of the event that tells of it, so that "up to here" means the same of both.
"""

from __future__ import annotations

from madang.storage.clock import POSTGRESQL_NOW, SQLITE_NOW
from madang.storage.database import MigrationSet, private_rows


def _tables(number: str, time: str, now: str, end: str = "") -> str:
    return f"""
        CREATE TABLE message (
          user_id TEXT NOT NULL, session_no {number} NOT NULL, seq {number} NOT NULL,
          id TEXT NOT NULL, run_no {number}, turn INTEGER NOT NULL, role TEXT NOT NULL,
          parts TEXT NOT NULL, tokens {number} NOT NULL, created_at {time} NOT NULL DEFAULT {now},
          PRIMARY KEY (user_id, session_no, seq),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        ){end};
        CREATE UNIQUE INDEX message_by_turn ON message (user_id, run_no, turn, role)
          WHERE role IN ('assistant', 'tool') AND run_no IS NOT NULL;
        CREATE UNIQUE INDEX message_by_id ON message (user_id, id);
        CREATE TABLE queued_message (
          user_id TEXT NOT NULL, session_no {number} NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL,
          parts TEXT NOT NULL, tokens {number} NOT NULL, created_at {time} NOT NULL DEFAULT {now},
          PRIMARY KEY (user_id, session_no, id),
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE
        ){end};
        CREATE TABLE run_call (
          user_id TEXT NOT NULL, run_no {number} NOT NULL, turn INTEGER NOT NULL, number INTEGER NOT NULL,
          call_id TEXT NOT NULL, tool TEXT NOT NULL, arguments TEXT NOT NULL,
          state TEXT NOT NULL, decision TEXT NOT NULL DEFAULT '', pause_id TEXT NOT NULL DEFAULT '',
          outcome TEXT NOT NULL DEFAULT '', result TEXT NOT NULL DEFAULT '', fingerprint TEXT NOT NULL DEFAULT '',
          started_at {time}, ended_at {time},
          PRIMARY KEY (user_id, run_no, turn, number),
          FOREIGN KEY (user_id, run_no) REFERENCES run (user_id, no) ON DELETE CASCADE
        ){end};
        CREATE INDEX run_call_by_pause ON run_call (user_id, pause_id) WHERE pause_id <> '';
        CREATE INDEX run_call_by_fingerprint ON run_call (user_id, run_no, fingerprint) WHERE fingerprint <> '';
        """


JOURNAL_MIGRATIONS = MigrationSet(
    "journal",
    sqlite=(_tables("INTEGER", "TEXT", f"({SQLITE_NOW})", " WITHOUT ROWID"),),
    postgresql=(
        _tables("BIGINT", "TIMESTAMPTZ", POSTGRESQL_NOW) + private_rows("message", "queued_message", "run_call"),
    ),
)
