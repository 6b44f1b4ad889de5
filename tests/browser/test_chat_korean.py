"""The chat in Korean: its own words, and syllables that are composed by the keyboard."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import CDPSession, Error, expect

from tests.browser.chat import ChatServer, ChatTab, ask, script, serve_chat, texts_of

QUESTION = {"prompt": "어떤 차를 드릴까요?", "type": "select", "options": ["녹차", "우롱차"]}
PLAYBOOK = {"goal": "차 끓이기", "initialCommand": "물을 올려 줘", "workflow": []}
CHART = {"type": "bar", "title": "마신 차", "data": [{"label": "월", "value": 3}, {"label": "화", "value": 5}]}
SCRIPT = script(
    {"when": "^차 한 잔", "steps": [{"say": "좋아요."}, {"call": "prompt_user", "arguments": QUESTION}]},
    {"when": "우롱차", "steps": [{"call": "keyword_similarity_search", "arguments": {"query": "차"}}]},
    {"when": r"^\[keyword_similarity_search\]", "steps": [{"call": "create_playbook", "arguments": PLAYBOOK}]},
    {"when": r"^\[create_playbook\]", "steps": [{"call": "visualize_data", "arguments": CHART}]},
    {"when": r"^\[visualize_data\]", "steps": [{"say": "다 되었습니다."}]},
)
ENGLISH = re.compile(r"[A-Za-z][a-z']+(?:[,.;:]? +[A-Za-z][a-z']+)+")
"""Two words that follow each other; names of tools, keys and units stand alone."""
NOT_OURS = ("scripted model",)


@pytest.fixture(scope="module")
async def chat_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ChatServer]:
    async with serve_chat(tmp_path_factory.mktemp("chat"), SCRIPT, locale="ko") as server:
        yield server


VISIBLE_WORDS = """() => [document.title, document.body.innerText, ...[...document.querySelectorAll('body *')]
    .filter((one) => one.checkVisibility())
    .flatMap((one) => ['aria-label', 'title', 'placeholder', 'alt'].map((it) => one.getAttribute(it)))]
    .filter(Boolean).join('\\n')"""


async def visible_words(tab: ChatTab) -> str:
    """Return all that the person sees and a screen reader says, in the chat and in its pages."""
    texts = []
    for frame in tab.page.frames:
        try:
            texts.append(await frame.evaluate(VISIBLE_WORDS))
        except Error:
            # A page that was left is taken down a moment later.
            if not frame.is_detached():
                raise
    return "\n".join(texts)


async def expect_no_english(tab: ChatTab) -> None:
    found = [words for words in ENGLISH.findall(await visible_words(tab)) if not words.startswith(NOT_OURS)]
    assert not found, found


async def test_language_is_chosen_per_session_and_a_korean_flow_shows_no_english_sentence(
    tab: ChatTab,
) -> None:
    await expect_no_english(tab)
    await tab.start_session("차 한 잔 주세요", locale="ko")
    question = tab.view("질문")
    await expect(question.get_by_role("radio", name="우롱차")).to_be_visible()
    await expect_no_english(tab)
    await tab.go("inbox")
    await expect(tab.page.get_by_role("heading", name="받은 질문")).to_be_visible()
    await expect_no_english(tab)
    await tab.page.go_back()
    await question.get_by_role("radio", name="우롱차").check()
    await question.get_by_role("button", name="보내기").click()
    await expect(tab.gate).to_be_visible()
    await expect_no_english(tab)
    await tab.gate.get_by_role("button", name="한 번 허용").click()
    await tab.expect_said(re.compile("다 되었습니다"))
    await expect(tab.view("차트").get_by_role("img", name="마신 차")).to_be_visible()
    await expect_no_english(tab)
    for screen in ("sessions", "manual", "manual/add_todo", "settings"):
        await tab.go(screen)
        await expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
        await expect(tab.page.get_by_role("main")).not_to_have_text("")


async def test_each_session_speaks_its_own_language(tab: ChatTab) -> None:
    korean = await tab.start_session("차 한 잔 주세요", locale="ko")
    await expect(tab.view("질문").get_by_role("button", name="보내기")).to_be_visible()
    await tab.start_session(ask("prompt_user", prompt="Which tea?", type="text"), locale="en")
    await expect(tab.page.locator("html")).to_have_attribute("lang", "en")
    await expect(tab.view("Question").get_by_role("button", name="Send")).to_be_visible()
    await tab.open(korean)

    await expect(tab.page.locator("html")).to_have_attribute("lang", "ko")
    await expect(tab.view("질문").get_by_role("button", name="보내기")).to_be_visible()


def test_an_english_sentence_in_a_korean_flow_would_be_found() -> None:
    assert ENGLISH.findall("기다림 Your turn, please. add_todo ⌘K")
    assert not ENGLISH.findall("기다림 add_todo\nJSON으로 · 127.0.0.1")


# Composition


class Keyboard:
    """A Korean keyboard: the browser is told of syllables as an input method tells it."""

    def __init__(self, session: CDPSession) -> None:
        self._session = session

    async def compose(self, text: str) -> None:
        """Show syllables that are not finished yet."""
        where = {"selectionStart": len(text), "selectionEnd": len(text)}
        await self._session.send("Input.imeSetComposition", {"text": text, **where})

    async def commit(self, text: str) -> None:
        await self._session.send("Input.insertText", {"text": text})

    async def enter(self) -> None:
        """Press Enter while a syllable is composed: its key is 229, as the input method has taken it."""
        key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 229, "nativeVirtualKeyCode": 229}
        await self._session.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **key})
        await self._session.send("Input.dispatchKeyEvent", {"type": "keyUp", **key})


@pytest.fixture
async def keyboard(tab: ChatTab) -> Keyboard:
    return Keyboard(await tab.page.context.new_cdp_session(tab.page))


async def test_enter_during_composition_sends_nothing_and_the_sent_text_is_exact(
    tab: ChatTab, keyboard: Keyboard
) -> None:
    session = await tab.start_session()
    await tab.composer.focus()
    for syllable in ("ㅎ", "하", "한"):
        await keyboard.compose(syllable)
    await expect(tab.composer).to_have_value("한")
    await keyboard.enter()
    await expect(tab.composer).to_have_value("한")
    await keyboard.commit("한")
    for syllable in ("ㄱ", "그", "글"):
        await keyboard.compose(syllable)
    await keyboard.enter()
    await keyboard.commit("글")
    await expect(tab.composer).to_have_value("한글")
    assert await tab.server.messages(session) == []
    await tab.composer.press("Enter")

    await tab.expect_said(re.compile("I read: 한글$"))
    assert texts_of(await tab.server.messages(session), "user") == ["한글"]
    await expect(tab.composer).to_have_value("")


async def test_a_syllable_that_is_composed_survives_what_the_chat_draws_meanwhile(
    tab: ChatTab, keyboard: Keyboard
) -> None:
    session = await tab.start_session()
    await tab.composer.focus()
    await keyboard.compose("차")
    await tab.server.write(session, "안녕하세요")
    await tab.expect_said(re.compile("I read: 안녕하세요"))
    await keyboard.compose("찬")
    await keyboard.commit("찬")
    await keyboard.commit("물")

    await expect(tab.composer).to_have_value("찬물")
    await expect(tab.composer).to_be_focused()


async def test_enter_during_composition_picks_nothing_in_the_palette(tab: ChatTab, keyboard: Keyboard) -> None:
    await tab.start_session()
    await tab.page.keyboard.press("Control+k")
    field = tab.page.get_by_role("dialog").get_by_role("combobox")
    await expect(field).to_be_focused()
    await keyboard.compose("할")
    await keyboard.enter()
    await expect(field).to_be_visible()
    await keyboard.commit("할 일")

    await expect(tab.page.get_by_role("option", name=re.compile("add_todo"))).to_be_visible()
