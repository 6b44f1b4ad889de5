"""Playbooks: reusable workflows that belong to an assistant."""
