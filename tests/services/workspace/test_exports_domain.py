"""Names and addresses of exports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from madang.core.ids import new_id
from madang.files.folders import parse_path
from madang.services.workspace.domain.exports import (
    MAX_EXPORT_NAME_BYTES,
    clean_name,
    export_id,
    export_uri,
    file_name,
    made_at,
    package_name,
    parse_stored_name,
    stored_name,
)
from madang.services.workspace.views.exports import mime_type_of
from madang.services.workspace.views.kinds import file_kind


@pytest.mark.parametrize(
    ("wanted", "source", "name"),
    [
        ("", "notes/오늘.md", "오늘.md"),
        ("보고서", "notes/오늘.md", "보고서.md"),
        ("Report v1.2", "a/report.pdf", "Report v1.2.pdf"),
        ("data.txt", "data.csv", "data.txt"),
        ("../../etc/passwd", "a.txt", "_.._etc_passwd.txt"),
        ("..", "a.txt", "a.txt"),
        (".hidden", "a.txt", "hidden.txt"),
        ('a"b\r\nSet-Cookie: x=1', "a.txt", "a_bSet-Cookie_ x=1.txt"),
        ("photo\u202egpj.exe", "a.txt", "photogpj.exe"),
        ("100%2e%2e done", "a.txt", "100_2e_2e done.txt"),
        ("50 % off", "a.txt", "50 % off.txt"),
        ("   ", "README", "README"),
        ("nul", "a.txt", "_nul.txt"),
        ("\u0000\u200b", "...", "export"),
        ("👩\u200d💻.png", "a", "👩\u200d💻.png"),
        ("각.txt", "a", "각.txt"),
    ],
)
def test_the_name_of_a_file_is_safe_to_save_and_keeps_its_extension(wanted: str, source: str, name: str) -> None:
    assert file_name(wanted, source) == name


def test_a_package_ends_in_zip() -> None:
    assert [package_name(wanted) for wanted in ("", "자료", "a.ZIP", "v1.2", "a.zip.")] == [
        "export.zip", "자료.zip", "a.ZIP", "v1.2.zip", "a.zip",
    ]  # fmt: skip


def test_a_long_name_is_cut_before_its_extension() -> None:
    name = file_name("가" * 200 + ".xlsx", "a.xlsx")

    assert name == "가" * 48 + ".xlsx"


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_becomes_a_name_that_can_be_stored(wanted: str, source: str) -> None:
    id = new_id()
    for name in (file_name(wanted, source), package_name(wanted)):
        stored = stored_name(id, name)

        assert len(name.encode()) <= MAX_EXPORT_NAME_BYTES
        assert clean_name(name) == name
        assert parse_path(stored) == (stored,)
        assert parse_stored_name(stored) == (id, name)
        assert export_id(export_uri(id, name)) == id


def test_what_is_no_address_of_an_export_has_no_id() -> None:
    uri = export_uri(new_id(), "a.txt")

    assert [export_id(other) for other in (f"{uri}/b", uri.upper(), uri[:-6], f" {uri}", "madang://exports/")] == [
        "", "", export_id(uri), "", "",
    ]  # fmt: skip


def test_an_id_says_when_its_export_was_made() -> None:
    assert made_at("01a1de88-e9e1-7648-a0b4-b17a6b28a8ef") == "2026-11-15T09:27:57+00:00"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("보고서.DOCX", "Text document"),
        ("보고서.hwpx", "Hangul document"),
        ("a.tar.gz", "Archive"),
        ("photo.png", "Picture"),
        ("main.py", "Text"),
        ("unknown", "File"),
        ("", "File"),
    ],
)
def test_a_file_is_called_what_people_call_it(name: str, kind: str) -> None:
    assert str(file_kind(name, mime_type_of(name))) == kind
