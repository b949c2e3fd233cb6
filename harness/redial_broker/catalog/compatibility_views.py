"""sysobjects and sysdatabases: the system tables of SQL Server 2000 as views.

"System Compatibility Views" and the pages of each view; what a status bit means is documented for
few of them, so the columns that hold such bits are refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from redial_broker.catalog.object_views import object_row, seen_objects
from redial_broker.catalog.views import system_id, view
from redial_broker.engine.differences import differs
from redial_broker.engine.types import INT, ResultColumn, nvarchar, sql_type
from redial_broker.exec.database import Database
from redial_broker.exec.objects import MASTER_TABLES, SYSTEM_VIEWS, VirtualTable

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState

_OLD_TYPES = {"PK": "K ", "UQ": "K "}
"""Column type of sysobjects where it is another than xtype."""


@view(
    "sys.sysobjects",
    """
name sysname
id int
xtype char(2)
uid smallint?
- info smallint
- status int
base_schema_ver int = 0
replinfo int = 0
parent_obj int
crdate datetime
ftcatid smallint = 0
schema_ver int = 0
stats_schema_ver int = 0
type char(2)
- userstat smallint
- sysstat smallint
- indexdel smallint
refdate datetime
version int = 0
deltrig int = 0
instrig int = 0
updtrig int = 0
seltrig int = 0
- category int
cache smallint = 0""",
)
def sysobjects(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The objects of sys.objects under their old column names."""
    for item in seen_objects(session, db):
        name, number, _, schema, parent, code, _, created, _ = object_row(db, item)
        yield name, number, code, schema, parent, created, _OLD_TYPES.get(code, code), created


@view(
    "sys.sysdatabases",
    """
name sysname
dbid smallint
sid varbinary(85)?
mode smallint? = 0
- status int
- status2 int
crdate datetime
reserved datetime? = None
- category int
cmptlevel tinyint
- filename nvarchar(260)
version smallint? = 957""",
)
def sysdatabases(session: SessionState, db: Database) -> Iterable[RowValues]:
    """The databases of sys.databases under their old column names."""
    databases = SYSTEM_VIEWS[("sys", "databases")]
    names = [column.name for column in databases.columns]
    wanted = ("name", "database_id", "owner_sid", "create_date", "compatibility_level")
    places = [names.index(name) for name in wanted]
    for row in databases.compute(session, db):
        yield tuple(row[place] for place in places)


differs(
    "master.dbo.spt_values",
    "No page describes it. It has the rows scripts count with, the numbers 0 to 2047 of type P, "
    "and none of the others.",
)

NUMBERS = [(None, n, "P  ", n // 8 + 1, 1 << n % 8, 0) for n in range(2048)]
"""Rows of spt_values: a number, and where its bit is in a string of bytes."""

MASTER_TABLES["spt_values"] = VirtualTable(
    "spt_values",
    "dbo",
    [
        ResultColumn("name", nvarchar(35), True),
        ResultColumn("number", INT, False),
        ResultColumn("type", sql_type("nchar", 3), False),
        ResultColumn("low", INT, True),
        ResultColumn("high", INT, True),
        ResultColumn("status", INT, True),
    ],
    lambda session, database: list(NUMBERS),
    system_id("dbo.spt_values"),
)
