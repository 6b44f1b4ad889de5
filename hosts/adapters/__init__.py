"""One module for each framework, run by the Python of that framework's environment: nothing of Madang is there.

Each connects with the framework's own MCP client and returns, for a tool call, what the framework would hand its model.
"""
