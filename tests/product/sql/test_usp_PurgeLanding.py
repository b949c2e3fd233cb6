"""Retention: usp_AcknowledgeLanding, usp_PurgeLanding, usp_PurgePoison, usp_PurgeInbox."""

import pytest

from .lab import Client, Lab, configured, send

DAY = 86_400
YEARS = {"lifetime_seconds": 2**31 - 1}
SLOW = {"timer": {"after_seconds": 400 * DAY}, "conversation": YEARS}
PURGE = "EXECUTE audit.usp_PurgeLanding "
ACKNOWLEDGE = (
    "DECLARE @mark binary(8) = MIN_ACTIVE_ROWVERSION(); "
    "EXECUTE audit.usp_AcknowledgeLanding @reader = N'{}', @upTo = @mark;"
)


@pytest.fixture
def lab():
    return Lab(configured(**SLOW, retention={"landing_days": 30, "log_days": 0}))


def landed(lab: Lab, *bodies: str) -> None:
    client = Client(lab)
    for body in bodies:
        client.execute(send(body))
    lab.advance(5)


def acknowledge(lab: Lab, reader: str = "lake") -> None:
    lab.sa.execute(ACKNOWLEDGE.format(reader))


def affected(lab: Lab, arguments: str) -> int:
    return lab.rows(PURGE + arguments + ";")[0][3]


def test_only_rows_that_are_old_and_acknowledged_go(lab):
    landed(lab, "0x01", "0x02")
    acknowledge(lab)
    landed(lab, "0x03")
    lab.advance(31 * DAY)
    landed(lab, "0x04")
    assert affected(lab, "@WhatIf = 0") == 2
    assert lab.bodies() == [b"\x03", b"\x04"]
    acknowledge(lab)
    assert affected(lab, "@WhatIf = 0") == 1
    assert lab.bodies() == [b"\x04"]


def test_nothing_is_deleted_unless_it_is_told_to(lab):
    landed(lab, "0x01")
    acknowledge(lab)
    lab.advance(31 * DAY)
    ((what_if, _, below, count),) = lab.rows(PURGE + ";")
    assert (what_if, count) == (True, 1) and below is not None
    assert lab.bodies() == [b"\x01"]


def test_the_slowest_reader_decides(lab):
    landed(lab, "0x01")
    acknowledge(lab, "slow")
    landed(lab, "0x02")
    acknowledge(lab, "fast")
    lab.advance(31 * DAY)
    assert affected(lab, "@WhatIf = 0") == 1
    assert lab.bodies() == [b"\x02"]
    lab.sa.execute("EXECUTE audit.usp_AcknowledgeLanding @reader = N'slow', @forget = 1;")
    assert affected(lab, "@WhatIf = 0") == 1


def test_a_mark_of_the_operators_can_lower_what_is_acknowledged_and_not_raise_it(lab):
    landed(lab, "0x01")
    mark = lab.sa.value("MIN_ACTIVE_ROWVERSION()")
    landed(lab, "0x02")
    acknowledge(lab)
    landed(lab, "0x03")
    lab.advance(31 * DAY)
    assert affected(lab, f"@upTo = 0x{mark.hex()}") == 1
    assert affected(lab, "@upTo = 0xFFFFFFFFFFFFFFFF") == 2


def test_without_any_reader_the_mark_must_be_given(lab):
    landed(lab, "0x01")
    lab.advance(31 * DAY)
    assert lab.sa.fail(PURGE + ";") == 50180
    assert affected(lab, "@upTo = 0xFFFFFFFFFFFFFFFF, @WhatIf = 0") == 1


def test_a_mark_ahead_takes_no_row_that_lands_while_it_runs(lab):
    """Nothing young is there to be seen, so the mark itself must end what is deleted."""
    landed(lab, "0x01")
    lab.advance(31 * DAY)
    mark = lab.sa.value("MIN_ACTIVE_ROWVERSION()")
    ((_, _, below, count),) = lab.rows(PURGE + "@upTo = 0xFFFFFFFFFFFFFFFF;")
    assert (bytes(below), count) == (bytes(mark), 1)


