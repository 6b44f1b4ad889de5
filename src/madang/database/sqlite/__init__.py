"""The database in one file: readers and one writer, units, backups."""
