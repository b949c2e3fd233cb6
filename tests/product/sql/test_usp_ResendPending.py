"""usp_ResendPending: every pending message is resent byte-exact and in order, or dead-lettered."""

import re

import pytest

from tests.installed import rendered

from .lab import AUDIT, Client, Lab, configured, send

SHORT = configured(
    conversation={"lifetime_seconds": 600, "longest_transaction_seconds": 30},
    timer={"after_seconds": 500, "spread_seconds": 0, "retry_seconds": 5},
)
BODIES = {
    "NULL": None,
    "0x07": b"\x07",
    "CONVERT(varbinary(max), REPLICATE(CONVERT(varchar(max), 'x'), 1048576))": b"x" * 1_048_576,
    "0x00FF10008000": b"\x00\xff\x10\x00\x80\x00",
    "CONVERT(varbinary(max), CONVERT(xml, N'<a b=\"1\">t</a>'))": None,
    "CONVERT(varbinary(max), N'Журнал 漢字')": "Журнал 漢字".encode("utf-16-le"),
}


def sender(lab: Lab) -> Client:
    """A client with a dialog that works, and the target queue off after it."""
    client = Client(lab)
    client.execute(send("0xAA"))
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = OFF;")
    return client


def send_value(client: Client, expression: str) -> None:
    client.execute(f"DECLARE @b varbinary(max) = {expression};" + send("@b"))


def test_pending_bodies_are_resent_byte_exact_and_in_order_when_the_lifetime_is_over():
    """Feature resend of pending on error: seed 004, whose comment asks who makes @newConversation."""
    lab = Lab(SHORT)
    client = sender(lab)
    expected = []
    for expression, body in BODIES.items():
        if "xml" in expression:
            body = client.execute(f"SELECT {expression};")[0][0]
        send_value(client, expression)
        expected.append(body)
    lab.advance(610)
    assert lab.landed()[1:] == []
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\xaa", *expected]
    (resent,) = lab.rows("SELECT Code, Resent FROM audit.ConversationLog WHERE Code < 0;")
    assert resent == (-8489, len(expected))
    assert lab.rows("SELECT 1 FROM audit.DeadLetter;") == []
    assert {state for state, _ in lab.endpoints()} <= {"CD"}
    assert lab.errors() == []


def test_the_seeds_varbinary_without_a_length_is_caught():
    lab = Lab(SHORT, mutant="resend_one_byte")
    client = sender(lab)
    send_value(client, "0x010203")
    lab.advance(610)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    # What lands is not what was sent, so the copy stays, and is sent again.
    assert set(lab.bodies()) == {b"\xaa", b"\x01"}


@pytest.mark.parametrize("code", ["-8494", "-8425", "-8470", "5", "NULL"])
def test_every_other_code_dead_letters_byte_exact_with_code_and_sequence(code):
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x010203")
    send_value(client, "NULL")
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending '{lab.handle()}', {code}, N'why';")
    assert lab.rows(
        "SELECT Side, MessageSequence, MessageType, Body, Code, Reason FROM audit.DeadLetter "
        "ORDER BY DeadLetterId;"
    ) == [
        ("initiator", n, "//redial/audit/event", body, None if code == "NULL" else int(code), "why")
        for n, body in ((1, b"\x01\x02\x03"), (2, None))
    ]
    assert lab.rows("SELECT 1 FROM sys.transmission_queue WHERE is_conversation_error = 0;") == []


@pytest.mark.parametrize("code", [0, -8489, -8462, -9719, -9720, -28052])
def test_recoverable_codes_resend_on_a_dialog_that_ends_too(code):
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x0102")
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending '{lab.handle()}', {code};")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\xaa", b"\x01\x02"]
    assert lab.rows("SELECT Messages FROM audit.ConversationLog WHERE ResendOf IS NOT NULL;") == [
        (1,)
    ]
    assert [state for state, initiator in lab.endpoints() if initiator] == []


def test_a_pending_end_of_stream_is_not_resent():
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x0102")
    lab.advance(505)
    ((pending,),) = lab.rows(
        "SELECT COUNT(*) FROM sys.transmission_queue WHERE message_type_name = N'EndOfStream';"
    )
    assert pending == 1
    lab.advance(110)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\xaa", b"\x01\x02"]
    assert [kind for _, kind, _ in lab.landed()].count("EndOfStream") == 1


