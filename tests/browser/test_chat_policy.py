"""The chat runs under its policies, and what goes wrong in any of its frames is noticed."""

from __future__ import annotations

from playwright.async_api import Frame, expect

from tests.browser.chat import ChatTab, ask

SCRIPTED_IMAGE = "document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/x.png' }))"


async def test_trusted_types_are_required(tab: ChatTab) -> None:
    response = await tab.page.reload()
    assert response is not None
    policy = response.headers["content-security-policy"]

    assert "require-trusted-types-for 'script'" in policy
    assert "'unsafe-inline'" not in policy
    assert "'unsafe-eval'" not in policy


async def test_a_violation_in_the_chat_the_proxy_or_a_page_is_noticed(tab: ChatTab) -> None:
    await tab.start_session(ask("prompt_user", prompt="Which tea?", type="text"))
    await expect(tab.view("Question").get_by_role("textbox")).to_be_visible()
    tab.recorder.check()

    [proxy] = tab.page.main_frame.child_frames
    [inner] = proxy.child_frames
    await _provoke(tab, tab.page.main_frame, "document.body.innerHTML = '<b>raw</b>'", "require-trusted-types-for")
    for frame in (proxy, inner):
        await _provoke(tab, frame, SCRIPTED_IMAGE, "img-src")


async def test_an_error_of_a_script_is_noticed(tab: ChatTab) -> None:
    await tab.page.evaluate("setTimeout(() => { throw new Error('on purpose') })")

    await tab.recorder.heard("script: on purpose")


async def _provoke(tab: ChatTab, frame: Frame, code: str, directive: str) -> None:
    """Break the policy of a frame, and wait until the recorder has heard of it, from its event and the console."""
    await frame.evaluate(f"() => {{ try {{ {code} }} catch {{}} }}")
    await tab.recorder.heard(f"policy: {directive}", "console: ")
