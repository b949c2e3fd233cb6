"""DBCC CHECKIDENT, USEROPTIONS, and the ones that only empty caches.

Sources: the pages of the commands. Everything else under DBCC is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from harness.broker.engine.errors import SqlError
from harness.broker.engine.storage import Table
from harness.broker.engine.types import ResultColumn, nvarchar
from harness.broker.exec.compiler import Context, Run, compiles
from harness.broker.exec.ddl.common import target_database
from harness.broker.exec.ddl.options import word
from harness.broker.exec.ddl.temporary import is_temporary
from harness.broker.exec.execute import parse_name
from harness.broker.exec.security import has_permission, has_server_permission
from harness.tsql import ast

CACHES = frozenset({"FREEPROCCACHE", "DROPCLEANBUFFERS", "FREESYSTEMCACHE", "FREESESSIONCACHE"})
"""Commands that throw away what is only kept for speed."""


@compiles(ast.Dbcc)
def compile_dbcc(node: ast.Dbcc, context: Context) -> Run:
    """DBCC command (...) [WITH NO_INFOMSGS]."""
    for option in node.options:
        if option.name != "NO_INFOMSGS":
            raise context.not_supported(option, f"DBCC {node.command} WITH {option.name}")
    quiet = bool(node.options)
    command = _COMMANDS.get(node.command)
    if command is None and node.command not in CACHES:
        raise context.not_supported(node, f"DBCC {node.command}")

    def run(s: Any, v: list) -> None:
        if command is not None:
            command(s, v, node, context, quiet)
        elif not has_server_permission(s, "ALTER SERVER STATE"):
            raise SqlError(2571, s.user_name, node.command.lower())
        if not quiet:
            s.info("DBCC execution completed. If DBCC printed error messages, contact your system "
                   "administrator.", 0, 2528)

    return run


def _argument(node: Any, context: Context) -> Callable[[Any, list], Any]:
    if isinstance(node, (ast.Identifier, ast.ObjectName)):
        text = word(node)
        return lambda s, v: text
    fn = context.expression(node).fn
    return lambda s, v: fn(s, v, ())


def check_identity(s: Any, v: list, node: ast.Dbcc, context: Context, quiet: bool) -> None:
    """CHECKIDENT (table [, NORESEED | RESEED [, value]]). Raises 2501, 7997.

    A table that has never had a row gives ``value`` itself to its next row, any other one the value
    after it (DBCC CHECKIDENT page).
    """
    given = [_argument(part, context)(s, v) for part in node.arguments]
    table = _table(s, str(given[0]))
    if table.identity_column is None:
        raise SqlError(7997, table.name)
    seed, step = table.columns[table.identity_column].identity
    at, following = table.identity_column, table.next_identity
    values = [row[at] for row in table.rows.entries.values()]
    best = (max if step > 0 else min)(values, default=None)
    fresh = following == seed and not values
    current = None if fresh else following - step
    mode = str(given[1]).upper() if len(given) > 1 else "RESEED"
    behind = best is not None and current is not None and (best - current) * step > 0
    if len(given) > 2:
        value = int(given[2])
        following = value if fresh else value + step
    elif mode != "NORESEED" and behind:
        following = int(best) + step
    if following != table.next_identity:
        s.engine.journal.assign(s.work(), table, "next_identity", following)
    if not quiet:
        shown = "NULL" if current is None else current
        text = f"Checking identity information: current identity value '{shown}'"
        if len(given) > 2:
            s.info(f"{text}.", 0, 7998)
        else:
            column = "NULL" if best is None else int(Decimal(best))
            s.info(f"{text}, current column value '{column}'.", 0, 7998)


def _table(s: Any, text: str) -> Table:
    name = parse_name(text)
    if is_temporary(name.name):
        found = s.temp_tables.get(name.name.lower())
    else:
        found = target_database(s, name).resolve(name.schema, name.name, s)
        if isinstance(found, Table):
            if not has_permission(s, "ALTER", found):
                found = None
            else:
                s.engine.access.lock_table(s.work(), found, "Sch-M")
    if not isinstance(found, Table):
        raise SqlError(2501, text)
    return found


_OPTIONS = (("quoted_identifier", "quoted_identifier"), ("arithabort", "arithabort"),
            ("ansi_null_dflt_on", "ansi_null_dflt_on"), ("ansi_warnings", "ansi_warnings"),
            ("ansi_padding", "ansi_padding"), ("ansi_nulls", "ansi_nulls"),
            ("concat_null_yields_null", "concat_null_yields_null"), ("nocount", "nocount"),
            ("xact_abort", "xact_abort"), ("implicit_transactions", "implicit_transactions"))


def user_options(s: Any, v: list, node: ast.Dbcc, context: Context, quiet: bool) -> None:
    """USEROPTIONS: values, and the options that are SET."""
    o = s.options
    rows = [("textsize", str(2147483647 if o.textsize < 0 else o.textsize)),
            ("language", o.language), ("dateformat", o.dateformat),
            ("datefirst", str(o.datefirst)), ("lock_timeout", str(o.lock_timeout))]
    rows += [(name, "SET") for name, attribute in _OPTIONS if getattr(o, attribute)]
    level = "read committed snapshot" if o.isolation == "read committed" and \
        s.database.options["rcsi"] else o.isolation
    rows.append(("isolation level", level))
    s.result([ResultColumn("Set Option", nvarchar(128), False),
              ResultColumn("Value", nvarchar(46), True)], rows)
    s.done(0xC1, len(rows))


_COMMANDS: dict[str, Any] = {"CHECKIDENT": check_identity, "USEROPTIONS": user_options}
