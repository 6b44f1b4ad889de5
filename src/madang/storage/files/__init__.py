"""What the bytes of a file are: its kind, its encoding, its text. Nothing here opens a file."""
