"""The MCP door: translates between the protocol and the provider, and decides nothing itself."""
