"""The words of a text, and those of a query: English, Korean and what is typed. Pure."""