def test_a_module_user_who_sees_no_pending_message_loses_none():
    """sys.transmission_queue shows its rows to db_owner only (F-113); the copies are our own."""
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x0102")
    handle = lab.handle()
    lab.sa.execute(f"EXECUTE audit.usp_ResendPending '{handle}', -8489;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\xaa", b"\x01\x02"]


def test_ending_blindly_is_caught():
    lab = Lab(SHORT, mutant="end_blindly")
    client = sender(lab)
    send_value(client, "0x0102")
    lab.sa.execute("ALTER ROLE db_owner DROP MEMBER audit_module;")
    lab.advance(610)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\xaa"]


def test_a_failing_resend_rolls_all_of_it_back_and_the_messages_stay_pending():
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x0102")
    handle = lab.handle()
    lab.sa.execute("ALTER TABLE audit.ConversationLog ADD CHECK (ResendOf IS NULL);")
    assert lab.sa.fail(f"EXECUTE audit.usp_ResendPending '{handle}', -8489;") == 547
    assert lab.sa.value("@@TRANCOUNT") == 0
    assert lab.rows("SELECT message_body FROM sys.transmission_queue;") == [(b"\x01\x02",)]
    assert ("CO", 1) in lab.endpoints()


@pytest.mark.parametrize("code, table", [(50001, "DeadLetter"), (0, "ConversationLog")])
def test_in_an_operators_transaction_a_copy_that_fails_does_not_go_on_to_end(code, table):
    """With XACT_ABORT OFF and no TRY what failed was passed over, and END deleted the rest."""
    lab = Lab(SHORT)
    client = sender(lab)
    client.execute(send("0x01"))
    handle = lab.handle()
    lab.sa.execute(
        f"ALTER TABLE audit.{table} WITH NOCHECK ADD CONSTRAINT CK_Never "
        f"CHECK ({'Body' if table == 'DeadLetter' else 'ResendOf'} IS NULL);"
    )
    operator = Client(lab)
    call = f"EXECUTE audit.usp_ResendPending '{handle}', {code};"
    assert operator.fail(f"BEGIN TRANSACTION; {call} COMMIT TRANSACTION;") == 547
    assert operator.value("@@TRANCOUNT") == 0
    assert lab.endpoints() == [("CO", 0), ("CO", 1)]
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    # What lands is not what was sent, so the copy stays, and is sent again.
    assert set(lab.bodies()) == {b"\xaa", b"\x01"}


def test_in_activation_a_resend_that_fails_is_dead_lettered_after_five_errors():
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x0102")
    lab.sa.execute("ALTER TABLE audit.ConversationLog ADD CHECK (ResendOf IS NULL);")
    lab.advance(640)
    assert lab.rows("SELECT Body, Code FROM audit.DeadLetter;") == [(b"\x01\x02", -8489)]
    assert [number for _, number, _ in lab.errors()] == [547] * 6, (
        "its own five, and one of usp_ResendStranded"
    )
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt;") == []


