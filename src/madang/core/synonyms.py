"""Words for the same thing in the names of tools, and what other programs call the tools that we have. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_GROUPS = """
create add make new insert write save set
delete remove erase drop clear cancel
find search look query lookup locate
get fetch retrieve read obtain open
list show display view
update change edit modify set replace
move rename reschedule
buy purchase order
book reserve
convert translate exchange transform
calculate compute determine
run execute launch
play listen
film movie
song track music
picture image photo
mail email
car vehicle
price cost fee
near nearby close
combine join concatenate merge
detail information info
plot chart graph draw visualize
file document
folder directory
ask question prompt
user person human
todo task item
"""

OTHER_NAMES: Mapping[str, str] = {
    "applypatch": "edit_file",
    "ask": "prompt_user",
    "askuser": "prompt_user",
    "askuserquestion": "prompt_user",
    "askquestion": "prompt_user",
    "completetodo": "mark_todo",
    "cat": "read_file",
    "checktodo": "mark_todo",
    "cp": "write_file",
    "del": "delete_file",
    "dir": "list_directory",
    "download": "export_file",
    "find": "search_files",
    "finishtodo": "mark_todo",
    "glob": "search_files",
    "head": "read_file",
    "less": "read_file",
    "listfiles": "list_directory",
    "ls": "list_directory",
    "mkdir": "write_file",
    "mv": "move_file",
    "note": "add_observation",
    "pause": "wait_for_user",
    "plot": "visualize_data",
    "rename": "move_file",
    "replace": "edit_file",
    "rg": "grep",
    "rm": "delete_file",
    "rmdir": "delete_file",
    "search": "keyword_similarity_search",
    "searchcontent": "keyword_similarity_search",
    "showfile": "read_file",
    "strreplace": "edit_file",
    "tail": "read_file",
    "tick": "mark_todo",
    "todowrite": "add_todo",
    "touch": "write_file",
    "tree": "list_directory",
    "unlink": "delete_file",
    "view": "read_file",
    "viewfile": "read_file",
    "write": "write_file",
    "zip": "export_zip",
}
"""By the letters alone. Shell commands, and the tools of agents that models were trained with."""

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def synonyms(word: str) -> frozenset[str]:
    """Return the words that may stand for `word` in the name of a tool, without itself."""
    return _SYNONYMS.get(word, frozenset())


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case and singular: of `readFiles`, `read-file` and `read_file` the same."""
    return [_singular(part.lower()) for part in _PARTS.findall(name)]


def likeness(name: str, other: str) -> float:
    """Return how much of two names says the same, between 0 and 1."""
    words, others = name_words(name), name_words(other)
    if not words or not others:
        return 0.0
    meant = [{word, *synonyms(word)} for word in words]
    common = sum(not alternatives.isdisjoint(others) for alternatives in meant)
    return 2 * common / (len(words) + len(others))


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _by_word() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in _GROUPS.split("\n"):
        words = set(line.split())
        for word in words:
            found.setdefault(word, set()).update(words - {word})
    return {word: frozenset(others) for word, others in found.items()}


_SYNONYMS = _by_word()
SYNONYM_WORDS = tuple(_SYNONYMS)
"""All words that have any."""
