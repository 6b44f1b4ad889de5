"""The port to a database, SQLite and PostgreSQL behind it, and the notices between processes that use one."""
