"""Statements that define things: tables, indexes, types, modules, databases, principals."""
