"""What the tools of the workspace service promise."""

from __future__ import annotations

from tests.asking import Asker
from tests.promises import Ids, Promise, ServicePromises

FILE = "notes/메모.md"
MISSING = {"path": "nothing.txt"}


async def prepare(asker: Asker) -> Ids:
    await asker.done("write_file", path=FILE, content="One\nA needle 바늘\n")
    return {"outside": outside_file(asker, "Outside\n")}


async def fill(asker: Asker) -> Ids:
    await asker.done("write_file", path=FILE, content=("줄" * 900 + " needle\n") * 60)
    for number in range(60):
        await asker.done("write_file", path=f"{number}{'긴' * 70}.md", content="x")
        asker.keep_file("notes/" + "긴" * 80 + str(number))
    return {"outside": outside_file(asker, "밖" * 100_000)}


def outside_file(asker: Asker, content: str) -> str:
    """Return the path of a file in the folder that the person allowed."""
    path = asker.folders.allowed[0] / "outside.txt"
    path.write_text(content, encoding="utf-8")
    return str(path)


PROMISES = ServicePromises(
    {
        "read_file": Promise("read", {"path": FILE}, refused=MISSING),
        "write_file": Promise(
            "write", {"path": "new/메모.md", "content": "# 새\n"}, refused={"path": "../out.txt", "content": "x"}
        ),
        "edit_file": Promise(
            "write",
            {"path": FILE, "edits": [{"oldText": "needle", "newText": "바늘"}]},
            refused={"path": FILE, "edits": [{"oldText": "nothing like it", "newText": "x"}]},
            largest={"path": FILE, "edits": [{"oldText": "needle", "newText": "바" * 900, "replaceAll": True}]},
        ),
        "list_directory": Promise("read", {}, refused={"path": "nothing"}),
        "search_files": Promise("read", {"pattern": "*.md"}, refused={"pattern": "*", "path": "/etc"}),
        "grep": Promise(
            "read",
            {"pattern": "needle"},
            refused={"pattern": "("},
            largest={"pattern": "needle", "context": 10, "limit": 500},
        ),
        "move_file": Promise(
            "write",
            {"source": FILE, "target": "moved.md"},
            refused={"source": "nothing.txt", "target": "b.txt"},
        ),
        "delete_file": Promise("destroy", {"path": FILE}, refused=MISSING),
        "import_file": Promise("write", lambda ids: {"source": ids["outside"]}, refused={"source": "/etc/passwd"}),
        "export_file": Promise(
            "write",
            {"path": FILE, "displayName": "보고서", "description": "Figures"},
            largest={"path": FILE, "displayName": "이" * 500, "description": "설" * 2000},
            shows_page=True,
        ),
        "export_zip": Promise(
            "write",
            {"files": ["notes", "missing.txt"]},
            largest={
                "files": ["notes", *("없" * 80 + str(number) for number in range(500))],
                "description": "설" * 2000,
            },
            shows_page=True,
        ),
    },
    prepare,
    fill,
)