def test_it_goes_in_small_transactions_from_the_old_end(lab):
    landed(lab, *(f"0x0{n}" for n in range(1, 8)))
    acknowledge(lab)
    lab.advance(31 * DAY)
    lab.sa.execute(PURGE + "@batch = 3, @WhatIf = 0, @Debug = 1;")
    lines = [m.text for m in lab.sa.out.messages if "deleted" in m.text]
    assert [line.split()[0] for line in lines] == ["3", "3", "1", "0"]
    assert lab.bodies() == []


def test_an_insert_that_is_not_committed_is_neither_waited_for_nor_made_to_wait(lab):
    landed(lab, "0x01")
    acknowledge(lab)
    lab.advance(31 * DAY)
    writer = Client(lab)
    insert = (
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType) "
        "VALUES (NEWID(), 0, N'x');"
    )
    writer.execute("BEGIN TRANSACTION;" + insert)
    purge = Client(lab)
    purge.submit(
        "BEGIN TRY " + PURGE + "@upTo = 0xFFFFFFFFFFFFFFFF, @WhatIf = 0; END TRY "
        "BEGIN CATCH THROW; END CATCH;"
    )
    assert purge.out.finished and purge.errors == []
    writer.execute(insert + "COMMIT TRANSACTION;")
    assert lab.bodies() == []


def test_a_row_somebody_reads_is_left_for_the_next_run(lab):
    landed(lab, "0x01", "0x02")
    acknowledge(lab)
    lab.advance(31 * DAY)
    reader = Client(lab)
    reader.execute(
        "BEGIN TRANSACTION; SELECT Body FROM audit.Landing WITH (REPEATABLEREAD) WHERE Body = 0x01;"
    )
    assert affected(lab, "@WhatIf = 0") == 1
    reader.execute("COMMIT TRANSACTION;")
    affected(lab, "@WhatIf = 0")
    assert lab.bodies() == []


def gone_below(lab: Lab) -> bytes | None:
    """The purge's own row: rows below this mark may be gone."""
    rows = lab.rows(
        "SELECT UpTo FROM audit.LandingAcknowledged WHERE Reader = N'usp_PurgeLanding';"
    )
    return bytes(rows[0][0]) if rows else None


def test_what_is_gone_is_told_and_never_taken_back(lab):
    landed(lab, "0x01", "0x02")
    acknowledge(lab)
    affected(lab, "@WhatIf = 0")
    assert gone_below(lab) is None, "nothing was old enough"
    lab.advance(31 * DAY)
    affected(lab, "@WhatIf = 1")
    assert gone_below(lab) is None, "nothing went"
    highest = int.from_bytes(bytes(lab.sa.value("(SELECT MAX(RowVersion) FROM audit.Landing)")))
    affected(lab, "@batch = 1, @WhatIf = 0")
    told = (highest + 1).to_bytes(8)
    assert gone_below(lab) == told
    affected(lab, "@WhatIf = 0")
    assert gone_below(lab) == told


def test_the_purges_own_row_is_nobodys_to_change(lab):
    call = "EXECUTE audit.usp_AcknowledgeLanding @reader = N'usp_PurgeLanding', "
    assert lab.sa.fail(call + "@upTo = 0x01;") == 50183
    assert lab.sa.fail(call + "@forget = 1;") == 50183


def meets_the_purge(lab: Lab, sql: str) -> tuple[Client, Client]:
    """1 the purge has taken its mark and waits for its own row, which somebody reads; 2 ``sql`` is
    run; 3 the purge goes on. The purge, and who ran ``sql``."""
    landed(lab, "0x01")
    acknowledge(lab)
    lab.advance(31 * DAY)
    affected(lab, "@WhatIf = 0")
    landed(lab, "0x02")
    acknowledge(lab)
    lab.advance(31 * DAY)
    looker, purge, reader = Client(lab), Client(lab), Client(lab)
    looker.execute(
        "BEGIN TRANSACTION; SELECT UpTo FROM audit.LandingAcknowledged WITH (REPEATABLEREAD) "
        "WHERE Reader = N'usp_PurgeLanding';"
    )
    purge.submit(PURGE + "@WhatIf = 0, @Debug = 1;")
    assert not purge.out.finished
    reader.submit(sql)
    looker.execute("COMMIT TRANSACTION;")
    lab.advance(2)
    assert purge.out.finished and purge.errors == []
    assert reader.out.finished and reader.errors == []
    return purge, reader


