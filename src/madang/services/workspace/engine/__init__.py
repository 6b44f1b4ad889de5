"""What the workspace drives: the file system, and ripgrep. Everything in here blocks and is called from threads."""
