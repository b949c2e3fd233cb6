"""Figures of the embedded broker, under stable names. They say nothing about SQL Server."""