COMES = "EXECUTE audit.usp_AcknowledgeLanding @reader = N'zoe', @upTo = 0x0000000000000000;"
GOES_BACK = "EXECUTE audit.usp_AcknowledgeLanding @reader = N'lake', @upTo = 0x0000000000000000;"


@pytest.mark.parametrize("sql", [COMES, GOES_BACK, "BEGIN TRANSACTION; " + GOES_BACK])
def test_a_reader_that_comes_or_goes_back_while_it_runs_is_not_passed(lab, sql):
    """The third is not committed yet: it is waited for a second, and then the next run's."""
    purge, reader = meets_the_purge(lab, sql)
    assert purge.out.result_sets[-1].rows[0][3] == 0
    assert any("Ended early" in m.text for m in purge.out.messages)
    assert lab.bodies() == [b"\x02"]
    if "BEGIN" in sql:
        reader.execute("COMMIT TRANSACTION;")
    mark = lab.sa.value("(SELECT RowVersion FROM audit.Landing)")
    assert gone_below(lab) <= bytes(mark), "what stays was never told to be gone"


def test_a_reader_whose_place_the_purge_keeps_finds_out_what_went(lab):
    """Its name is just before the purge's: it waits, and is written when the purge has told."""
    meets_the_purge(lab, COMES.replace("zoe", "late"))
    assert lab.bodies() == []
    assert gone_below(lab) > bytes(8)


def misdate(lab: Lab, count: int, days: int) -> None:
    """That many rows in front of all others, dated by a clock that was ahead."""
    lab.sa.execute(
        "INSERT INTO audit.Landing (ConversationHandle, MessageSequence, MessageType, LandedUtc) "
        f"SELECT TOP ({count}) NEWID(), 0, N'x', DATEADD(day, {days}, SYSUTCDATETIME()) "
        "FROM sys.all_objects;"
    )


@pytest.mark.parametrize(("count", "days"), [(1, 365), (20, 365), (2, 40), (1, 5)])
def test_a_row_that_is_dated_ahead_stops_no_purge(lab, count, days):
    """By an hour's wrong clock, in front of all that is old: it stopped each purge for as long."""
    misdate(lab, count, days)
    landed(lab, "0x01", "0x02", "0x03")
    acknowledge(lab)
    lab.advance(31 * DAY)
    landed(lab, "0x04")
    assert affected(lab, "@batch = 3") == 3
    assert affected(lab, "@batch = 3, @WhatIf = 0") == 3
    assert lab.bodies() == [b"\x04"]
    assert lab.rows("SELECT COUNT(*) FROM audit.Landing WHERE MessageType = N'x';") == [(count,)]


def test_the_young_end_is_not_read_through(lab):
    landed(lab, "0x01")
    misdate(lab, 30, 0)  # as young as they say
    acknowledge(lab)
    lab.advance(5 * DAY)
    lab.sa.execute(PURGE + "@batch = 3, @WhatIf = 0, @Debug = 1;")
    lines = [m.text for m in lab.sa.out.messages if "rows deleted" in m.text]
    assert len(lines) == 1


def test_who_purged_and_what_is_logged(lab):
    landed(lab, "0x01")
    acknowledge(lab)
    lab.advance(31 * DAY)
    lab.sa.execute(PURGE + "@WhatIf = 0;")
    ((login, action, detail),) = lab.rows("SELECT Login, Action, Detail FROM audit.OperatorLog;")
    assert (login, action) == ("sa", "usp_PurgeLanding") and detail.startswith("1 rows older than")


