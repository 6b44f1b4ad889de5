"""The tables of the ui service. Whether a row is open, and how it ended, its pause says."""

from __future__ import annotations

from madang.database.port import MigrationSet, private_rows

_TABLES = """
CREATE TABLE prompt (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL, session_id TEXT NOT NULL,
  type TEXT NOT NULL, prompt TEXT NOT NULL, options TEXT NOT NULL, placeholder TEXT NOT NULL,
  status TEXT NOT NULL, answer TEXT NOT NULL,
  created_at TEXT NOT NULL, expires_at TEXT NOT NULL, settled_at TEXT NOT NULL
);
CREATE INDEX prompt_by_session ON prompt (user_id, session_id, status, id);
CREATE TABLE wait (
  id TEXT PRIMARY KEY, user_id TEXT NOT NULL, session_id TEXT NOT NULL,
  message TEXT NOT NULL, resume_instruction TEXT NOT NULL, created_at TEXT NOT NULL, resumed_at TEXT NOT NULL
);
"""

_BY_AGE = """
CREATE INDEX prompt_by_age ON prompt (user_id, settled_at, expires_at);
CREATE INDEX wait_by_age ON wait (user_id, resumed_at);
"""

# A pause for each row that is there. Who asked is not known, nor for which assistant.
_PAUSES_OF_ROWS = """
INSERT INTO pause (user_id, id, session_id, assistant_id, kind, service, tool, title, asker, run_id, call_id,
  operation_id, opened_at, expires_at, status, settled_at, settled_by, settled_with, awaited)
SELECT user_id, id, session_id, '', 'prompt', 'ui', 'prompt_user', {prompt_title}, '', '', '', '',
  {created_at}, {expires_at}, CASE status WHEN 'pending' THEN 'open' ELSE status END, {settled_at}, '', '{{}}', 0
FROM prompt;
INSERT INTO pause (user_id, id, session_id, assistant_id, kind, service, tool, title, asker, run_id, call_id,
  operation_id, opened_at, expires_at, status, settled_at, settled_by, settled_with, awaited)
SELECT user_id, id, session_id, '', 'wait', 'ui', 'wait_for_user', {wait_title}, '', '', '', '',
  {created_at}, {wait_expires_at}, CASE resumed_at WHEN '' THEN 'open' ELSE 'answered' END, {resumed_at}, '', '{{}}', 0
FROM wait;
"""

_SQLITE_ROWS = """
CREATE TABLE prompt_new (
  user_id TEXT NOT NULL, id TEXT NOT NULL,
  type TEXT NOT NULL, prompt TEXT NOT NULL, options TEXT NOT NULL, placeholder TEXT NOT NULL, answer TEXT NOT NULL,
  PRIMARY KEY (user_id, id),
  FOREIGN KEY (user_id, id) REFERENCES pause (user_id, id) ON DELETE CASCADE
);
INSERT INTO prompt_new SELECT user_id, id, type, prompt, options, placeholder, answer FROM prompt;
DROP TABLE prompt;
ALTER TABLE prompt_new RENAME TO prompt;
CREATE TABLE wait_new (
  user_id TEXT NOT NULL, id TEXT NOT NULL, message TEXT NOT NULL, resume_instruction TEXT NOT NULL,
  PRIMARY KEY (user_id, id),
  FOREIGN KEY (user_id, id) REFERENCES pause (user_id, id) ON DELETE CASCADE
);
INSERT INTO wait_new SELECT user_id, id, message, resume_instruction FROM wait;
DROP TABLE wait;
ALTER TABLE wait_new RENAME TO wait;
"""

_POSTGRESQL_ROWS = """
ALTER TABLE prompt
  DROP COLUMN session_id, DROP COLUMN status, DROP COLUMN created_at, DROP COLUMN expires_at, DROP COLUMN settled_at,
  DROP CONSTRAINT prompt_pkey, ADD PRIMARY KEY (user_id, id),
  ADD FOREIGN KEY (user_id, id) REFERENCES pause (user_id, id) ON DELETE CASCADE;
ALTER TABLE wait
  DROP COLUMN session_id, DROP COLUMN created_at, DROP COLUMN resumed_at,
  DROP CONSTRAINT wait_pkey, ADD PRIMARY KEY (user_id, id),
  ADD FOREIGN KEY (user_id, id) REFERENCES pause (user_id, id) ON DELETE CASCADE;
"""


def _force_policies(force: str) -> str:
    """Return the statements that let a migration see the rows of all users (NO FORCE), or no longer (FORCE)."""
    return "".join(f"ALTER TABLE {table} {force} ROW LEVEL SECURITY;\n" for table in ("prompt", "wait", "pause"))


MIGRATIONS = MigrationSet(
    "ui",
    sqlite=(
        _TABLES,
        _BY_AGE,
        _PAUSES_OF_ROWS.format(
            prompt_title="substr(replace(replace(prompt, char(13), ' '), char(10), ' '), 1, 200)",
            wait_title="substr(replace(replace(message, char(13), ' '), char(10), ' '), 1, 200)",
            created_at="created_at",
            expires_at="expires_at",
            settled_at="nullif(settled_at, '')",
            wait_expires_at="strftime('%Y-%m-%dT%H:%M:%fZ', created_at, '+30 days')",
            resumed_at="nullif(resumed_at, '')",
        )
        + _SQLITE_ROWS,
    ),
    postgresql=(
        _TABLES + private_rows("prompt", "wait"),
        _BY_AGE,
        _force_policies("NO FORCE")
        + _PAUSES_OF_ROWS.format(
            prompt_title="left(translate(prompt, E'\\r\\n', '  '), 200)",
            wait_title="left(translate(message, E'\\r\\n', '  '), 200)",
            created_at="created_at::timestamptz",
            expires_at="expires_at::timestamptz",
            settled_at="nullif(settled_at, '')::timestamptz",
            wait_expires_at="created_at::timestamptz + interval '720 hours'",
            resumed_at="nullif(resumed_at, '')::timestamptz",
        )
        + _POSTGRESQL_ROWS
        + _force_policies("FORCE"),
    ),
)
