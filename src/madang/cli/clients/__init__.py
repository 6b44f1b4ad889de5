"""The configuration files of MCP clients: where each is, what Madang's entry looks like, and editing it in place.

An edit changes no byte beside the entry, comments included; it is refused where its result would not be what was meant.
"""
