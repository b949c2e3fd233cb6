"""Isolation levels, played out step by step between sessions."""
