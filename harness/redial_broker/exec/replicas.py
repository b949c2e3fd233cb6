"""A database's part in an availability group, and an owner that is gone: what a test arranges.

No statement here makes an availability group or restores a copy; tests call these functions, and
what they arrange shows in the catalog as it would on a server ("sys.databases" page: replica_id,
group_database_id; owner_sid).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from redial_broker.engine.differences import differs
from redial_broker.engine.ids import stream_guid
from redial_broker.engine.state import definition
from redial_broker.ssb.ends import broker_altered

if TYPE_CHECKING:
    from redial_broker.exec.database import Database

differs(
    "availability groups",
    "There is no second replica: a test says which database is in a group and whether it is the "
    "primary (``redial_broker.exec.replicas``). The views and errors about it are a server's.",
)

STRANGER = bytes.fromhex("7D0C5F4B2A9E4E4C8B1D3F60A1C2D3E4")
"""A SID nobody here has: of a SQL login of another server."""


@definition()
@dataclass(frozen=True, slots=True)
class Replica:
    """This instance's copy of a database of an availability group."""

    replica_id: str
    """sys.databases.replica_id."""
    group_database_id: str
    """sys.databases.group_database_id."""
    primary: bool = True
    """Whether it can be written to here."""
    readable: bool = True
    """Of a secondary: whether it lets readers in (976 if not)."""


def join_group(database: Database, *, primary: bool = True, readable: bool = True) -> None:
    """Make the database part of an availability group, as the primary or as a secondary."""
    seed = database.engine.seed
    _change(
        database,
        Replica(
            stream_guid(seed, "replica", 0),
            stream_guid(seed, f"replica/{database.name.lower()}", 1),
            primary,
            readable,
        ),
    )


def fail_over(database: Database) -> None:
    """The primary becomes a secondary, or the other way round."""
    if database.group is None:
        raise ValueError(f"database {database.name}: it is in no availability group")
    _change(database, replace(database.group, primary=not database.group.primary))


def leave_group(database: Database) -> None:
    """The database is an ordinary one again."""
    _change(database, None)


def lose_owner(database: Database, sid: bytes | None = STRANGER) -> None:
    """Whoever owned the database has no login here: a restored copy. sid: None shows NULL."""
    journal = database.engine.journal
    journal.assign(None, database, "owner", "")
    journal.assign(None, database, "lost_owner", sid)
    database.bump()


def _change(database: Database, group: Replica | None) -> None:
    database.engine.journal.assign(None, database, "group", group)
    if database.broker is not None:
        broker_altered(database.broker)
    for other in database.server.databases.values():
        other.bump()
