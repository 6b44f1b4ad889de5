"""The vocabulary of Madang. No I/O, and nothing of ours is imported here."""
