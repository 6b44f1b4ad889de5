"""How often a process looks for runs that can go on."""

from __future__ import annotations

import pytest

from madang.agent.pace import GATHER_S, Pace


def test_the_first_looks_after_a_quiet_while_follow_each_other_at_once() -> None:
    pace = Pace(0.5, 3)

    assert [pace.rest_s(100.0) for _ in range(3)] == [GATHER_S] * 3
    assert pace.rest_s(100.0) == pytest.approx(0.5)
    assert [pace.rest_s(200.0) for _ in range(3)] == [GATHER_S] * 3


def test_a_flood_of_notices_is_looked_at_no_oftener_than_one_look_at_a_time_would_be() -> None:
    pace, now, looks = Pace(0.5, 3), 100.0, 0
    while now < 160.0:
        now += pace.rest_s(now)
        looks += 1

    assert looks == pytest.approx(60 / 0.5 + 3, abs=1)


def test_after_a_flood_each_quiet_moment_earns_one_look() -> None:
    pace = Pace(0.5, 3)
    for _ in range(4):
        now = 100.0 + pace.rest_s(100.0)

    now += pace.rest_s(now)

    assert [pace.rest_s(now + 0.5), pace.rest_s(now + 0.5)] == [GATHER_S, pytest.approx(0.5)]
