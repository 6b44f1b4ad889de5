"""How pages are made: the shell, the style and the script that all services share."""
