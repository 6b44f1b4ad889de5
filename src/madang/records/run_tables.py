"""The tables of runs. What looks read is apart, in `run_live`: it holds no content, and only what is not over."""

from __future__ import annotations

from madang.database.port import MigrationSet, private_rows
from madang.system.clock import POSTGRESQL_NOW, SQLITE_NOW

# Statements and policies for each entry are those of its user. A run that is no longer the writer's is only looked at,
# not locked: it is told back, and what is written for it all the same has the old epoch, which nobody reads.
_FLUSH_DELTAS = """
CREATE FUNCTION flush_deltas(
  users TEXT[], runs BIGINT[], epochs BIGINT[], messages BIGINT[], places BIGINT[], texts TEXT[]
) RETURNS TABLE (lost_user TEXT, lost_run BIGINT, lost_epoch BIGINT) LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  FOR i IN 1 .. coalesce(array_length(runs, 1), 0) LOOP
    PERFORM set_config('madang.user_id', users[i], true);
    IF EXISTS (
      SELECT 1 FROM run WHERE user_id = users[i] AND no = runs[i] AND epoch = epochs[i] AND state = 'running'
    ) THEN
      INSERT INTO run_delta (user_id, run_no, message_no, at_char, epoch, text)
      VALUES (users[i], runs[i], messages[i], places[i], epochs[i], texts[i])
      ON CONFLICT (user_id, run_no, message_no, at_char)
      DO UPDATE SET epoch = excluded.epoch, text = excluded.text WHERE run_delta.epoch <= excluded.epoch;
    ELSE
      lost_user := users[i];
      lost_run := runs[i];
      lost_epoch := epochs[i];
      RETURN NEXT;
    END IF;
  END LOOP;
  PERFORM set_config('madang.user_id', '', true);
END
$$;
"""


def _run_columns(number: str, time: str, now: str, real: str) -> str:
    return f"""
          user_id TEXT NOT NULL, id TEXT NOT NULL, session_no {number} NOT NULL, assistant_id TEXT NOT NULL,
          model TEXT NOT NULL, state TEXT NOT NULL, epoch {number} NOT NULL, owner TEXT NOT NULL,
          turn INTEGER NOT NULL DEFAULT 0, calls INTEGER NOT NULL DEFAULT 0,
          input_tokens {number} NOT NULL DEFAULT 0, output_tokens {number} NOT NULL DEFAULT 0,
          cost {real} NOT NULL DEFAULT 0, tainted SMALLINT NOT NULL DEFAULT 0,
          deadline_at {time}, wake_at {time}, error_code TEXT NOT NULL DEFAULT '', error TEXT NOT NULL DEFAULT '',
          created_at {time} NOT NULL DEFAULT {now}, updated_at {time} NOT NULL DEFAULT {now},
          FOREIGN KEY (user_id, session_no) REFERENCES session (user_id, no) ON DELETE CASCADE,
          UNIQUE (user_id, id)"""


def _other_tables(number: str, time: str, unlogged: str = "", end: str = "") -> str:
    return f"""
        CREATE UNIQUE INDEX run_live_of_session ON run (user_id, session_no) WHERE state IN ('running', 'waiting');
        CREATE INDEX run_by_session ON run (user_id, session_no, no);
        CREATE TABLE run_live (
          user_id TEXT NOT NULL, run_no {number} NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL,
          wake_at {time}, nudged SMALLINT NOT NULL DEFAULT 0,
          PRIMARY KEY (user_id, run_no),
          FOREIGN KEY (user_id, run_no) REFERENCES run (user_id, no) ON DELETE CASCADE
        ){end};
        CREATE INDEX run_live_by_owner ON run_live (owner) WHERE owner <> '';
        CREATE INDEX run_live_by_wake_at ON run_live (wake_at) WHERE owner = '' AND wake_at IS NOT NULL;
        CREATE INDEX run_live_nudged ON run_live (user_id, run_no) WHERE nudged = 1;
        CREATE {unlogged} TABLE run_delta (
          user_id TEXT NOT NULL, run_no {number} NOT NULL, message_no {number} NOT NULL, at_char {number} NOT NULL,
          epoch {number} NOT NULL, text TEXT NOT NULL,
          PRIMARY KEY (user_id, run_no, message_no, at_char),
          FOREIGN KEY (user_id, run_no) REFERENCES run (user_id, no) ON DELETE CASCADE
        ){end};
        """


