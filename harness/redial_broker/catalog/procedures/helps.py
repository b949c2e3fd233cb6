"""sp_depends, sp_helpindex, sp_recompile and other small helpers (their pages)."""

from __future__ import annotations

from typing import Any

from redial_broker.catalog.names import find_object
from redial_broker.catalog.procedures.arguments import REQUIRED, Call, procedure, result_columns
from redial_broker.engine.errors import SqlError
from redial_broker.engine.storage import Table
from redial_broker.exec.ddl.rebuild import all_indexes
from redial_broker.exec.dependencies import references_of, referrers, resolved
from redial_broker.exec.objects import Module, Procedure, Trigger, View, type_code


def named(call: Call, parameter: str, kinds: type | tuple[type, ...]) -> tuple[Any, Any]:
    """(database, object) an argument names. Raises SqlError 15009."""
    text = call.text(parameter) or ""
    database, item = find_object(call.session, text)
    if not isinstance(item, kinds):
        raise SqlError(15009, text, call.session.database.name)
    return database, item


DEPENDS = result_columns("""
name nvarchar(257)?
type nvarchar(16)?
updated nvarchar(7)
selected nvarchar(8)
column nvarchar(128)?""")
DEPENDENTS = result_columns("""
name nvarchar(257)?
type nvarchar(16)?""")
_WORDS = {
    "U ": "user table",
    "V ": "view",
    "P ": "stored procedure",
    "TR": "trigger",
    "FN": "scalar function",
    "IF": "inline function",
    "TF": "table function",
    "SO": "sequence object",
    "SQ": "service queue",
    "C ": "check cns",
    "D ": "default",
}


@procedure("sp_depends", objname=REQUIRED)
def sp_depends(call: Call) -> int:
    """What an object refers to, and what refers to it; columns are left out (NULL)."""
    database, item = named(call, "objname", (Module, Table))
    session = call.session

    def word(other: Any) -> str:
        return _WORDS.get(type_code(other)[0], type_code(other)[1].lower())

    found = [
        o
        for name in references_of(item)
        if (o := resolved(database, name, item.schema)) is not None
    ]
    users = referrers(database, item)
    if found:
        session.info("In the current database, the specified object references the following:")
        call.answer(DEPENDS, [(f"{o.schema}.{o.name}", word(o), "no", "yes", None) for o in found])
    if users:
        session.info(
            "In the current database, the specified object is referenced by the following:"
        )
        call.answer(DEPENDENTS, [(f"{o.schema}.{o.name}", word(o)) for o in users])
    if not found and not users:
        session.info("Object does not reference any object, and no objects reference it.", 0, 15461)
    return 0


INDEXES = result_columns("""
index_name sysname
index_description varchar(210)?
index_keys nvarchar(2078)?""")


@procedure("sp_helpindex", objname=REQUIRED)
def sp_helpindex(call: Call) -> int:
    """Indexes of a table; message 15472 when there is none."""
    _, table = named(call, "objname", Table)
    indexes = sorted(all_indexes(table), key=lambda index: index.name.lower())
    if not indexes:
        call.session.info(
            f"The object '{call.text('objname')}' does not have any indexes, or you "
            "do not have permissions.",
            0,
            15472,
        )
        return 0
    rows = []
    for index in indexes:
        words = ["clustered" if index.clustered else "nonclustered"]
        words += ["ignore duplicate keys"] * index.options.ignore_dup_key
        words += ["unique"] * index.unique
        words += ["primary key"] * index.primary
        words += ["unique key"] * (index.constraint and not index.primary)
        keys = ", ".join(
            table.columns[i].name + "(-)" * (i in index.descending) for i in index.columns
        )
        rows.append((index.name, f"{', '.join(words)} located on PRIMARY", keys))
    call.answer(INDEXES, rows)
    return 0


@procedure("sp_recompile", objname=REQUIRED)
def sp_recompile(call: Call) -> int:
    """Says that plans will be made anew; there are none to keep."""
    named(call, "objname", (Table, Procedure, Trigger, View))
    call.session.info(
        f"Object '{call.text('objname')}' was successfully marked for recompilation.", 0, 15070
    )
    return 0


@procedure("sp_updatestats", resample="NO")
def sp_updatestats(call: Call) -> int:
    """Nothing to update: no plan depends on statistics here (``ddl.statistics``)."""
    call.session.info("Statistics for all tables have been updated.", 0, 15005)
    return 0
