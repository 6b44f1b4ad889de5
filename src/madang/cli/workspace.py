"""`madang workspace`: which folders' AGENTS.md runs follow; and the question whether they may."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from madang.app import Madang
from madang.cli.terminal import confirm, show, show_note, show_table
from madang.core.calls import Call
from madang.core.errors import RequestError
from madang.core.phrases import Phrase, say
from madang.files.folders.agents_file import (
    AGENTS_FILE,
    MAX_AGENTS_BYTES,
    AgentsFile,
    FolderTrust,
    TrustedFile,
    read_agents_file,
)
from madang.rendering.catalogue import translator
from madang.settings import Settings, workspace_folder

SHOWN_LINES = 12
MAX_LINE_CHARS = 160


def run(options: argparse.Namespace, settings: Settings) -> int:
    """Do what the options say."""
    trust = FolderTrust(settings.trust_dir)
    if options.action == "list":
        _list(trust, settings)
    elif options.action == "trust":
        _trust(trust, settings, workspace_folder(options.folder, settings.data_dir))
    else:
        _distrust(trust, settings, workspace_folder(options.folder, settings.data_dir))
    return 0


def _trust(trust: FolderTrust, settings: Settings, folder: Path) -> None:
    file = read_agents_file(folder)
    if file is None:
        raise RequestError(say("There is no AGENTS.md in {folder}.", folder=str(folder)))
    if (problem := _problem(file)) is not None:
        raise RequestError(problem)
    trust.keep_answer(settings.user, file, is_trusted=True)
    size = len(file.data)
    done = say("Runs in {folder} follow its AGENTS.md as it is now ({size} bytes).", folder=str(folder), size=size)
    show(done.render(translator(settings.locale)))


def _distrust(trust: FolderTrust, settings: Settings, folder: Path) -> None:
    file = read_agents_file(folder)
    if file is None:
        trust.forget(settings.user, folder)
    else:
        trust.keep_answer(settings.user, file, is_trusted=False)
    done = say("Runs in {folder} do not follow its AGENTS.md.", folder=str(folder))
    show(done.render(translator(settings.locale)))


def _list(trust: FolderTrust, settings: Settings) -> None:
    words = translator(settings.locale)
    answers = trust.list_answers(settings.user)
    if not answers:
        show(say("Nothing was said to the AGENTS.md of any folder.").render(words))
        return
    rows = [(answer.folder, _state(answer).render(words)) for answer in answers]
    show_table([say("FOLDER").render(words), AGENTS_FILE], rows)


def _state(answer: TrustedFile) -> Phrase:
    file = read_agents_file(Path(answer.folder))
    if file is None:
        return say("is not there")
    if file.sha256 != answer.sha256:
        return say("has changed, and is not followed")
    return say("is followed") if answer.is_trusted else say("is not followed")


async def offer_agents_file(madang: Madang, call: Call, *, may_ask: bool) -> None:
    """Ask the person once whether runs follow the AGENTS.md of the session's folder; without a terminal, tell them."""
    file = await madang.executor.reads.run(call, _unanswered, madang, call)
    if file is None:
        return
    words = translator(madang.settings.locale)
    folder = str(file.folder)
    if (problem := _problem(file)) is not None:
        show_note(problem.render(words))
        return
    is_new = madang.folder_trust.find_answer(call.user_id, file) is None
    if may_ask and is_new and os.isatty(0) and os.isatty(1):
        show(say("{folder} has an AGENTS.md ({size} bytes):", folder=folder, size=len(file.data)).render(words))
        show(_first_lines(file))
        is_trusted = confirm(say("May it instruct the agent, as it is now?").render(words))
        madang.folder_trust.keep_answer(call.user_id, file, is_trusted=is_trusted)
        if is_trusted:
            return
    note = say("AGENTS.md in {folder} is not followed; to agree to it: madang workspace trust {folder}", folder=folder)
    show_note(note.render(words))


def _unanswered(madang: Madang, call: Call) -> AgentsFile | None:
    """Return the file of the session's folder unless the person has agreed to it."""
    folder = madang.folders.personal(call)
    file = read_agents_file(folder) if folder is not None else None
    if file is None or madang.folder_trust.find_answer(call.user_id, file):
        return None
    return file


def _first_lines(file: AgentsFile) -> str:
    lines = file.text.splitlines()
    shown = [f"  | {line[:MAX_LINE_CHARS]}{'…' if len(line) > MAX_LINE_CHARS else ''}" for line in lines[:SHOWN_LINES]]
    return "\n".join([*shown, *(["  | …"] if len(lines) > SHOWN_LINES else [])])


def _problem(file: AgentsFile) -> Phrase | None:
    if file.is_too_large:
        return say(
            "AGENTS.md in {folder} is not followed: it is larger than {max} KB.",
            folder=str(file.folder),
            max=MAX_AGENTS_BYTES // 1024,
        )
    if not file.text:
        return say("AGENTS.md in {folder} is not followed: it has no text in UTF-8.", folder=str(file.folder))
    return None
