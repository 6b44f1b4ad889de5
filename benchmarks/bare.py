"""The floor: the official SDK's server with one empty async tool. `python -m benchmarks.bare stdio|http`."""

from __future__ import annotations

import sys

from mcp.server import MCPServer


def bare_server() -> MCPServer:
    server = MCPServer("bare", version="0", log_level="ERROR")

    @server.tool()
    async def nothing() -> str:
        """Do nothing."""
        return ""

    return server


def main(transport: str) -> None:
    server = bare_server()
    if transport == "stdio":
        server.run()
        return
    import asyncio
    import socket

    import uvicorn

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as uvicorn's own sockets have it
        print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="error", access_log=False, ws="none")
        asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    main(sys.argv[1])
