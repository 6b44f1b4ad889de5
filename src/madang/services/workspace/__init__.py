"""Workspace: the files of a session, held in one folder that nothing leads out of."""
