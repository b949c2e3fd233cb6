"""Spark: the data source, landing, the audit."""
