"""Madang: a workbench that a person and an agent share."""

__version__ = "0.1.0"
