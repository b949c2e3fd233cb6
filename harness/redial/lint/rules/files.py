"""Rules about how a file begins and how types are written."""

from __future__ import annotations

from collections.abc import Iterator

from redial.lint.model import Module, Rule
from redial.tsql import ast

Findings = Iterator[tuple[ast.Node, str]]

_NEEDED = ("ANSI_NULLS", "QUOTED_IDENTIFIER")
_LENGTH = {"varbinary", "binary", "varchar", "char", "nvarchar", "nchar"}


def unterminated(module: Module) -> Findings:
    """Found by the parser, which refuses the statement: see ``files``."""
    return iter(())


def without_length(module: Module) -> Findings:
    """A type that is one byte or character long because nobody said otherwise (30 in CAST)."""
    for kind in module.of(ast.DataType):
        name = kind.name.name.lower()
        if name in _LENGTH and not kind.arguments and len(kind.name.parts) == 1:
            length = 30 if isinstance(next(module.above(kind), None), ast.Cast) else 1
            yield kind, f"{name} without a length is {name}({length})"


def file_settings(module: Module) -> Findings:
    """A file whose first statements are not its SET options."""
    if module.number or not module.options.file_settings:
        return
    missing = [name for name in _NEEDED if name not in module.script.settings]
    if missing:
        yield module.batch, f"the file does not begin with SET {', '.join(missing)} ON"


FILES = (
    Rule(
        "SB01",
        "unterminated",
        "SEND, RECEIVE, GET and MOVE are not reserved: behind a statement without `;` they are "
        "read as an alias or not at all.",
        "End every statement with a semicolon.",
        "The SEND page asks for it; seed 002's `;SEND` and `;WAITFOR` are the habit it has bred: "
        "https://learn.microsoft.com/sql/t-sql/statements/send-transact-sql.",
        unterminated,
    ),
    Rule(
        "SB03",
        "without_length",
        "A body declared VARBINARY is cut to one byte, silently.",
        "State the length: varbinary(max) for a message body.",
        "Seed 004 (https://rusanu.com/2007/12/03/resending-messages/): DECLARE @body VARBINARY; so "
        "the resend procedure resends one byte of each body.",
        without_length,
    ),
    Rule(
        "SB12",
        "file_settings",
        "sqlcmd starts with QUOTED_IDENTIFIER OFF, a procedure keeps what it was created under, "
        "and xml methods then fail inside activation (1934), where nobody sees it.",
        "Begin every file with SET ANSI_NULLS ON; SET QUOTED_IDENTIFIER ON; and GO.",
        "https://www.dbdelta.com/improper-set-option-errors/: settings kept OFF with a module and "
        "found out at run time only.",
        file_settings,
    ),
)
