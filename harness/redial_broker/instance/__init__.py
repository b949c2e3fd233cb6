"""Databases, sessions, logins and activation: the broker as a whole, without any wire."""
