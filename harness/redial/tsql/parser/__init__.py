"""The T-SQL parser: one class, assembled from a mixin per area of the language."""

from redial.tsql.parser.parser import parse_batch

__all__ = ["parse_batch"]
