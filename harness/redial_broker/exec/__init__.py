"""Compiling and running T-SQL: statements as closures over sessions that are data."""
