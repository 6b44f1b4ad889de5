"""Finding our own tools by what is to be done, in English and Korean."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from madang.agent.offers import MAX_SCHEMAS, offered_tools
from madang.agent.tool_index import ToolIndex, ToolWords
from madang.agent.tool_search import ToolSearch
from madang.agent.tool_words import ENGLISH_WORDS, KOREAN_WORDS
from madang.core.tools import Tool
from madang.records.analysis.analysis import Analysis
from tests.agent.bench import ME, bench

JUDGED = {
    "en": {
        "Rename draft.md to final.md": "move_file",
        "make a new text file": "write_file",
        "open the file and show me what is in it": "read_file",
        "replace a word in a file": "edit_file",
        "which files are there in this folder": "list_directory",
        "find all markdown files": "search_files",
        "which lines mention a word": "grep",
        "get rid of a file": "delete_file",
        "let the person download several files at once": "export_zip",
        "draw a bar chart of the sales": "visualize_data",
        "ask the person which colour they want": "prompt_user",
        "wait until the person is ready": "wait_for_user",
        "tick off a task": "mark_todo",
        "put a task on the plan": "add_todo",
        "find a passage about annual leave in the documents": "keyword_similarity_search",
        "read the document that was attached": "read_content",
        "which workflows are there": "list_playbooks",
        "add a step to a playbook": "update_playbook",
        "save what we did so that it can be repeated": "save_as_playbook",
        "what did I say about the budget last week": "search_messages",
    },
    "ko": {
        "draft.md 파일 이름을 final.md로 바꿔 줘": "move_file",
        "새 텍스트 파일을 하나 만들어 줘": "write_file",
        "파일을 열어서 내용을 보여 줘": "read_file",
        "파일에서 단어를 다른 단어로 바꾸기": "edit_file",
        "이 폴더에 어떤 파일이 있는지 알려 줘": "list_directory",
        "이름이 보고서인 파일 찾기": "search_files",
        "파일 안에서 특정 문자열이 나오는 줄 찾기": "grep",
        "필요 없는 파일을 지우기": "delete_file",
        "여러 파일을 압축해서 내려받게 해 줘": "export_zip",
        "매출을 막대그래프로 그리기": "visualize_data",
        "사용자에게 어떤 색이 좋은지 물어보기": "prompt_user",
        "사용자가 준비될 때까지 기다리기": "wait_for_user",
        "끝난 할 일을 완료로 표시": "mark_todo",
        "할 일을 계획에 추가해 줘": "add_todo",
        "할일 목록에서 항목 삭제": "clear_todos",
        "목표를 새로 정하기": "create_goal",
        "문서에서 연차 휴가에 관한 구절 찾기": "keyword_similarity_search",
        "첨부한 문서를 읽어 줘": "read_content",
        "이 내용을 자료로 저장해 줘": "add_content",
        "어떤 플레이북이 있는지 보여 줘": "list_playbooks",
        "플레이북에 단계 하나 추가": "update_playbook",
        "방금 한 작업을 나중에 반복할 수 있게 저장": "save_as_playbook",
        "지난주에 예산에 대해 이야기한 것 찾기": "search_messages",
        "관찰한 사실을 메모로 남기기": "add_observation",
    },
}
MIN_FOUND = 0.95


@asynccontextmanager
async def _searching(folder: Path) -> AsyncIterator[tuple[ToolSearch, list[Tool]]]:
    async with bench(folder) as b:
        analysis = Analysis(b.madang.executor)
        tools = await offered_tools(b.madang.provider, replace(ME, actor="model"))
        try:
            yield ToolSearch(analysis), tools
        finally:
            await analysis.close()


async def test_the_right_tool_is_among_the_first_five_in_both_languages(tmp_path: Path) -> None:
    async with _searching(tmp_path) as (search, tools):
        for language, judged in JUDGED.items():
            missed = {}
            for query, name in judged.items():
                found = [tool.name for tool in await search.search(ME, tools, query)]
                if name not in found[:MAX_SCHEMAS]:
                    missed[query] = found[:MAX_SCHEMAS]
            assert len(missed) <= (1 - MIN_FOUND) * len(judged), json.dumps({language: missed}, ensure_ascii=False)


async def test_a_name_or_what_another_program_calls_it_comes_first(tmp_path: Path) -> None:
    async with _searching(tmp_path) as (search, tools):
        for query, name in {
            "export_zip": "export_zip",
            "the schema of read_content please": "read_content",
            "rename_file": "move_file",
            "ls": "list_directory",
            "grep": "grep",
        }.items():
            assert (await search.search(ME, tools, query))[0].name == name


async def test_words_that_no_tool_has_find_nothing(tmp_path: Path) -> None:
    async with _searching(tmp_path) as (search, tools):
        assert await search.search(ME, tools, "zzyzx qwxyz") == []
        assert await search.search(ME, tools, "!?") == []


async def test_every_tool_of_runs_has_korean_words_and_no_other(tmp_path: Path) -> None:
    async with _searching(tmp_path) as (_, tools):
        assert {tool.name for tool in tools} == set(KOREAN_WORDS)
        assert set(ENGLISH_WORDS) < set(KOREAN_WORDS)


def test_a_name_that_is_said_whole_counts_more_than_a_word_that_is_often_there() -> None:
    index = ToolIndex(
        [
            ToolWords(["list", "file"], ["file", "file", "file", "folder"], []),
            ToolWords(["move", "file"], ["rename"], ["source"]),
            ToolWords(["add", "todo"], ["plan"], []),
        ]
    )

    assert index.rank({"move": 1.0, "file": 1.0}) == [1, 0]
    assert index.rank({"source": 1.0}) == [1]
    assert index.rank({}) == []
