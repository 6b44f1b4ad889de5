"""A database server: PostgreSQL through asyncpg, for several machines or many users.

asyncpg is an extra (`madang[postgresql]`): only `database`, `listener`, `errors` and `moments` import it, and only
`app` imports these, when a server is asked for. `address` and `advisory` are free of it.
"""
