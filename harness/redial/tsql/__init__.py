"""T-SQL text to syntax trees: lexer, parser, batch splitting. Knows no other part of Redial."""

from redial.tsql.errors import TsqlNotSupported, TsqlSyntaxError
from redial.tsql.parser import parse_batch
from redial.tsql.script import ScriptBatch, parse_script, split_batches

__all__ = [
    "ScriptBatch",
    "TsqlNotSupported",
    "TsqlSyntaxError",
    "parse_batch",
    "parse_script",
    "split_batches",
]
