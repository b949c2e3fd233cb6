"""Hostile callers: whatever calls usp_Send, the message is sent or a clear error is raised.

Each test is a play in numbered steps. ``stage`` holds the means: a deployed configuration of one
key, a caller's session, and the check that no lock and no transaction is left behind.
"""
