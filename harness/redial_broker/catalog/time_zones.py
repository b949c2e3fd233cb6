"""sys.time_zone_info: the zones AT TIME ZONE knows (its page)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC
from typing import TYPE_CHECKING

from redial_broker.catalog.views import view
from redial_broker.exec.database import Database
from redial_broker.exec.functions.moments import time_zone, zone_names

if TYPE_CHECKING:
    from redial_broker.engine.needs import RowValues
    from redial_broker.exec.session import SessionState


@view(
    "sys.time_zone_info",
    """
name sysname
current_utc_offset nvarchar(6)
is_currently_dst bit""",
)
def time_zones(session: SessionState, db: Database) -> Iterable[RowValues]:
    """Windows names with the offset they have at the instance's own time."""
    now = session.now().replace(tzinfo=UTC)
    for name in zone_names():
        there = now.astimezone(time_zone(name))
        gap = there.utcoffset()
        assert gap is not None  # it has a zone
        minutes = round(gap.total_seconds() / 60)
        sign = "-" if minutes < 0 else "+"
        offset = f"{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        yield name, offset, int(bool(there.dst()))
