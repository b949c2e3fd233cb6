"""CREATE, UPDATE and DROP STATISTICS.

Statistics only help a cost-based optimizer choose a plan; paths here follow fixed rules, so nothing
depends on them. Those that are created have their name in the catalog, and it must be free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from redial.tsql import ast
from redial_broker.engine.columns import Statistic
from redial_broker.engine.differences import differs
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.context import Context
from redial_broker.exec.ddl.common import dotted
from redial_broker.exec.ddl.drop import drops
from redial_broker.exec.ddl.naming import check_length
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.ddl.temporary import alter
from redial_broker.exec.registry import Run, compiles

if TYPE_CHECKING:
    from redial_broker.engine.storage import Index
    from redial_broker.exec.closures import Values
    from redial_broker.exec.session import SessionState

differs(
    "statistics",
    "None are gathered and none are made automatically: paths follow fixed rules. Those of "
    "CREATE STATISTICS have a name and columns in sys.stats, no histogram.",
)

OPTIONS = frozenset(
    {
        "FULLSCAN",
        "SAMPLE",
        "NORECOMPUTE",
        "RESAMPLE",
        "ALL",
        "COLUMNS",
        "INDEX",
        "MAXDOP",
        "PERSIST_SAMPLE_PERCENT",
        "AUTO_DROP",
        "INCREMENTAL",
    }
)
"""How statistics are gathered: nothing here is."""


def check_options(context: Context, options: list[ast.Option]) -> None:
    """Refuse what is none of the options of the pages."""
    for option in options:
        if option.name not in OPTIONS:
            raise context.not_supported(option, f"statistics option {option.name}")


@compiles(ast.CreateStatistics)
def create_statistics(node: ast.CreateStatistics, context: Context) -> Run:
    """CREATE STATISTICS name ON table (columns). Raises SqlError 1927, 1911."""
    check_options(context, node.options)

    def run(session: SessionState, variables: Values) -> None:
        check_length(node.name)
        _, table, transaction = alter(session, node.table, 1088)
        named: list[Index | Statistic] = [*all_indexes(table), *table.statistics]
        known = {item.name.lower() for item in named}
        if node.name.lower() in known:
            raise SqlError(1927, dotted(node.table), node.name)
        for name in node.columns:
            if name.lower() not in table.ordinals:
                raise SqlError(1911, name)
        session.engine.journal.assign(
            transaction,
            table,
            "statistics",
            (*table.statistics, Statistic(node.name, tuple(node.columns))),
        )

    return run


@compiles(ast.UpdateStatistics)
def update_statistics(node: ast.UpdateStatistics, context: Context) -> Run:
    """UPDATE STATISTICS table [names]. Raises SqlError 2706, 2767."""
    check_options(context, node.options)

    def run(session: SessionState, variables: Values) -> None:
        _, table, _ = alter(session, node.table, 2706)
        named: list[Index | Statistic] = [*all_indexes(table), *table.statistics]
        known = {item.name.lower() for item in named}
        for name in node.names:
            if name.lower() not in known:
                raise SqlError(2767, name)

    return run


@drops("STATISTICS")
def drop_statistics(session: SessionState, name: ast.ObjectName, if_exists: bool) -> None:
    """DROP STATISTICS table.name. Raises SqlError 3701, 3739 for those of an index."""
    owner = ast.ObjectName(name.pos, name.end, name.parts[:-1])
    _, table, transaction = (
        alter(session, owner, 3701) if _table(session, owner) else (None, None, None)
    )
    if table is not None and any(i.name.lower() == name.name.lower() for i in all_indexes(table)):
        raise SqlError(3739, "DROP", dotted(name))
    left = (
        ()
        if table is None
        else tuple(item for item in table.statistics if item.name.lower() != name.name.lower())
    )
    if table is None or len(left) == len(table.statistics):
        raise SqlError(3701, "drop", "statistics", dotted(name), state=6)
    session.engine.journal.assign(transaction, table, "statistics", left)


def _table(session: SessionState, name: ast.ObjectName) -> bool:
    if name.name.startswith("#") and not name.name.startswith("##"):
        return name.name.lower() in session.temp_tables
    return isinstance(session.database.resolve(name.schema, name.name, session), Table)
