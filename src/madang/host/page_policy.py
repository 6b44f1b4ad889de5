"""The content security policy of one view: what the page between the chat and the view is sent with.

A srcdoc frame inherits it, so it is the ceiling of the view whatever its HTML says. What another server declares for
its page is filtered here, on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from madang.records.views import View

MAX_DOMAINS = 32
MAX_DOMAIN_CHARS = 200
RESOURCE_SCHEMES = ("https",)
CONNECT_SCHEMES = ("https", "wss")

# A name of the internet with a scheme, maybe a port, and nothing else: no path, no wildcard, and none of the characters
# by which an entry would begin another directive or name a keyword (; ' " * and white space).
_DOMAIN = re.compile(r"(?P<scheme>[a-z]+)://(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?::[0-9]{1,5})?", re.ASCII)
_LOCAL_NAMES = ("localhost", "local", "internal", "lan")


@dataclass(frozen=True, slots=True)
class PageRights:
    """What a view may do. The defaults are those of our own pages, and of a view that is not there."""

    may_run_scripts: bool = True
    connect_domains: tuple[str, ...] = ()
    resource_domains: tuple[str, ...] = ()

    @property
    def sandbox(self) -> str:
        """What the frame of the view is allowed, beside being drawn."""
        return "allow-scripts" if self.may_run_scripts else ""


def rights_of(view: View | None) -> PageRights:
    """Return the rights of a view, by its row."""
    if view is None or view.foreign is None:
        return PageRights()
    if view.is_inert:  # who wrote the archive wrote the page
        return PageRights(may_run_scripts=False)
    return PageRights(
        view.may_run_scripts,
        allowed_domains(view.foreign.connect_domains, CONNECT_SCHEMES),
        allowed_domains(view.foreign.resource_domains, RESOURCE_SCHEMES),
    )


def allowed_domains(domains: Iterable[str], schemes: tuple[str, ...]) -> tuple[str, ...]:
    """Return those that name one host of the internet, encrypted: none of this machine, and no address by number."""
    return tuple(one for one in list(domains)[:MAX_DOMAINS] if _is_allowed(one, schemes))


def proxy_policy(host_origin: str, rights: PageRights, nonce: str) -> str:
    """Return the policy of the proxy and of the view in it. Only the proxy's own script has the nonce."""
    resources = "".join(f" {one}" for one in rights.resource_domains)
    scripts = f"'unsafe-inline'{resources}" if rights.may_run_scripts else f"'nonce-{nonce}'"
    directives = [
        "default-src 'none'",
        f"script-src {scripts}",
        f"style-src 'unsafe-inline'{resources}",
        f"img-src data:{resources}",
    ]
    if resources:
        directives += [f"font-src{resources}", f"media-src{resources}"]
    if rights.connect_domains and rights.may_run_scripts:
        directives.append(f"connect-src {' '.join(rights.connect_domains)}")
    return "; ".join([*directives, "base-uri 'none'", "form-action 'none'", f"frame-ancestors {host_origin}"])


def _is_allowed(domain: str, schemes: tuple[str, ...]) -> bool:
    match = _DOMAIN.fullmatch(domain) if len(domain) <= MAX_DOMAIN_CHARS else None
    if match is None or match["scheme"] not in schemes:
        return False
    labels = match["host"].split(".")
    # The last part of an address by number begins with a digit, in whatever notation; that of a name never does.
    return not labels[-1][:1].isdigit() and labels[-1] not in _LOCAL_NAMES
