"""The texts of statements for a database server: its parameters, whose unit of work it is, how long it waits."""

from __future__ import annotations

import re
from functools import lru_cache

from madang.core.ids import UserId

# Zero would be no limit at all.
MIN_LOCK_WAIT_S = 0.05


def begin_write(isolation: str, user_id: UserId | None, wait_s: float, lock: str = "") -> str:
    """Return the beginning of a unit that waits at most `wait_s` for each lock; `lock` is one to take at once."""
    wait_ms = int(1000 * max(wait_s, MIN_LOCK_WAIT_S))
    first = ", ".join(filter(None, [set_user(user_id), lock]))
    return f"BEGIN ISOLATION LEVEL {isolation}; SET LOCAL lock_timeout = {wait_ms}; SELECT {first}"


@lru_cache(maxsize=1024)
def numbered(sql: str) -> str:
    """Return `sql` with the server's way of writing parameters: `$1` for `?1`."""
    return re.sub(r"\?(\d+)", r"$\1", sql)


@lru_cache(maxsize=1024)
def as_user(sql: str, number: int) -> str:
    """Return a `SELECT` that sets the user, which is parameter `number`, and then runs `sql`; both end with it.

    The user must be set before a policy asks for it. A lateral query is run for each row of what it refers to, here for
    the one row that setting the user gives, and OFFSET keeps the planner from taking it apart. Were that ever to
    change, the policies would find no user and show nothing.
    """
    return (
        f"SELECT result.* FROM (SELECT set_config('madang.user_id', ${number}, true) AS user_id) AS me, "
        f"LATERAL (SELECT * FROM ({numbered(sql)}) AS asked WHERE me.user_id IS NOT NULL OFFSET 0) AS result"
    )


def set_user(user_id: UserId | None) -> str:
    return f"set_config('madang.user_id', {_text(user_id or '')}, true)"


def _text(value: str) -> str:
    """Return `value` as SQL. Names come from outside; as hexadecimal digits they cannot end the string they are in."""
    return f"convert_from('\\x{value.encode().hex()}', 'UTF8')"
