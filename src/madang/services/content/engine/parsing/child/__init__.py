"""The process that reads one hostile document and ends.

It starts without the rest of Madang, because importing that would take longer than most documents: so everything here
imports only the standard library, the parsers, `madang.system.confinement`, and its neighbours by relative imports.
"""
