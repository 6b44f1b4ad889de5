"""The disk: the database, and what is kept for all services."""
