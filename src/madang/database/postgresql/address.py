"""Where the database server is. The address may hold a password, so it is never shown: `place` is."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

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
        hosts = _hosts(parts)
        parameters = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        pool_size = int(parameters.pop("pool_size", POOL_SIZE))
        statement_cache_size = int(parameters.pop("statement_cache_size", STATEMENT_CACHE_SIZE))
        direct = parameters.pop("direct", "")
        asked_url = _url(parts, parameters)
        direct_url = _direct_url(parts, parameters, direct) if direct else asked_url
        _ = each_server(asked_url), each_server(direct_url)
        is_one = parts.scheme in SCHEMES and pool_size >= 1 and statement_cache_size >= 0 and not parts.fragment
    except ValueError:
        is_one = False
    if not is_one:
        raise SetupError(
            say("The database must be a URL: postgresql://user:password@host/database."),
            hint=say("Write special characters of the password as %XX. Without a URL, the data folder is used."),
        )
    host = parameters.get("host") or hosts
    place = f"{parts.path.strip('/') or parameters.get('dbname', '')}@{host}"
    return ServerAddress(asked_url, place.lstrip("@"), direct_url, pool_size, statement_cache_size)


def each_server(url: str) -> tuple[str, ...]:
    """Return a URL for each server that `url` names. Of several, only one that can be written is meant.

    Raises:
        ValueError: there are not as many ports as servers.
    """
    parts = urlsplit(url)
    parameters = dict(parse_qsl(parts.query, keep_blank_values=True))
    user, at, servers = parts.netloc.rpartition("@")
    hosts = (servers or parameters.get("host", "")).split(",")
    if len(hosts) == 1:
        return (url,)
    # The primary that comes back, or a replica, would else be as good as the server that took over.
    parameters.setdefault("target_session_attrs", "read-write")
    if servers:
        return tuple(_url(parts._replace(netloc=user + at + host), parameters) for host in hosts)
    ports = parameters.pop("port", "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return tuple(
        _url(parts, {**parameters, "host": host} | ({"port": port} if port else {}))
        for host, port in zip(hosts, ports, strict=True)
    )


def _hosts(parts: SplitResult) -> str:
    """Return the names of the servers, for messages.

    Raises:
        ValueError: one of them is none: a password with a slash or a colon in it shows here.
    """
    servers = [urlsplit(f"//{server}") for server in parts.netloc.rpartition("@")[2].split(",")]
    if len(servers) > 1 and not all(server.hostname for server in servers):
        raise ValueError
    _ = [server.port for server in servers]
    return ",".join(unquote(server.hostname or "localhost") for server in servers)


def _direct_url(parts: SplitResult, parameters: dict[str, str], host: str) -> str:
    """Return the URL with another host, `name:port` or the folder of a socket; or with several, parted by commas."""
    user, at, _ = parts.netloc.rpartition("@")
    others = {key: value for key, value in parameters.items() if key not in ("host", "port")}
    names, ports = zip(*(_name_and_port(each) for each in host.split(",")), strict=True)
    # As parameters: a folder cannot stand before the path. A host there would come before them.
    others |= {"host": ",".join(names)} | ({"port": ",".join(ports)} if any(ports) else {})
    return _url(parts._replace(netloc=user + at), others)


def _name_and_port(host: str) -> tuple[str, str]:
    name, _, port = host.rpartition(":")
    return (name, port) if name and port.isdecimal() else (host, "")


def _url(parts: SplitResult, parameters: dict[str, str]) -> str:
    # Made from its parts: urlunsplit would turn the empty host of "postgresql:///name" into none at all.
    query = f"?{urlencode(parameters)}" if parameters else ""
    return f"{parts.scheme}://{parts.netloc}{parts.path}{query}"