@pytest.mark.parametrize(
    ("call", "number"),
    [
        (PURGE + "@olderThanDays = -1, @upTo = 0x01", 50180),
        (PURGE + "@batch = 5000, @upTo = 0x01", 50180),
        ("EXECUTE audit.usp_AcknowledgeLanding @reader = N'', @upTo = 0x01", 50183),
        ("EXECUTE audit.usp_AcknowledgeLanding @reader = N'x'", 50183),
        ("EXECUTE audit.usp_AcknowledgeLanding @reader = N'x', @upTo = 0xFFFFFFFFFFFFFFFF", 50183),
        ("EXECUTE audit.usp_AcknowledgeLanding @reader = N'x', @forget = NULL", 50183),
        ("EXECUTE audit.usp_PurgePoison", 50184),
        ("BEGIN TRANSACTION; EXECUTE audit.usp_PurgeLanding @upTo = 0x01", 50182),
        ("BEGIN TRANSACTION; EXECUTE audit.usp_PurgePoison @olderThanDays = 1", 50182),
    ],
)
def test_a_wrong_call_is_refused_by_its_number(lab, call, number):
    assert lab.sa.fail(call + ";") == number


@pytest.mark.parametrize("name", ["PurgeLanding", "PurgePoison", "AcknowledgeLanding"])
def test_help_says_what_it_does_and_does_nothing(lab, name):
    lab.sa.execute(f"EXECUTE audit.usp_{name} @Help = 1;")
    (text,) = [m.text for m in lab.sa.out.messages]
    assert text.startswith(f"usp_{name}: ") and f"[audit].[usp_{name}]" in text


def test_without_a_default_in_the_configuration_the_age_must_be_given():
    lab = Lab()
    assert lab.sa.fail(PURGE + "@upTo = 0x01;") == 50180
    assert lab.rows(PURGE + "@olderThanDays = 1, @upTo = 0x01;")[0][3] == 0


def test_the_reader_role_acknowledges_and_the_operator_purges(lab):
    for name, role in (("anna", "audit_reader"), ("otto", "audit_operator")):
        lab.sa.execute(f"CREATE USER {name} WITHOUT LOGIN; ALTER ROLE {role} ADD MEMBER {name};")
    landed(lab, "0x01")
    lab.sa.execute("EXECUTE AS USER = N'anna'; " + ACKNOWLEDGE.format("lake") + " REVERT;")
    assert lab.sa.fail("EXECUTE AS USER = N'anna'; " + PURGE + ";") == 229
    lab.sa.execute("REVERT;")
    lab.advance(31 * DAY)
    operator = Client(lab)
    operator.execute("EXECUTE AS USER = N'otto'; " + PURGE + "@WhatIf = 0; REVERT;")
    assert lab.bodies() == []


