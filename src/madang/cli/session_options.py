"""The words of `madang sessions`: its actions and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from madang.core.phrases import Phrase, say

AddAction = Callable[[str, Phrase], argparse.ArgumentParser]
Render = Callable[[Phrase], str]
AddOption = Callable[[argparse.ArgumentParser], None]


def add_session_actions(add: AddAction, render: Render, add_trust: AddOption) -> None:
    """Add the actions of `madang sessions`. `render` gives a help text in the person's language."""
    as_json = render(say("print JSON"))
    listed = add("list", say("list the sessions, newest first"))
    listed.add_argument("--archived", action="store_true", help=render(say("those that were archived")))
    show = add("show", say("show the messages of a session, with their ids"))
    rename = add("rename", say("give a session a title; an empty one takes it away"))
    archive = add("archive", say("take a session out of the list, without deleting anything"))
    unarchive = add("unarchive", say("take an archived session back into the list"))
    delete = add("delete", say("delete a session with everything in it"))
    copy = add("copy", say("copy a session to a new one"))
    fork = add("fork", say("branch off a new session from a message"))
    export = add("export", say("write a session to a ZIP file"))
    for action in (show, rename, archive, unarchive, delete, copy, fork, export):
        action.add_argument("name", metavar="NAME", help=render(say("the session")))
    rename.add_argument("title", metavar="TITLE")
    delete.add_argument("--yes", action="store_true", help=render(say("do not ask")))
    copy.add_argument("target", metavar="NEW", help=render(say("the name of the copy")))
    fork.add_argument("target", metavar="NEW", help=render(say("the name of the branch")))
    for action in (copy, fork):
        action.add_argument("--title", metavar="TITLE", help=render(say("its title (default: that of the session)")))
    place = fork.add_mutually_exclusive_group(required=True)
    place.add_argument("--after", metavar="ID", help=render(say("the last message that it has")))
    place.add_argument("--before", metavar="ID", help=render(say("a message of yours that you will write anew")))
    export.add_argument("file", metavar="FILE")
    search = add("search", say("find messages and results of tools by their words, newest first"))
    search.add_argument("query", metavar="QUERY")
    search.add_argument("--in", dest="name", metavar="NAME", help=render(say("only in this session")))
    usage = add("usage", say("show what models took, by day, session and model"))
    usage.add_argument("name", nargs="?", metavar="NAME", help=render(say("only in this session")))
    usage.add_argument("--days", type=int, default=30, metavar="N", help=render(say("of so many days (default: 30)")))
    for action in (listed, show, search, usage):
        action.add_argument("--json", action="store_true", help=as_json)
    imports = add("import", say("make a new session of such a file; --session names it (default: a new name)"))
    imports.add_argument("file", metavar="FILE")
    add_trust(imports)
