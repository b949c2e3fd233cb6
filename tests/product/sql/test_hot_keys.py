"""A key whose senders hand its row on to each other is recycled all the same (F-410)."""

import pytest

from tests.choices import TRAITS, WITH_ROWS

from .lab import Client, Lab, configured, send

AGE, RETRY = 60, 5


def hot_lab(key: str = "application", readers: int = 1) -> Lab:
    return Lab(
        configured(
            conversation={"key": key},
            initiator={"readers": readers},
            pool={"size": 1},
            timer={"after_seconds": AGE, "spread_seconds": 0, "retry_seconds": RETRY},
        )
    )


def sending(body: int, key: str | None = "N'k'") -> str:
    return "BEGIN TRANSACTION;" + send(f"0x{body:02X}", key=key)


def handed_on(crowd: list[Client], body: int, key: str | None) -> None:
    """Who has the row commits and queues up again; the next of the queue has it by then."""
    first = crowd.pop(0)
    first.execute("COMMIT TRANSACTION;")
    first.submit(sending(body, key))
    crowd.append(first)


def recycled(lab: Lab) -> int:
    return lab.rows(
        "SELECT COUNT(*) FROM audit.ConversationLog WITH (NOLOCK) WHERE EndOfStreamUtc IS NOT NULL;"
    )[0][0]


def three_at_work(lab: Lab, key: str | None) -> list[Client]:
    """Three sessions, one of which has the row; the others wait for it."""
    crowd = [Client(lab) for _ in range(3)]
    crowd[0].execute(send("0x01", key=key))
    for body, client in enumerate(crowd):
        client.submit(sending(body, key))
    return crowd


@pytest.mark.parametrize("key", [key for key in WITH_ROWS if TRAITS[key].shared])
def test_a_row_that_is_never_free_is_recycled_at_the_third_try(key):
    """Without a queue for it such a dialog was kept until its lifetime ended, and then failed."""
    lab = hot_lab(key)
    name = "N'k'" if TRAITS[key].named else None
    crowd = three_at_work(lab, name)
    for body, seconds in enumerate((AGE, RETRY, RETRY), start=3):
        assert recycled(lab) == 0
        for _ in range(seconds):
            handed_on(crowd, body, name)
            lab.advance(1)
    for _ in crowd:
        handed_on(crowd, 9, name)
    assert recycled(lab) == 1
    for _ in range(6):
        handed_on(crowd, 10, name)
    assert [client.errors for client in crowd] == [[], [], []]
    assert recycled(lab) == 1 and lab.errors() == []


LOOKED_UP = (
    "BEGIN TRANSACTION; SELECT Handle FROM audit.SessionConversations WITH (UPDLOCK) "
    "WHERE ConfigId = 1 AND ConversationKey = N'{}';"
)
"""A sender between its look-up and SEND: it has the row and not yet the group."""


def test_the_first_two_tries_do_not_wait_and_the_third_waits_for_a_second():
    lab = hot_lab()
    client = Client(lab)
    client.execute(send("0x01", key="N'k'") + LOOKED_UP.format("k"))
    for seconds in (AGE, RETRY):
        lab.advance(seconds)
        assert waiting(lab) == 0
    lab.advance(RETRY)
    for _ in range(6):
        assert waiting(lab) == 1
        lab.advance(1)
        assert waiting(lab) == 0
        lab.advance(RETRY - 1)
    client.execute("COMMIT TRANSACTION;")
    lab.advance(RETRY)
    assert recycled(lab) == 1 and lab.errors() == []
    assert lab.rows(
        "SELECT is_receive_enabled FROM sys.service_queues WHERE name = N'InitiatorQueue';"
    ) == [(1,)]


def waiting(lab: Lab) -> int:
    """Requests that wait for a row."""
    return lab.rows(
        "SELECT COUNT(*) FROM sys.dm_tran_locks "
        "WHERE request_status <> N'GRANT' AND resource_type = N'KEY';"
    )[0][0]
