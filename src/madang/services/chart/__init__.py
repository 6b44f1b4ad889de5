"""Charts, drawn on the server and told in words."""
