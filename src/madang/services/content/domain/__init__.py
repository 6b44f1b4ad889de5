"""What content is about: stores and their texts, the arguments of tools, and what a search finds. Pure."""
