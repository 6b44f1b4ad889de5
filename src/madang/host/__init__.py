"""The web host: a chat in the browser on loopback, its JSON API, its event streams, and MCP in the same process.

It adds routes to the one gate (`server/gate.py`) and decides nothing about access by itself. What crosses to the
browser is in `wire.py`; what runs, tools and questions do is the agent's and the provider's matter.
"""
