"""The plan of a session: a goal, to-dos and observations."""
