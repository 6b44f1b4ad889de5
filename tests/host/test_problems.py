"""The log and the report of a problem tell what is wrong, and nothing of what the person has or is."""

from __future__ import annotations

import getpass
import logging
import socket
from dataclasses import replace
from pathlib import Path

from madang.core.errors import NotFound
from madang.core.ids import AssistantId, SessionId
from madang.core.phrases import say
from madang.host.recent_log import inert_lines
from madang.llm.errors import QuotaExceeded
from madang.llm.messages import Part, TextPart
from tests.agent.bench import Script, tool_call
from tests.host.hosting import BROWSER_TOKEN, CLIENT_TOKEN, Tab, hosting
from tests.host.test_reload import Failing
from tests.host.test_sessions import over
from tests.host.test_views import call_tool, upload

CANARY = "카나리아-canary"


async def told(tab: Tab) -> tuple[str, str]:
    log = "\n".join((await tab.get("/api/log"))["lines"])
    return log, (await tab.get("/api/report"))["text"]


def check(*texts: str, folder: Path) -> None:
    for text in texts:
        for secret in (
            CANARY,
            "canary",
            "카나리아",
            str(folder),
            BROWSER_TOKEN,
            CLIENT_TOKEN,
            str(Path.home()),
            "127.0",
        ):
            assert secret not in text, secret
        words = text.replace("/", " ").split()
        assert getpass.getuser() not in words
        assert socket.gethostname() not in words


async def fill(tab: Tab) -> None:
    """Put the canary wherever the person, a model or a program can put something."""
    session = await tab.new_session(title=CANARY)
    madang = tab.host.agent.madang
    odd = replace(madang.call("python"), session_id=SessionId(CANARY), assistant_id=AssistantId(CANARY))
    for call in (odd, replace(odd, session_id=SessionId(session))):
        for tool, arguments in (
            ("add_todo", {"name": CANARY}),
            ("create_playbook", {"goal": CANARY, "workflow": []}),
            ("write_file", {"path": f"{CANARY}.txt", "content": CANARY}),
            ("read_file", {"path": f"{CANARY}-not-there"}),
            ("get_playbook", {"id": CANARY}),
            ("prompt_user", {"prompt": CANARY, "type": "text"}),
        ):
            await madang.provider.execute_tool(call, tool, arguments)
    await upload(tab, session, f"{CANARY}.txt", CANARY.encode())
    await tab.http.post(f"/api/sessions/{session}/tools/{CANARY}", json={})
    view = (await call_tool(tab, session, "show_playbooks"))["view"]
    if view:
        await tab.http.post(f"/api/views/{view['id']}/tools", json={"name": CANARY, "arguments": {CANARY: CANARY}})
    await tab.write(session, CANARY)
    await over(tab, session)


def log_everything() -> None:
    ours, foreign = logging.getLogger("madang.somewhere"), logging.getLogger("httpx")
    ours.warning("It is %s: %s, %d times (%s)", CANARY, NotFound(say("No {x}", x=CANARY)), 3, ValueError(CANARY))
    ours.warning("Reference %s", CANARY)
    foreign.warning(f"GET http://{CANARY}/")
    foreign.warning("GET %s", CANARY)
    logging.getLogger(f"madangish.{CANARY}").error("x")
    logging.getLogger(f"other.{CANARY}").error(CANARY)
    try:
        raise RuntimeError(CANARY)
    except RuntimeError:
        ours.exception("Internal error %s in %s", "0123abcd", f"/{CANARY}")


async def test_t43_neither_holds_content_whatever_happened(tmp_path: Path) -> None:
    folder = tmp_path / CANARY
    answers: list[list[Part]] = [
        [TextPart(CANARY), tool_call("add_todo", name=CANARY), tool_call(CANARY, CANARY, x=CANARY)],
        [TextPart(CANARY)],
    ]
    async with hosting(folder, *answers) as tab:
        await fill(tab)
        log_everything()
        log, report = await told(tab)
        check(log, report, folder=folder)
        # And they tell something.
        assert "madang.somewhere: It is …: not_found, 3 times (ValueError)" in log
        assert "Internal error 0123abcd in …" in log
        assert "builtins.RuntimeError" in log
        assert log in report
        assert "planning ready" in report
        assert "read_file not_found 2" in report
        assert "(another tool)" in report


async def test_codes_of_runs_that_failed_are_told(tmp_path: Path) -> None:
    folder = tmp_path / CANARY
    script: Script = Failing(QuotaExceeded(say("No money for {name}", name=CANARY)))
    async with hosting(folder, script=script) as tab:
        await fill(tab)
        log, report = await told(tab)
        check(log, report, folder=folder)
        assert "quota_exceeded 1" in report
        assert "runs failed 1" in report


async def test_the_log_is_bounded_and_needs_the_token(tmp_path: Path) -> None:
    async with hosting(tmp_path) as tab:
        for number in range(700):
            logging.getLogger("madang.somewhere").warning("Line %d", number)
        lines = (await tab.get("/api/log?lines=500"))["lines"]
        assert (len(lines), lines[-1].rpartition(" ")[2]) == (500, "699")
        assert len((await tab.get("/api/log?lines=3"))["lines"]) == 3
        assert (await tab.http.get("/api/log?lines=501")).status_code == 400
        for path in ("/api/log", "/api/report"):
            assert (await tab.http.get(path, headers={"authorization": ""})).status_code == 401


def test_places_in_our_own_files_are_told_and_no_others() -> None:
    try:
        say("{x}", y=1).render(lambda text: [][1])
    except Exception as error:
        record = logging.LogRecord(
            "madang", logging.ERROR, "", 1, "Oh", None, (type(error), error, error.__traceback__)
        )
        lines = inert_lines(record)
        assert any(line.strip().startswith("madang/core/phrases.py:") for line in lines), lines
        assert not any("tests" in line for line in lines)
