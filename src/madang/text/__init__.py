"""Bytes that become text and text that becomes words: encodings, kinds of files, YAML, tokens. Pure."""
