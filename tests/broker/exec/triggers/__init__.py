"""Triggers and functions of the embedded broker."""
