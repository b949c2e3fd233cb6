"""What an operator runs as a fault: queues go off and on, a side of a dialog is ended."""

from __future__ import annotations

import pytest

from redial_lab.end_conversation import WITH_CLEANUP
from redial_lab.explore import World
from redial_lab.explore.operators import (
    WITH_ERROR,
    ends_now,
    error_message,
    queue_off,
    queue_off_and_on,
    queue_on,
    target_ends,
)
from tests.lab.explore.ends import found
from tests.lab.explore.tables import DIALOG, SEND_AGAIN


def endpoints(world: World) -> str:
    broker = world.instance.server.database("d").broker
    return " ".join(sorted(e.state() for e in broker.endpoints.values()))


def test_a_target_that_ends_first_and_one_that_ends_with_an_error():
    """DI and CD (told, not yet ended), or ER and CD; CO, CO where a message lay unread."""
    read = f"{DIALOG} RECEIVE conversation_handle FROM dbo.qb;"
    assert {"CD DI", "CO CO"} == found(read, target_ends("d", "dbo.qb"), look=endpoints)[0]
    assert {"CD ER", "CO CO"} == found(read, error_message("d", "dbo.qb"), look=endpoints)[0]
    assert {"CO CO"} == found(DIALOG, target_ends("d", "dbo.qb"), look=endpoints)[0]


IN_FLIGHT = f"BEGIN TRANSACTION; {SEND_AGAIN} COMMIT TRANSACTION;"


def lying(world: World) -> str:
    """States of both sides, and how many messages of the dialog are left anywhere."""
    broker = world.instance.server.database("d").broker
    left = sum(
        len(e.inbox.rows) + len(e.pending) for e in broker.endpoints.values() if not e.is_initiator
    )
    return f"{endpoints(world)} {left}"


@pytest.mark.parametrize(("how", "told"), [("", "DI"), (WITH_ERROR, "ER"), (WITH_CLEANUP, "CO")])
def test_a_target_that_is_ended_now_takes_what_is_on_its_way(how, told):
    """The polite one gives up as long as anything is there, or waits for the sender's commit."""
    now = ends_now("now", "d", initiator=False, how=how)
    after = f"{told}" if how == WITH_CLEANUP else f"CD {told}"
    before = {"CO CO 2"}
    assert found(IN_FLIGHT, now, look=lying, warm=(DIALOG,))[0] - before == {
        f"{after} 0",
        *({"ER 0"} if how == WITH_CLEANUP else set()),
    }
    assert found(IN_FLIGHT, target_ends("d", "dbo.qb"), look=lying, warm=(DIALOG,))[0] == before


def test_an_initiator_that_is_ended_now_waits_for_its_sender():
    seen, result = found(
        IN_FLIGHT, ends_now("now", "d", initiator=True), look=endpoints, warm=(DIALOG,)
    )
    assert seen == {"CO CO", "DI"}
    assert result.taken["now"] > 0


def queue(world: World) -> str:
    return str(world.instance.server.database("d").resolve("dbo", "qb").enabled)


@pytest.mark.parametrize(
    ("faults", "ends"),
    [
        ((queue_off("dbo.qb", "d"),), {"True", "False"}),
        ((queue_off_and_on("dbo.qb", "d"),), {"True"}),
        ((queue_off("dbo.qb", "d"), queue_on("dbo.qb", "d")), {"True", "False"}),
    ],
    ids=["off", "off and on", "off, on"],
)
def test_a_queue_goes_off_and_on(faults, ends):
    assert found(DIALOG, *faults, look=queue)[0] == ends