def test_a_reader_stays_while_something_is_left_though_no_message_comes():
    """1. Somebody holds the target's side. 2. The lifetime is over, and the copy cannot be sent again.
    3. He lets go, twenty minutes later."""
    lab = Lab(SHORT)
    send_value(sender(lab), "0x0102")
    ((target,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    somebody = Client(lab)
    somebody.execute(f"BEGIN TRANSACTION; BEGIN CONVERSATION TIMER ('{target}') TIMEOUT = 60;")
    lab.advance(1800)
    assert lab.rows("SELECT Attempts FROM audit.PoisonAttempt;") == [(0,)], "a lock blames nothing"
    somebody.execute("ROLLBACK TRANSACTION;")
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(10)
    assert lab.bodies() == [b"\xaa", b"\x01\x02"] and lab.errors() == []
    assert lab.rows("SELECT 1 FROM audit.PoisonAttempt;") == []


@pytest.mark.parametrize("which", ["target's", "somebody else's", "gone"])
def test_a_handle_that_is_not_the_initiators_of_this_configuration_is_refused(which):
    lab = Lab()
    Client(lab).execute(send())
    if which == "somebody else's":
        lab.sa.execute(
            "CREATE QUEUE dbo.Q; CREATE SERVICE Other ON QUEUE dbo.Q; "
            "DECLARE @h uniqueidentifier; "
            "BEGIN DIALOG @h FROM SERVICE Other TO SERVICE N'x' WITH ENCRYPTION = OFF;"
        )
    query = {
        "target's": "WHERE ce.is_initiator = 0",
        "somebody else's": "INNER JOIN sys.services AS s ON s.service_id = ce.service_id "
        "WHERE s.name = N'Other'",
        "gone": "WHERE 1 = 0",
    }[which]
    before = lab.endpoints()
    number = lab.sa.fail(
        "DECLARE @h uniqueidentifier = NEWID(); SELECT @h = ce.conversation_handle "
        f"FROM sys.conversation_endpoints AS ce {query}; "
        "EXECUTE audit.usp_ResendPending @handle = @h, @code = NULL;"
    )
    assert number == 50112
    assert lab.endpoints() == before


LIMITED = configured(
    conversation={"lifetime_seconds": 600, "longest_transaction_seconds": 30},
    timer={"after_seconds": 500, "spread_seconds": 0, "retry_seconds": 5},
    operations={"resend_limit": 4},
)


@pytest.mark.parametrize("number", [4, 5])
def test_a_resend_that_is_too_large_for_activation_waits_for_an_operator(number):
    """One transaction whatever its size (F-373)."""
    lab = Lab(LIMITED)
    client = sender(lab)
    bodies = [bytes([n]) for n in range(number)]
    for body in bodies:
        send_value(client, "0x" + body.hex())
    handle = lab.handle()
    lab.advance(605)
    found = [row for row in lab.rows("EXECUTE audit.usp_Health;") if "too large" in row[1]]
    if number == 4:
        assert found == [] and lab.errors() == []
    else:
        ((_, _, text),) = lab.errors()
        assert "more than 4 messages" in text
        ((priority, _, where, *_),) = found
        assert (priority, where.upper()) == (10, handle.upper())
        assert lab.rows("SELECT 1 FROM audit.SessionConversations;") == []
        (call,) = re.findall(r"EXECUTE .+?, @code = -?\d+;", text)
        lab.sa.execute(call)
    lab.sa.execute("ALTER QUEUE audit.TargetQueue WITH STATUS = ON;")
    lab.advance(60)
    assert lab.bodies() == [b"\xaa", *bodies]
    assert {state for state, _ in lab.endpoints()} <= {"CD"}
    assert lab.rows("SELECT 1 FROM audit.DeadLetter;") == []


def test_an_operators_resend_and_a_reader_of_the_dialog_take_their_locks_in_one_order():
    """A reader holds G and asks for the log row; the other way round would be a deadlock."""
    lab = Lab(SHORT)
    client = sender(lab)
    send_value(client, "0x0102")
    handle = lab.handle()
    lab.sa.execute("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
    lab.advance(610)
    operator, reader = Client(lab), Client(lab)
    reader.execute(
        "BEGIN TRANSACTION; RECEIVE TOP (1) message_type_name FROM audit.InitiatorQueue;"
    )
    operator.submit(f"EXECUTE audit.usp_ResendPending '{handle}', -8489;")
    assert not operator.out.finished
    reader.execute(
        f"UPDATE audit.ConversationLog SET Reason = N'x' WHERE Handle = '{handle}'; ROLLBACK;"
    )
    lab.settle()
    assert operator.out.finished and not operator.errors


@pytest.mark.parametrize(
    "name",
    [
        "usp_ResendPending",
        "usp_Drain",
        "usp_ReplayDeadLetter",
        "usp_RetireIdle",
        "usp_EndLeaked",
        "usp_Health",
    ],
)
def test_a_callers_rowcount_cuts_nothing(name):
    """SET ROWCOUNT limits INSERT ... SELECT and static cursors in what is called (F-331), and END
    would drop what a resend has not seen. The embedded broker refuses the option: text only."""
    (text,) = [text for file, text in rendered(AUDIT).items() if f"_{name}." in file]
    reads = re.search(r"^\s+(SELECT|INSERT|DELETE|UPDATE)\b", text, re.M)
    assert "    SET ROWCOUNT 0; " in text[: reads.start()]
