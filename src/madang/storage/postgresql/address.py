"""Where the database server is. The address may hold a password, so it is never shown: `place` is."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from madang.core.errors import SetupError
from madang.core.phrases import say

SCHEMES = ("postgresql", "postgres")
POOL_SIZE = 10
STATEMENT_CACHE_SIZE = 200


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """A database server and how to use it. Make one with `parse_database_url`."""

    url: str = field(repr=False)
    """What asyncpg is given: without the parameters that are ours."""
    place: str
    """Database and host, for messages: no user, no password."""
    direct_url: str = field(repr=False)
    """The server itself, where `url` leads to a pooler; else the same. Locks and notices of a connection need it."""
    pool_size: int = POOL_SIZE
    statement_cache_size: int = STATEMENT_CACHE_SIZE


def parse_database_url(url: str) -> ServerAddress:
    """Return the address that `url` stands for.

    Raises:
        SetupError: it is none. The message does not repeat it: what is wrong may be a part of the password.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port  # a password with a slash or a colon in it shows here
        parameters = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        pool_size = int(parameters.pop("pool_size", POOL_SIZE))
        statement_cache_size = int(parameters.pop("statement_cache_size", STATEMENT_CACHE_SIZE))
        direct = parameters.pop("direct", "")
        is_one = parts.scheme in SCHEMES and pool_size >= 1 and statement_cache_size >= 0 and not parts.fragment
    except ValueError:
        is_one = False
    if not is_one:
        raise SetupError(
            say("The database must be a URL: postgresql://user:password@host/database."),
            hint=say("Write special characters of the password as %XX. Without a URL, the data folder is used."),
        )
    host = parameters.get("host") or (parts.hostname or "localhost")
    place = f"{parts.path.strip('/') or parameters.get('dbname', '')}@{host}"
    asked_url = _url(parts, parameters)
    direct_url = _direct_url(parts, parameters, direct) if direct else asked_url
    return ServerAddress(asked_url, place.lstrip("@"), direct_url, pool_size, statement_cache_size)


def _direct_url(parts: SplitResult, parameters: dict[str, str], host: str) -> str:
    """Return the URL with another host, `name:port` or the folder of a socket."""
    user, at, _ = parts.netloc.rpartition("@")
    name, _, port = host.rpartition(":")
    others = {key: value for key, value in parameters.items() if key not in ("host", "port")}
    # As parameters: a folder cannot stand before the path. A host there would come before them.
    others |= {"host": name, "port": port} if name and port.isdecimal() else {"host": host}
    return _url(parts._replace(netloc=user + at), others)


def _url(parts: SplitResult, parameters: dict[str, str]) -> str:
    # Made from its parts: urlunsplit would turn the empty host of "postgresql:///name" into none at all.
    query = f"?{urlencode(parameters)}" if parameters else ""
    return f"{parts.scheme}://{parts.netloc}{parts.path}{query}"
