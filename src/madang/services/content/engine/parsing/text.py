"""Text files: their characters, and what they are called by their names."""

from __future__ import annotations

import re

from madang.core.errors import InvalidArguments
from madang.core.phrases import say
from madang.services.content.engine.parsing.parsed import Parsed
from madang.services.content.engine.parsing.refusals import quoted_name
from madang.text.encodings import decode, detect_encoding, encode, has_controls, replace_surrogates

PLAIN = "text/plain"
HTML = "text/html"
_XML, _SVG = "application/xml", "image/svg+xml"

_BY_ENDING = {
    "txt": PLAIN, "text": PLAIN, "log": PLAIN, "md": "text/markdown", "markdown": "text/markdown",
    "rst": "text/x-rst", "csv": "text/csv", "tsv": "text/tab-separated-values", "html": HTML, "htm": HTML,
    "xhtml": HTML, "xml": _XML, "xsd": _XML, "xsl": _XML, "svg": _SVG, "json": "application/json",
    "jsonl": "application/jsonl", "yaml": "application/yaml", "yml": "application/yaml", "toml": "application/toml",
    "ini": PLAIN, "cfg": PLAIN, "conf": PLAIN, "css": "text/css", "js": "text/javascript", "mjs": "text/javascript",
    "jsx": "text/javascript", "ts": "text/x-typescript", "tsx": "text/x-typescript", "vue": "text/x-vue",
    "svelte": "text/x-svelte", "py": "text/x-python", "ipynb": "application/json", "java": "text/x-java",
    "kt": "text/x-kotlin", "scala": "text/x-scala", "c": "text/x-c", "h": "text/x-c", "cc": "text/x-c++",
    "cpp": "text/x-c++", "hpp": "text/x-c++", "cs": "text/x-csharp", "go": "text/x-go", "rs": "text/x-rust",
    "rb": "text/x-ruby", "erb": "text/x-ruby", "php": "text/x-php", "pl": "text/x-perl", "lua": "text/x-lua",
    "r": "text/x-r", "swift": "text/x-swift", "dart": "text/x-dart", "sh": "text/x-shellscript",
    "bash": "text/x-shellscript", "zsh": "text/x-shellscript", "ps1": "text/x-powershell", "bat": "text/x-bat",
    "sql": "text/x-sql", "tex": "text/x-tex", "j2": "text/x-jinja", "jinja": "text/x-jinja", "diff": "text/x-diff",
    "patch": "text/x-diff",
}  # fmt: skip
# What may begin as a web page does and is code all the same: its lines are what counts.
_CODE_WITH_HTML = {"text/markdown", "text/x-rst", *(kind for kind in _BY_ENDING.values() if kind.startswith("text/x-"))}
_CODE_WITH_HTML |= {"text/javascript"}

_BEGINS_AS_HTML = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_BEGINS_AS_SVG = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*|<!doctype\s+svg[^>]*>\s*)*<svg\b", re.I | re.S)
_BEGINS_AS_XML = re.compile(r"\s*<\?xml\b")
_HEAD = 4096

# As browsers understand these names; others are not taken, because Python knows many that are no text.
_DECLARED = {
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "ksc5601": "cp949", "cp949": "cp949", "ms949": "cp949",
    "windows-949": "cp949", "shift_jis": "cp932", "sjis": "cp932", "euc-jp": "euc_jp", "gb2312": "gb18030",
    "gbk": "gb18030", "gb18030": "gb18030", "big5": "big5hkscs", "iso-8859-1": "cp1252", "latin1": "cp1252",
    "windows-1252": "cp1252", "windows-1251": "cp1251", "koi8-r": "koi8_r", "iso-8859-2": "iso8859_2",
    "windows-1250": "cp1250", "iso-8859-15": "iso8859_15",
}  # fmt: skip
_DECLARATION = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.I)
_SURROGATE = re.compile("[\ud800-\udfff]")
_UTF8_SURROGATE = re.compile(rb"\xed[\xa0-\xbf]")
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f]")


def read_text(data: bytes, filename: str, mime_type: str) -> Parsed:
    """Decode a text file.

    Raises:
        InvalidArguments: it is no text, or its encoding is damaged or unknown.
    """
    text, encoding = _decoded(data, filename)
    return Parsed(text.replace("\r\n", "\n").replace("\r", "\n"), _kind(text[:_HEAD], filename, mime_type), encoding)


def _kind(head: str, filename: str, mime_type: str) -> str:
    """Return what the text is: its own beginning comes before its name, and its name before what it was said to be."""
    named = _BY_ENDING.get(filename.rpartition(".")[2].lower() if "." in filename else "", "")
    if _BEGINS_AS_HTML.match(head) and named not in _CODE_WITH_HTML:
        return HTML
    if _BEGINS_AS_SVG.match(head):
        return _SVG
    if named:
        return named
    if _BEGINS_AS_XML.match(head):
        return _XML
    declared = mime_type.partition(";")[0].strip().lower()
    return declared if declared in _BY_ENDING.values() else PLAIN


def _decoded(data: bytes, filename: str) -> tuple[str, str]:
    """Return the text and its encoding: as it is detected, or as the file itself declares where that is not Unicode."""
    encoding = detect_encoding(data, is_whole=True)
    if encoding in ("cp949", "cp1252", "utf-8-invalid", "binary") and (declared := _declared(data)):
        return declared
    if encoding == "binary" and (b"\0" in data or has_controls(data)):
        raise not_text(filename)
    if encoding in ("utf-8-invalid", "binary"):
        raise _undecodable(data, filename)
    text = decode(data, encoding)
    if "\0" in text:
        raise not_text(filename)
    if encoding == "utf-8-bom" and (damage := _SURROGATE.search(text)):
        raise _damaged(filename, len(encode(text[: damage.start()], encoding)))
    return replace_surrogates(text), encoding


def _declared(data: bytes) -> tuple[str, str] | None:
    """Return the text in the encoding that a web page or XML declares, if it is one that browsers know."""
    declaration = _DECLARATION.search(data, 0, _HEAD)
    codec = _DECLARED.get(declaration[1].decode("ascii").lower()) if declaration else None
    if codec is None:
        return None
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:
        return None
    return None if _CONTROLS.search(text) else (text, codec)


def _undecodable(data: bytes, filename: str) -> InvalidArguments:
    position = _first_bad_byte(data)
    if _UTF8_SURROGATE.match(data, position):
        return _damaged(filename, position)
    return InvalidArguments(
        say(
            "{filename} is in no encoding that can be read here: not UTF-8 (byte {position}), not CP949.",
            filename=quoted_name(filename),
            position=position + 1,
        ),
        hint=say(
            "Save it as UTF-8 and add it again. UTF-8, UTF-16 with a byte order mark and CP949 (EUC-KR) are read."
        ),
    )


def _first_bad_byte(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return 0


def _damaged(filename: str, position: int) -> InvalidArguments:
    return InvalidArguments(
        say(
            "{filename} is {encoding} text, and damaged at byte {position}: there is no character in these bytes.",
            filename=quoted_name(filename),
            encoding="UTF-8",
            position=position + 1,
        ),
        hint=say(
            "Save it as UTF-8 and add it again. UTF-8, UTF-16 with a byte order mark and CP949 (EUC-KR) are read."
        ),
    )


def not_text(filename: str) -> InvalidArguments:
    return InvalidArguments(
        say(
            "{filename} is neither text nor a document that can be read here: it holds binary data.",
            filename=quoted_name(filename),
        ),
        hint=say("Text, Markdown, HTML, code, CSV, PDF, DOCX, XLSX and PPTX can be read: add one of these."),
    )
