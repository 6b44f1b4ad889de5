"""What the workspace is about: names, addresses and what was done. Pure."""
