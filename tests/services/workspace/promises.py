"""What the tools of the workspace service promise."""

from __future__ import annotations

from tests.asking import Asker
from tests.promises import Arguments, Ids, Promise, ServicePromises
from tests.services.workspace.workspaces import folder_of, stage_upload

FILE = "notes/메모.md"
MISSING = {"path": "nothing.txt"}


async def prepare(asker: Asker) -> Ids:
    await asker.done("write_file", path=FILE, content="One\nA needle 바늘\n")
    return {"outside": outside_file(asker, "Outside\n"), "upload": stage_upload(asker, b"\0\1\2")}


async def fill(asker: Asker) -> Ids:
    await asker.done("write_file", path=FILE, content=("줄" * 900 + " needle\n") * 60)
    for number in range(60):
        await asker.done("write_file", path=f"{number}{'긴' * 70}.md", content="x")
        asker.keep_file("notes/" + "긴" * 80 + str(number))
    return {"outside": outside_file(asker, "밖" * 100_000), "upload": stage_upload(asker, b"x" * 100_000)}


async def bring_in(asker: Asker, text: str) -> list[tuple[str, Arguments]]:
    """Put a file with such a name and such lines into the workspace and into the folder that the person allowed."""
    name = f"{text.replace(chr(0), '')}.txt"  # no file system has a name with NUL
    lines = f"{text}\nneedle {text}\n{text}\n"
    for folder in (folder_of(asker), asker.folders.allowed[0]):
        (folder / name).write_text(lines, encoding="utf-8")
        (folder / "plain.txt").write_text(lines, encoding="utf-8")
    change = {"oldText": "needle", "newText": f"{text} thread"}
    return [
        ("list_directory", {}),
        ("search_files", {"pattern": "*"}),
        ("grep", {"pattern": "needle", "context": 2}),
        *(("read_file", {"path": path}) for path in (name, "plain.txt")),
        *(("export_file", {"path": path}) for path in (name, "plain.txt")),
        ("export_zip", {"files": [name, "plain.txt", f"missing {text}"]}),
        ("export_zip", {"files": ["."]}),
        *(("edit_file", {"path": path, "edits": [change]}) for path in (name, "plain.txt")),
        ("import_file", {"source": str(asker.folders.allowed[0] / name), "path": "imported.txt"}),
        ("import_file", {"source": str(asker.folders.allowed[0] / name)}),
        ("read_file", {"path": "imported.txt"}),
        ("move_file", {"source": name, "target": "moved.txt"}),
        ("delete_file", {"path": "plain.txt"}),
    ]


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
            largest={"pattern": "needle", "context": 10, "limit": 500, "offset": 1},
        ),
        "move_file": Promise(
            "write",
            {"source": FILE, "target": "moved.md"},
            refused={"source": "nothing.txt", "target": "b.txt"},
        ),
        "delete_file": Promise("destroy", {"path": FILE}, refused=MISSING),
        "import_file": Promise("write", lambda ids: {"source": ids["outside"]}, refused={"source": "/etc/passwd"}),
        "upload_file": Promise(
            "write",
            lambda ids: {"path": "new.bin", "source": ids["upload"]},
            refused={"path": "new.bin", "source": "upload:draft-0"},
            audience="panel",
        ),
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
    bring_in,
)
