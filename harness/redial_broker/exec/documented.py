"""Every name SQL Server's documentation has, so that "could not find" is for names nobody has.

A look-up that finds nothing asks here whether a server would have found something: then the broker
refuses by name (60001). ``documented.txt`` is made by tools/documented_names.py; what it may lack
because no page describes it stands here.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

UNDOCUMENTED = {
    "procedures": frozenset(
        [
            "sp_columns_100",
            "sp_datatype_info_100",
            "sp_dboption",
            "sp_enumerrorlogs",
            "sp_msforeachdb",
            "sp_msforeachtable",
            "sp_readerrorlog",
            "sp_sproc_columns_100",
            "sp_statistics_100",
            "sp_who2",
            "xp_dirtree",
            "xp_enumerrorlogs",
            "xp_fileexist",
            "xp_fixeddrives",
            "xp_instance_regread",
            "xp_readerrorlog",
            "xp_regread",
        ]
    ),
    "views": frozenset(
        [
            "dm_os_ring_buffers",
            "server_files",
            "sysdercv",
            "sysdesend",
            "sysxmitbody",
            "sysxmitqueue",
            "via_endpoints",
        ]
    ),
    "tables": frozenset({"spt_monitor", "spt_values"}),
    "functions": frozenset({"@@MICROSOFTVERSION"}),
    "system functions": frozenset(
        {"fn_varbintohexstr", "fn_varbintohexsubstring", "fn_sqlvarbasetostr"}
    ),
}
"""Names that a server has and public scripts use, though no page is theirs."""

NOT_SCALAR = frozenset({"GENERATE_SERIES", "OPENJSON", "STRING_SPLIT"})
"""Functions that stand only in FROM, and run there: elsewhere a server does not know them (195)."""

OWN_SCHEMAS = frozenset({"cdc", "core", "jobs", "managed_backup"})
"""Schemas of documented tables and procedures besides dbo."""

HOMES = frozenset({"distribution", "msdb"})
"""Databases that have documented tables from the beginning; master has those of ``UNDOCUMENTED``."""


@cache
def _all() -> dict[str, frozenset[str]]:
    """Heading of the list -> its names."""
    found: dict[str, set[str]] = {}
    names: set[str] = set()
    text = (files("redial_broker") / "exec" / "documented.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            names = found.setdefault(line.strip("[]"), set())
        elif line and not line.startswith("#"):
            names.add(line)
    return {kind: frozenset(of) | UNDOCUMENTED.get(kind, frozenset()) for kind, of in found.items()}


def names(kind: str) -> frozenset[str]:
    """The names under one heading of the list: functions, DBCC commands, options and views of
    INFORMATION_SCHEMA in upper case, all others in lower case."""
    return _all()[kind]


def procedure(schema: str | None, name: str) -> bool:
    """Whether a server has that system procedure."""
    lowered, owner = name.lower(), (schema or "sys").lower()
    listed = lowered if owner in {"dbo", "sys"} else f"{owner}.{lowered}"
    return listed in names("procedures")


def relation(database: str, schema: str | None, name: str) -> str | None:
    """What a server has under a name in FROM that the broker has not; None for nothing.

    Only old views (syscolumns) are found without their schema; tables of replication, jobs and
    backups are in the databases that keep them, so a user's database has none of these names.
    """
    lowered, owner = name.lower(), (schema or "dbo").lower()
    if owner == "information_schema":
        shown = name.upper()
        return (
            f"the view INFORMATION_SCHEMA.{shown}" if shown in names("information_schema") else None
        )
    if lowered in names("views") and (
        owner == "sys" or (owner == "dbo" and lowered.startswith("sys"))
    ):
        return f"the system view {name}"
    if lowered in names("tables"):
        here = database.lower()
        old = here == "master" and lowered in UNDOCUMENTED["tables"]
        if (owner == "dbo" and (here in HOMES or old)) or owner in OWN_SCHEMAS or owner == "sys":
            return f"the system table {name}"
    return None


def scalar(schema: str | None, name: str) -> bool:
    """Whether a server has that built-in function, or that one of schema sys or of master's dbo."""
    if schema is None:
        return name.upper() in names("functions") - NOT_SCALAR
    return _of_schema(schema, name) or schema.upper() == "$PARTITION"


def rowset(schema: str | None, name: str) -> bool:
    """Whether a server has that function for FROM."""
    if schema is None:
        lowered = name.lower()
        return name.upper() in names("functions") or lowered in names("system functions")
    return _of_schema(schema, name)


def _of_schema(schema: str, name: str) -> bool:
    """System functions are called with their schema; dynamic management functions are among the
    views' pages. Functions of change data capture belong to schema cdc."""
    lowered = name.lower()
    if schema.lower() not in {"sys", "dbo", "msdb", "cdc"}:
        return False
    listed = lowered in names("system functions")
    return listed or (schema.lower() == "sys" and lowered in names("views"))
