"""What the model is told of playbooks each turn, and in one sentence of another service's text."""

from __future__ import annotations

from inline_snapshot import snapshot

from madang.core.ids import SessionId
from madang.core.service import ServiceContext
from madang.services.playbook.context import PlaybookState
from tests.asking import Asker


async def context(asker: Asker) -> ServiceContext:
    return (await asker.provider.service_contexts(asker.call))["playbook"]


async def test_no_playbooks_say_nothing(asker: Asker) -> None:
    assert await context(asker) == ServiceContext("", PlaybookState(total=0, playbooks=[], runs=[]))


async def test_what_was_selected_in_this_session_is_summed_up_as_long_as_it_can_be_read(asker: Asker) -> None:
    id = (await asker.done("create_playbook", goal="Ship it", workflow=[])).data["playbook"]["id"]
    before = await context(asker)
    await asker.done("select_playbook", id=id)
    selected = await context(asker)
    elsewhere = await context(asker.with_call(session_id=SessionId("other")))
    await asker.done("create_playbook", goal="Another", workflow=[])
    await asker.done("delete_playbook", id=id)
    deleted = await context(asker)

    assert str(selected.summary) == f"Last selected playbook: \"Ship it\" ('get_playbook' with id {id})."
    assert (before.summary, elsewhere.summary, deleted.summary) == (None, None, None)


async def test_over_mcp_the_state_of_the_plan_ends_with_it(asker: Asker) -> None:
    id = (await asker.done("create_playbook", goal="Ship it", workflow=[])).data["playbook"]["id"]
    await asker.done("select_playbook", id=id)

    texts = [
        (await asker.with_call(door="mcp-stdio", locale=locale).done("get_current_state")).text.replace(id, "ID")
        for locale in ("en", "ko")
    ]

    assert [text.rpartition("\n\n")[2] for text in texts] == snapshot(
        [
            """\
Next Actions: Create a goal to get started ('create_goal')
Last selected playbook: "Ship it" ('get_playbook' with id ID).\
""",
            """\
다음 행동: 목표를 만들어 시작하세요 ('create_goal')
마지막으로 선택한 플레이북: "Ship it" ('get_playbook', id ID).\
""",
        ]
    )
