"""When playbooks were selected, read from the database."""

from __future__ import annotations

from collections.abc import Sequence

from madang.core.calls import Call
from madang.core.paging import Page, span
from madang.database.port import Transaction
from madang.services.playbook.domain import Selection

_FIELDS = ("id", "playbook_id", "goal", "version", "session_id", "selected_at")


async def find_selections(
    tx: Transaction, call: Call, owner_no: int, page: int, page_size: int, playbook_id: str
) -> Page[Selection]:
    """Return one page of an owner's selections, newest first; of one playbook if its id is given."""
    condition = "user_id = ?1 AND owner_no = ?2"
    parameters: list[object] = [call.user_id, owner_no]
    if playbook_id:
        condition += " AND playbook_id = ?3"
        parameters.append(playbook_id)
    row = await tx.one(f"SELECT count(*) FROM playbook_run WHERE {condition}", *parameters)
    place = span(page, page_size, row[0] if row else 0)
    rows = await tx.all(
        f"SELECT {', '.join(_FIELDS)} FROM playbook_run "
        f"WHERE {condition} ORDER BY seq DESC LIMIT {place.limit} OFFSET {place.offset}",
        *parameters,
    )
    return place.fill([Selection.model_construct(**dict(zip(_FIELDS, row, strict=True))) for row in rows])


async def find_last_selections(tx: Transaction, call: Call, owner_no: int, ids: Sequence[str]) -> dict[str, str]:
    """Return when each of these playbooks was selected last; those that never were are left out."""
    places = ", ".join(f"?{number}" for number in range(3, len(ids) + 3))
    # One step in an index for each, however often it was selected.
    rows = await tx.all(
        "SELECT p.id, (SELECT r.selected_at FROM playbook_run r WHERE r.user_id = p.user_id "
        "AND r.owner_no = p.owner_no AND r.playbook_id = p.id ORDER BY r.seq DESC LIMIT 1) FROM playbook p "
        f"WHERE p.user_id = ?1 AND p.owner_no = ?2 AND p.id IN ({places})",
        call.user_id,
        owner_no,
        *ids,
    )
    return {id: selected_at for id, selected_at in rows if selected_at}
