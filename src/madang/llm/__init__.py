"""Language models behind one port: a request in, deltas out, at the end one whole answer.

Nothing here knows of sessions, tools or services: the agent decides what is asked and what an answer leads to.
`madang mcp` imports none of it.
"""
