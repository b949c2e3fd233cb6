"""Cursors."""