# Where in the log a run ended that did not go well: the log itself is not kept for ever.
_ENDS = """
        ALTER TABLE run ADD end_seq {number} NOT NULL DEFAULT 0;
        CREATE INDEX run_by_end ON run (user_id, session_no, end_seq) WHERE end_seq > 0;
        """

# A look is about one user's runs.
_LOOKS = """
        DROP INDEX run_live_by_owner;
        DROP INDEX run_live_by_wake_at;
        DROP INDEX run_live_nudged;
        CREATE INDEX run_live_by_owner ON run_live (user_id, owner) WHERE owner <> '';
        CREATE INDEX run_live_by_wake_at ON run_live (user_id, wake_at) WHERE owner = '' AND wake_at IS NOT NULL;
        CREATE INDEX run_live_nudged ON run_live (user_id, owner) WHERE nudged = 1;
        """

# By the id of its last step, an owner that does not know whether the server has committed it learns that it has.
_STEPS = "ALTER TABLE run ADD step TEXT NOT NULL DEFAULT ''"

# Where the last owner of a run had the files of its session. In the indexes too, so that a look reads nothing else.
_PLACES = """
        ALTER TABLE run ADD place TEXT NOT NULL DEFAULT '';
        ALTER TABLE run_live ADD place TEXT NOT NULL DEFAULT '';
        DROP INDEX run_live_by_owner;
        DROP INDEX run_live_by_wake_at;
        DROP INDEX run_live_nudged;
        CREATE INDEX run_live_by_owner ON run_live (user_id, owner, place) WHERE owner <> '';
        CREATE INDEX run_live_by_wake_at ON run_live (user_id, wake_at, owner, place)
          WHERE owner = '' AND wake_at IS NOT NULL;
        CREATE INDEX run_live_nudged ON run_live (user_id, owner, place) WHERE nudged = 1;
        """

# A save changes no column that is indexed, so that on a server the new version of a row stays in its page: what looks
# need is in `run_live`, written in the same unit when it changes.
RUN_MIGRATIONS = MigrationSet(
    "runs",
    sqlite=(
        f"""
        CREATE TABLE run (
          no INTEGER PRIMARY KEY AUTOINCREMENT,
          {_run_columns("INTEGER", "TEXT", f"({SQLITE_NOW})", "REAL")},
          UNIQUE (user_id, no)
        );
        {_other_tables("INTEGER", "TEXT", end=" WITHOUT ROWID")}
        """,
        _ENDS.format(number="INTEGER"),
        _LOOKS,
        _STEPS,
        _PLACES,
    ),
    postgresql=(
        f"""
        CREATE TABLE run (
          no BIGINT GENERATED BY DEFAULT AS IDENTITY,
          {_run_columns("BIGINT", "TIMESTAMPTZ", POSTGRESQL_NOW, "DOUBLE PRECISION")},
          PRIMARY KEY (user_id, no)
        ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
        {_other_tables("BIGINT", "TIMESTAMPTZ", unlogged="UNLOGGED")}
        ALTER TABLE run_live SET (autovacuum_vacuum_scale_factor = 0.02);
        ALTER TABLE run_delta SET (
          autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 50000, autovacuum_vacuum_cost_delay = 0
        );
        {private_rows("run", "run_delta")}
        {_FLUSH_DELTAS}
        """,
        _ENDS.format(number="BIGINT"),
        _LOOKS + private_rows("run_live"),
        _STEPS,
        _PLACES,
    ),
)
