"""Playbooks as skills: documents with an address, for clients that know skills or resources.

A skill has the same words as `get_playbook`; what a playbook says cannot start a line of its own there either.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from madang.core.calls import Call
from madang.core.errors import Denied, InvalidCursor, NotFound
from madang.core.phrases import layout, say
from madang.core.resources import Resource, ResourceList, ResourceTemplate
from madang.core.texts import one_line
from madang.services.playbook.domain import Playbook
from madang.services.playbook.store import PlaybookStore
from madang.services.playbook.views.playbooks import details

MAX_SKILL_DESCRIPTION_CHARS = 1024
MAX_CURSOR_DIGITS = 18
_PREFIX, _SUFFIX = "skill://playbook-", "/SKILL.md"


class PlaybookResources:
    """The playbooks of an assistant, listed and read by address."""

    templates = (ResourceTemplate(f"{_PREFIX}{{id}}{_SUFFIX}", name="playbook", title="A playbook as a skill"),)

    def __init__(self, store: PlaybookStore) -> None:
        self._store = store

    async def list_page(self, call: Call, after: str, limit: int) -> ResourceList:
        """Return up to `limit` skills, oldest first, after the place that an earlier page named.

        Raises:
            InvalidCursor: no page named that place.
        """
        if after and not (after.isascii() and after.isdecimal()):
            raise InvalidCursor(say("The cursor is not one of ours."))
        numbered = await self._store.list_after(call, int(after[:MAX_CURSOR_DIGITS] or 0), limit + 1)
        next_place = str(numbered[limit - 1][0]) if len(numbered) > limit else ""
        return ResourceList([skill(playbook) for _, playbook in numbered[:limit]], next_place)

    async def read(self, call: Call, uri: str) -> Resource | None:
        if not (uri.startswith(_PREFIX) and uri.endswith(_SUFFIX)):
            return None
        try:
            return skill(await self._store.get(call, uri.removeprefix(_PREFIX).removesuffix(_SUFFIX)))
        except (NotFound, Denied):
            return None

    async def changes(self, call: Call) -> AsyncIterator[frozenset[str]]:
        async for ids in self._store.changed_ids(call):
            yield frozenset(map(_skill_uri, ids))


def skill(playbook: Playbook) -> Resource:
    """Return a playbook as a skill."""
    name = f"playbook-{playbook.id}"
    description = one_line(playbook.goal.strip(), MAX_SKILL_DESCRIPTION_CHARS)
    return Resource(
        uri=_skill_uri(playbook.id),
        name=name,
        title=description,
        body=["", layout("# {goal}", goal=description), "", *details(playbook)],
        frontmatter={"name": name, "description": description},
    )


def _skill_uri(id: str) -> str:
    return f"{_PREFIX}{id}{_SUFFIX}"