def test_attempts_of_conversations_that_are_gone_are_forgotten_and_no_others(lab):
    landed(lab, "0x01")
    ((handle,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    for who in (f"'{handle}'", "NEWID()"):
        lab.sa.execute(
            "INSERT INTO audit.PoisonAttempt (ConversationHandle, MessageSequence, MessageType, "
            f"Attempts, LastUtc) VALUES ({who}, 1, N'x', 1, SYSUTCDATETIME());"
        )
    lab.advance(3 * DAY)
    purge = "EXECUTE audit.usp_PurgePoison @olderThanDays = 2"
    assert lab.rows(purge + ";")[0][2] == 1
    assert lab.rows(purge + ", @WhatIf = 0;")[0][2] == 1
    ((left,),) = lab.rows("SELECT ConversationHandle FROM audit.PoisonAttempt;")
    assert str(left).upper() == str(handle).upper()


ONCE = SLOW | {"conversation": YEARS | {"delivery": "exactly_once"}}


def test_ids_are_forgotten_after_their_days_and_not_before():
    lab = Lab(configured(**ONCE))
    landed(lab, "0x01")
    lab.advance(4 * DAY)
    landed(lab, "0x02")
    lab.advance(4 * DAY)
    purge = "EXECUTE audit.usp_PurgeInbox "
    assert lab.rows(purge + ";")[0][2] == 1
    assert lab.rows(purge + "@WhatIf = 0, @batch = 1;")[0][2] == 1
    assert lab.rows("SELECT COUNT(*) FROM audit.Inbox;") == [(1,)]
    assert lab.sa.fail(purge + "@olderThanDays = 6;") == 50181
    assert lab.sa.fail("BEGIN TRANSACTION; " + purge + ";") == 50182


def test_ids_are_kept_as_long_as_keep_days_says():
    lab = Lab(configured(**ONCE, exactly_once={"keep_days": 2}))
    landed(lab, "0x01")
    purge = "EXECUTE audit.usp_PurgeInbox "
    lab.advance(1 * DAY)
    assert lab.rows(purge + ";")[0][2] == 0
    lab.advance(2 * DAY)
    assert lab.rows(purge + ";")[0][2] == 1
    assert lab.sa.fail(purge + "@olderThanDays = 1;") == 50181


def test_a_purge_of_ids_waits_for_no_reader():
    lab = Lab(configured(**ONCE))
    landed(lab, "0x01", "0x02")
    lab.advance(8 * DAY)
    reader = Client(lab)
    reader.execute("BEGIN TRANSACTION; UPDATE TOP (1) audit.Inbox SET Repeats += 1;")
    purge = Client(lab)
    purge.submit("EXECUTE audit.usp_PurgeInbox @WhatIf = 0;")
    assert purge.out.finished and purge.errors == []
    assert lab.rows("SELECT COUNT(*) FROM audit.Inbox WITH (NOLOCK);") == [(1,)]
    reader.execute("COMMIT TRANSACTION;")


def test_two_first_calls_of_one_reader_both_succeed(lab):
    """The second waits for the first one's row and does not insert its own (2627)."""
    first, second = Client(lab), Client(lab)
    call = "EXECUTE audit.usp_AcknowledgeLanding @reader = N'lake', @upTo = {};"
    first.execute("BEGIN TRANSACTION; " + call.format("0x0000000000000001"))
    second.submit(call.format("0x0000000000000002"))
    assert not second.out.finished
    first.execute("COMMIT TRANSACTION;")
    lab.settle()
    assert second.out.finished and second.errors == []
    marks = lab.rows("SELECT Reader, UpTo FROM audit.LandingAcknowledged;")
    assert [(name, mark[-1:]) for name, mark in marks] == [("lake", b"\x02")]


def test_two_first_calls_that_meet_between_look_and_insert_do_not_collide(lab):
    """Both look while nobody has a row: one of them keeps the place, the other waits for it."""
    outsider = Client(lab)
    outsider.execute(
        "BEGIN TRANSACTION; SELECT Reader FROM audit.LandingAcknowledged "
        "WITH (HOLDLOCK) WHERE Reader = N'lake';"
    )
    clients = [Client(lab), Client(lab)]
    for number, client in enumerate(clients, 1):
        client.submit(
            "EXECUTE audit.usp_AcknowledgeLanding @reader = N'lake', "
            f"@upTo = 0x000000000000000{number};"
        )
    outsider.execute("COMMIT TRANSACTION;")
    lab.settle()
    assert [client.errors for client in clients] == [[], []]
    assert len(lab.rows("SELECT 1 FROM audit.LandingAcknowledged;")) == 1


def test_the_log_of_operators_is_waited_for_when_the_rows_are_gone(lab):
    """The second that a reader's row is waited for is not the log's: its line would be lost."""
    landed(lab, "0x01")
    acknowledge(lab)
    lab.advance(31 * DAY)
    auditor, purge = Client(lab), Client(lab)
    auditor.execute(
        "BEGIN TRANSACTION; SELECT COUNT(*) FROM audit.OperatorLog WITH (TABLOCK, HOLDLOCK);"
    )
    purge.submit(PURGE + "@WhatIf = 0;")
    lab.advance(5)
    assert lab.bodies() == [] and not purge.out.finished
    auditor.execute("COMMIT TRANSACTION;")
    assert purge.out.finished and purge.errors == []
    assert lab.rows("SELECT COUNT(*) FROM audit.OperatorLog;") == [(1,)]
