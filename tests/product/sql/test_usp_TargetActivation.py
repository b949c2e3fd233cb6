"""usp_TargetActivation: lands everything, ends first, survives poison and overtaking errors."""

import pytest

from .lab import ERROR, Client, Lab, configured, send

TARGET = "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
INITIATOR = "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 1;"
NOT_POISON = "CHECK (Body IS NULL OR Body <> 0x66)"
"""A constraint whose failure ends the statement only (547)."""
DOOMS = "CHECK (Body IS NULL OR CONVERT(int, CONVERT(varchar(10), Body)) > 0)"
"""A constraint whose failing conversion dooms the transaction (245): the body is no number."""


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def client(lab):
    return Client(lab)


def pause(lab: Lab) -> None:
    """Let messages gather: no readers at the target."""
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = OFF);")
    lab.advance(5)


def resume(lab: Lab) -> None:
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = ON);")
    lab.advance(5)


def queue_is_on(lab: Lab) -> bool:
    return lab.rows("SELECT 1 FROM sys.service_queues WHERE is_receive_enabled = 0;") == []


@pytest.mark.sampled(every=4, meets=("batch", "wait"))
@pytest.mark.parametrize("batch", [1, 2, 500])
@pytest.mark.parametrize("wait", [0, 1000])
def test_a_backlog_lands_in_order_whatever_the_batch(batch, wait):
    """Feature batch / set-based receive: most peers receive TOP (1)."""
    lab = Lab(configured(target={"receive_batch": batch, "receive_wait_ms": wait}))
    client = Client(lab)
    pause(lab)
    for number in range(7):
        client.execute(send(f"0x0{number}"))
    resume(lab)
    assert lab.bodies() == [bytes([n]) for n in range(7)]
    assert [row[0] for row in lab.landed()] == list(range(7))


def test_an_error_that_overtakes_unread_messages_loses_none_of_them(lab, client):
    pause(lab)
    for body in ("0x01", "0x02", "0x03"):
        client.execute(send(body))
    ((handle,),) = lab.rows(INITIATOR)
    lab.sa.execute(f"END CONVERSATION '{handle}' WITH ERROR = 9 DESCRIPTION = N'gone';")
    resume(lab)
    assert lab.bodies() == [b"\x01", b"\x02", b"\x03"]
    assert [kind for _, kind, _ in lab.landed()].count(ERROR) == 1
    assert [state for state, initiator in lab.endpoints() if not initiator] in ([], ["CD"])


def test_without_the_drain_the_loss_is_seen():
    lab = Lab(configured(target={"receive_batch": 1}), mutant="error_not_drained")
    client = Client(lab)
    pause(lab)
    for body in ("0x01", "0x02", "0x03"):
        client.execute(send(body))
    ((handle,),) = lab.rows(INITIATOR)
    lab.sa.execute(f"END CONVERSATION '{handle}' WITH ERROR = 9 DESCRIPTION = N'gone';")
    resume(lab)
    assert lab.bodies() != [b"\x01", b"\x02", b"\x03"]


def test_an_initiator_that_ends_first_leaves_no_disconnected_endpoint(lab, client):
    """Feature leak cleanup: thread dyatchenko#64, hundreds of thousands of DISCONNECTED_INBOUND."""
    client.execute(send("0x01"))
    ((handle,),) = lab.rows(INITIATOR)
    lab.sa.execute(f"END CONVERSATION '{handle}';")
    lab.advance(5)
    assert ("DI", 0) not in lab.endpoints()
    assert lab.bodies() == [b"\x01"]


def test_a_row_that_cannot_land_is_dead_lettered_and_the_others_land(lab, client):
    lab.sa.execute(f"ALTER TABLE audit.Landing ADD {NOT_POISON};")
    pause(lab)
    for body in ("0x01", "0x66", "0x03"):
        client.execute(send(body))
    resume(lab)
    assert lab.bodies() == [b"\x01", b"\x03"]
    assert lab.rows("SELECT Side, MessageSequence, Body, Code FROM audit.DeadLetter;") == [
        ("target", 1, b"\x66", 547)
    ]
    assert queue_is_on(lab)


def test_rows_that_doom_the_transaction_cost_one_rollback_and_the_queue_stays_on(lab, client):
    """Feature poison handling: seed 000's readers are switched off by the broker after five."""
    lab.sa.execute(f"ALTER TABLE audit.Landing ADD {DOOMS};")
    pause(lab)
    for body in ("0x31", "0x61", "0x32", "0x62", "0x63", "0x64", "0x65", "0x66", "0x33"):
        client.execute(send(body))
    resume(lab)
    assert lab.bodies() == [b"1", b"2", b"3"]
    dead = lab.rows("SELECT Body, Code FROM audit.DeadLetter ORDER BY MessageSequence;")
    assert dead == [(bytes([b]), 245) for b in b"abcdef"]
    assert len(lab.errors()) == 1
    assert queue_is_on(lab)


def test_poison_in_every_batch_does_not_switch_the_queue_off():
    lab = Lab(configured(target={"receive_batch": 1}))
    client = Client(lab)
    lab.sa.execute(f"ALTER TABLE audit.Landing ADD {DOOMS};")
    for _ in range(12):
        client.execute(send("0x61"))
    lab.advance(60)
    assert len(lab.rows("SELECT 1 FROM audit.DeadLetter;")) == 12
    assert queue_is_on(lab)
    client.execute(send("0x31"))
    lab.advance(60)
    assert lab.bodies() == [b"1"]


def test_it_leaves_when_the_queue_is_off_and_comes_back_with_it(lab, client):
    client.execute(send("0x01"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    lab.advance(30)
    client.execute(send("0x02"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(30)
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert lab.errors() == []
