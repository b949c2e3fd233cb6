"""Functions for triggers: TRIGGER_NESTLEVEL, COLUMNS_UPDATED, EVENTDATA (their pages)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redial_broker.catalog.functions import function
from redial_broker.exec.ddl.ddl_triggers import DdlFiring, event_data
from redial_broker.exec.triggers import columns_updated, trigger_depth

if TYPE_CHECKING:
    from redial_broker.exec.session import SessionState


@function("TRIGGER_NESTLEVEL", optional=3)
def trigger_nestlevel(session: SessionState, *given: Any) -> int | None:
    """How deep triggers are nested, all or one of them, by kind; NULL for an argument of NULL.

    (object_id, AFTER | IOT, DML | DDL). An object id of 0 stands for every trigger.
    """
    if not given:
        return trigger_depth(session)
    if None in given:
        return None
    timing = str(given[1]).upper() if len(given) > 1 else None
    category = str(given[2]).upper() if len(given) > 2 else None
    count = 0
    for frame in session.frames:
        if frame.firing is None or given[0] not in {0, frame.program.object_id}:
            continue
        ddl = isinstance(frame.firing, DdlFiring)
        trigger = frame.firing.triggers[0]
        instead = not ddl and trigger.node.timing == "INSTEAD OF"
        if (timing is None or (timing == "IOT") == instead) and (
            category is None or (category == "DDL") == ddl
        ):
            count += 1
    return count


@function("COLUMNS_UPDATED")
def columns_updated_(session: SessionState) -> bytes | None:
    """Which columns the statement that fired the trigger assigned to."""
    return columns_updated(session)


@function("EVENTDATA")
def eventdata(session: SessionState) -> str | None:
    """What happened, inside a DDL trigger."""
    return event_data(session)
