"""The HTML of pages: a template becomes a fragment, a fragment a whole document.

Owns HTML escaping, the page shell, and the loading of style and script. It does not know what a service shows or which
language it speaks: both come in as arguments.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from madang.rendering.page_texts import page_texts

if TYPE_CHECKING:
    from jinja2 import Environment

_RENDERING = Path(__file__).parent
_SERVICES = _RENDERING.parent / "services"


def render_fragment(template: str, context: Mapping[str, object], translate: Callable[..., str]) -> str:
    """Render a service's template (`playbook/playbooks.html`), every value escaped.

    Templates write visible text as `_("Page {page}", page=...)`: that is `translate`.
    """
    return _environment().get_template(template).render({**context, "_": translate})


def render_page(
    fragment: str,
    *,
    title: str,
    lang: str,
    refresh_tool: str = "",
    refresh_args: str = "",
    texts: Mapping[str, str] | None = None,
) -> str:
    """Put a fragment made by `render_fragment` into the shell with style and script.

    `refresh_tool` is what the page calls when its host opens it without data, and
    `refresh_args` names its arguments, those that may be left out with a `?`;
    `texts` are the sentences of the script itself in the page's language (`page_texts`), else English.
    """
    from markupsafe import Markup

    return (
        _environment()
        .get_template("shell.html")
        .render(
            lang=lang,
            title=title,
            refresh_tool=refresh_tool,
            refresh_args=refresh_args,
            texts=dict(texts or page_texts(str)),
            css=Markup(_compact("style.css")),
            script=Markup(_compact("bridge.js")),
            script_hash=_script_hash(),
            fragment=Markup(fragment),
            skeleton=Markup('<div class="skeleton"><i></i><i></i><i></i></div>'),
        )
    )


@cache
def _environment() -> Environment:
    # Imported on first use: a server that is never asked for a page should not start
    # slower for it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        # Always on, whatever the file is called: titles, goals and file names come from
        # models and strangers.
        autoescape=True,
        undefined=StrictUndefined,
        loader=FunctionLoader(_load),
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {
        "ensure_ascii": False,
        "separators": (",", ":"),
    }
    return environment


def _load(name: str) -> tuple[str, str, None] | None:
    """Find `service/file.html` in a service's templates, a bare name in this folder.

    By path and not by import, because rendering does not know the services.
    """
    service, slash, file = name.partition("/")
    folder = _SERVICES / service / "templates" if slash else _RENDERING
    path = folder / (file if slash else name)
    if ".." in path.parts or not path.is_file():
        return None
    return path.read_text(encoding="utf-8"), str(path), None


@cache
def _compact(name: str) -> str:
    """Read style or script without whole-line comments and indentation.

    Nothing inside a line of script is touched, so no string or regular expression can
    be mistaken for a comment. The style has no strings to hurt, so it also loses the
    spaces around its punctuation.
    """
    lines: list[str] = []
    in_comment = False
    for raw in (_RENDERING / name).read_text(encoding="utf-8").splitlines():
        line = raw.strip()
        in_comment = in_comment or line.startswith("/*")
        if line and not in_comment and not line.startswith("//"):
            lines.append(line)
        in_comment = in_comment and not line.endswith("*/")
    text = "\n".join(lines)
    if name.endswith(".css"):
        text = re.sub(r"\s*([{};,>])\s*|(?<=:)\s+", r"\1", text).replace(";}", "}")
    # Inside <script> and <style> these end or derail the element, also within a string.
    for ending in ("</script", "</style", "<!--"):
        if ending in text.lower():
            raise ValueError(f"{name} contains {ending!r}, which would end it early inside a page.")
    return text


@cache
def _script_hash() -> str:
    """Return the hash by which the page's content security policy allows its one script."""
    digest = hashlib.sha256(_compact("bridge.js").encode()).digest()
    return "sha256-" + base64.b64encode(digest).decode()
