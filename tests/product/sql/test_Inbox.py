"""delivery = exactly_once: a message id lands once, whoever repeats it.

Feature dedupe / idempotency: seed 004, whose resend may repeat what had arrived.
"""

import pytest

from .lab import Client, Lab, configured

ONCE = {"conversation": {"delivery": "exactly_once"}}
A, B, C = (f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2, 3))
NOT_POISON = "ALTER TABLE audit.Landing ADD CONSTRAINT CK CHECK (Body IS NULL OR Body <> 0x66);"


@pytest.fixture
def lab():
    return Lab(configured(**ONCE))


def send(body: str, message_id: str | None = None) -> str:
    """A call of usp_Send with a message id of the caller's."""
    given = f", @messageId = '{message_id}'" if message_id else ""
    return (
        "EXECUTE audit.usp_Send N'//redial/audit/initiator', N'//redial/audit/target', "
        f"N'//redial/audit/contract', N'//redial/audit/event', {body}{given};"
    )


def inbox(lab: Lab) -> list[tuple[str, int]]:
    """(id, repeats) in the order of the ids."""
    found = lab.rows("SELECT CONVERT(char(36), MessageId), Repeats FROM audit.Inbox ORDER BY 1;")
    return [(i.upper(), n) for i, n in found]


def copies(lab: Lab) -> list[str]:
    """The bodies on the wire, as hexadecimal text, of what was sent and not received yet."""
    rows = lab.rows(
        "SELECT message_body FROM audit.TargetQueue WITH (NOLOCK) "
        "WHERE message_type_name = N'//redial/audit/event' ORDER BY queuing_order;"
    )
    return [f"0x{body.hex()}" for (body,) in rows]


def again(lab: Lab, bodies: list[str]) -> None:
    """The same bytes on a new dialog: what a resend after a lost acknowledgement is."""
    lab.sa.execute(
        "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [//redial/audit/initiator] "
        "TO SERVICE N'//redial/audit/target' ON CONTRACT [//redial/audit/contract] "
        "WITH ENCRYPTION = OFF;"
        + "".join(
            f"SEND ON CONVERSATION @h MESSAGE TYPE [//redial/audit/event] ({b});" for b in bodies
        )
    )


def activation(lab: Lab, status: str) -> None:
    lab.sa.execute(f"ALTER QUEUE audit.TargetQueue WITH ACTIVATION (STATUS = {status});")
    lab.advance(5)


def test_a_callers_own_retry_with_the_same_id_lands_once(lab):
    client = Client(lab)
    client.execute(send("0x01", A))
    lab.advance(5)
    client.execute(send("0x01", A))
    client.execute(send("0x02", B))
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x02"]
    assert inbox(lab) == [(A, 1), (B, 0)]


def test_a_retry_in_one_transaction_is_one_batch_and_lands_once(lab):
    Client(lab).execute("BEGIN TRANSACTION;" + send("0x01", A) * 3 + "COMMIT TRANSACTION;")
    lab.advance(5)
    assert lab.bodies() == [b"\x01"]
    assert inbox(lab) == [(A, 2)]


def test_a_message_without_an_id_of_the_callers_gets_one(lab):
    client = Client(lab)
    client.execute(send("0x01"))
    client.execute(send("0x01"))
    lab.advance(5)
    assert lab.bodies() == [b"\x01", b"\x01"]
    assert len(inbox(lab)) == 2


def test_a_resend_after_a_lost_acknowledgement_lands_once(lab):
    """Seed 004: what is pending may have arrived; F-110."""
    activation(lab, "OFF")
    client = Client(lab)
    for body in ("0x01", "0x02", "0x03"):
        client.execute(send(body))
    again(lab, copies(lab)[1:])
    activation(lab, "ON")
    assert sorted(lab.bodies()) == [b"\x01", b"\x02", b"\x03"]
    assert sorted(n for _, n in inbox(lab)) == [0, 1, 1]
    assert {name for name, *_ in lab.errors()} <= {"usp_DropCopies"}  # no copies of repeats


