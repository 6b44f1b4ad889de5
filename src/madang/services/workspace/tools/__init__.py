"""What an agent can do with the files of its session."""
