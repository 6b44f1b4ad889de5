"""DOCX, XLSX and PPTX: archives of XML parts that point at one another."""

from __future__ import annotations

import posixpath

from lxml import etree

from .archive import Archive
from .document import DocumentText
from .markup import Markup
from .refused import Refused
from .sheets import read_sheets

_OFFICE = "application/vnd.openxmlformats-officedocument."
# By the end of the content type of the main part; with macros or as a template they are built alike.
_WORD = ("wordprocessingml.document", "wordprocessingml.template", "ms-word.document", "ms-word.template")
_SLIDES = ("presentationml.", "ms-powerpoint.")
_SHEETS = ("spreadsheetml.", "ms-excel.sheet.macroEnabled", "ms-excel.template.macroEnabled")
# Parts of a text document that hold text of their own, in the order in which they follow it.
_WORD_EXTRAS = ("/footnotes", "/endnotes", "/comments")


def read_archive(data: bytes) -> DocumentText:
    """Return the text of an office document; other archives are refused."""
    archive = Archive(data)
    if "[Content_Types].xml" not in archive:
        raise Refused(_other_kind(archive))
    main = next((target for kind, target in _relations(archive, "").values() if kind == "/officeDocument"), "")
    content_type = _content_types(archive).get(main, "")
    if any(name in content_type for name in _WORD):
        return _word(archive, main)
    if any(name in content_type for name in _SLIDES):
        return _slides(archive, main)
    if any(name in content_type for name in _SHEETS):
        archive.verify()
        return read_sheets(data, f"{_OFFICE}spreadsheetml.sheet")
    raise Refused("other_office")


def _word(archive: Archive, main: str) -> DocumentText:
    document = DocumentText(f"{_OFFICE}wordprocessingml.document")
    document.add_texts(Markup().lines(archive.open(main)))
    targets = dict(_relations(archive, main).values())
    for kind in _WORD_EXTRAS:
        if (target := targets.get(kind, "")) in archive:
            document.add_texts(Markup().lines(archive.open(target)))
    return document


def _slides(archive: Archive, main: str) -> DocumentText:
    document = DocumentText(f"{_OFFICE}presentationml.presentation")
    relations = _relations(archive, main)
    for id in _slide_ids(archive, main):
        kind, slide = relations.get(id, ("", ""))
        if kind != "/slide" or slide not in archive:
            continue
        document.start_page()
        document.add_texts(Markup().lines(archive.open(slide)))
        for kind, notes in _relations(archive, slide).values():
            if kind == "/notesSlide" and notes in archive:
                document.add_texts(Markup().lines(archive.open(notes)))
    return document


def _slide_ids(archive: Archive, main: str) -> list[str]:
    """Return the relation ids of the slides in the order of the presentation, which is not that of their names."""
    ids = []
    for element in _parsed(archive, main).iter("{*}sldId"):
        ids += [value for name, value in element.attrib.items() if str(name).endswith("}id")]
    return [str(id) for id in ids]


def _relations(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Return what a part points at inside the archive, by id: the last word of the kind, and the target.

    Targets outside are left out: a template or picture of the network is never asked for.
    """
    folder, name = posixpath.split(part)
    relations_part = f"{folder}/_rels/{name}.rels".lstrip("/")
    if relations_part not in archive:
        return {}
    relations = {}
    for element in _parsed(archive, relations_part).iter("{*}Relationship"):
        if element.get("TargetMode") != "External":
            kind = "/" + element.get("Type", "").rpartition("/")[2]
            target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))
            relations[element.get("Id", "")] = (kind, target.lstrip("/"))
    return relations


def _content_types(archive: Archive) -> dict[str, str]:
    root = _parsed(archive, "[Content_Types].xml")
    overrides = root.iter("{*}Override")
    return {element.get("PartName", "").lstrip("/"): element.get("ContentType", "") for element in overrides}


def _parsed(archive: Archive, name: str) -> etree._Element:
    # With the encoding given, a part cannot hide a DTD from us by declaring another one.
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True
    )
    try:
        return etree.fromstring(archive.read(name), parser)
    except etree.XMLSyntaxError as error:
        raise Refused("broken") from error


def _other_kind(archive: Archive) -> str:
    """Tell the archives that are documents of others from those that are just archives."""
    return "other_office" if "mimetype" in archive or "META-INF/container.xml" in archive else "archive"
