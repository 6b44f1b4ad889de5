"""What the workspace answers, in words and data. Pure."""
