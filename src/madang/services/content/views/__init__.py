"""What the content service answers, in words and data. Pure."""