def test_the_whole_batch_goes_on_behind_a_repeat(lab):
    client = Client(lab)
    client.execute(send("0x02", B))
    lab.advance(5)
    activation(lab, "OFF")
    for body, message_id in (("0x01", A), ("0x02", B), ("0x03", C)):
        client.execute(send(body, message_id))
    activation(lab, "ON")
    assert lab.bodies() == [b"\x02", b"\x01", b"\x03"]
    assert inbox(lab) == [(A, 0), (B, 1), (C, 0)]


def test_a_row_that_cannot_land_is_not_remembered_so_its_replay_is_no_repeat(lab):
    lab.sa.execute(NOT_POISON)
    client = Client(lab)
    client.execute(send("0x66", A))
    lab.advance(5)
    assert inbox(lab) == [] and lab.errors() == []
    ((wire,),) = lab.rows("SELECT Body FROM audit.DeadLetter;")
    lab.sa.execute("ALTER TABLE audit.Landing DROP CONSTRAINT CK;")
    again(lab, [f"0x{wire.hex()}"])
    lab.advance(5)
    assert lab.bodies() == [b"\x66"]
    assert inbox(lab) == [(A, 0)]


READ = "EXECUTE audit.usp_TargetActivation;"
HOLD = "BEGIN TRANSACTION; UPDATE dbo.Door SET Shut = 1;"
DOOR = (
    "CREATE TABLE dbo.Door (Id int NOT NULL PRIMARY KEY, Shut int NOT NULL);"
    "INSERT INTO dbo.Door VALUES (1, 0); GRANT SELECT ON dbo.Door TO audit_module;"
)
AT_THE_DOOR = (
    "CREATE TRIGGER audit.TR_Landing ON audit.Landing AFTER INSERT AS "
    "BEGIN SET NOCOUNT ON; DECLARE @s int; SELECT @s = Shut FROM dbo.Door; END;"
)


@pytest.mark.parametrize("second", [[0, 1, 2], [2, 1, 0], [1]])
def test_two_readers_with_ids_in_common_only_wait_for_each_other(second):
    """The first stops at a door after it has claimed its ids; the second wants the same ones."""
    lab = Lab(configured(**ONCE, target={"receive_wait_ms": 0, "readers": 2}))
    activation(lab, "OFF")
    client = Client(lab)
    for body, message_id in (("0x01", A), ("0x02", B), ("0x03", C)):
        client.execute(send(body, message_id))
    wire = copies(lab)
    again(lab, [wire[i] for i in second])
    lab.sa.execute(DOOR)
    lab.sa.execute(AT_THE_DOOR)
    porter, first, other = Client(lab), Client(lab), Client(lab)
    porter.execute(HOLD)
    first.submit(READ)
    other.submit(READ)
    assert not first.out.finished and not other.out.finished
    porter.execute("COMMIT TRANSACTION;")
    lab.advance(5)
    assert first.out.finished and other.out.finished
    assert first.errors == other.errors == []
    assert sorted(lab.bodies()) == [b"\x01", b"\x02", b"\x03"]
    assert sum(n for _, n in inbox(lab)) == len(second)
    assert {name for name, *_ in lab.errors()} <= {"usp_DropCopies"}  # no copies of repeats
    assert not lab.instance.engine.locks.deadlocks


def test_a_reader_that_rolls_back_frees_its_ids_for_the_one_that_waits():
    lab = Lab(configured(**ONCE, target={"receive_wait_ms": 0, "readers": 2}))
    activation(lab, "OFF")
    Client(lab).execute(send("0x01", A))
    again(lab, copies(lab))
    lab.sa.execute(DOOR)
    lab.sa.execute(AT_THE_DOOR)
    porter, first, other = Client(lab), Client(lab), Client(lab)
    porter.execute(HOLD)
    first.submit(READ)
    other.submit(READ)
    lab.sa.execute(f"KILL {first.session.id};")
    lab.advance(5)
    porter.execute("COMMIT TRANSACTION;")
    lab.advance(30)
    assert lab.bodies() == [b"\x01"]
    assert inbox(lab) == [(A, 1)]
