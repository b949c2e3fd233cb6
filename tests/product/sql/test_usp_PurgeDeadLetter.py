"""usp_PurgeDeadLetter and usp_PurgeLogs: what nobody needs goes, with who and why."""

import pytest

from .lab import Client, Lab, configured, send
from .letters import envelope, held, letter, put

PURGE = "EXECUTE audit.usp_PurgeDeadLetter {}, @reason = N'retention', @WhatIf = 0;"
LETTERS = "SELECT DeadLetterId FROM audit.DeadLetter ORDER BY DeadLetterId;"


@pytest.fixture
def lab():
    """Letters 1 (replayed, old), 2 (unhandled, old), 3 (replayed, new)."""
    lab = Lab()
    for handled, age in ((1, 100), (0, 100), (1, 1)):
        lab.sa.execute(
            "INSERT INTO audit.DeadLetter (AddedUtc, Side, ConversationHandle, MessageSequence, "
            f"HandledUtc) VALUES (DATEADD(day, -{age}, SYSUTCDATETIME()), N'target', NEWID(), 0, "
            f"{'SYSUTCDATETIME()' if handled else 'NULL'});"
        )
    return lab


def test_by_default_it_only_shows(lab):
    report = lab.rows("EXECUTE audit.usp_PurgeDeadLetter @olderThanDays = 90;")
    assert report == [(1, 1, 1, "would be removed")]
    assert lab.rows(LETTERS) == [(1,), (2,), (3,)]


def test_by_age_only_what_was_handled_goes(lab):
    assert lab.rows(PURGE.format("@olderThanDays = 90")) == [(1, 1, 1, "removed")]
    assert lab.rows(LETTERS) == [(2,), (3,)]


def test_unhandled_letters_go_only_when_asked_for(lab):
    purge = PURGE.format("@olderThanDays = 90, @includeUnhandled = 1")
    assert lab.rows(purge) == [(2, 1, 2, "removed")]
    ((detail, why),) = lab.rows("SELECT Detail, Reason FROM audit.OperatorLog;")
    assert (detail, why) == ("2 from 1 to 2, unhandled ones too", "retention")


def test_one_letter_goes_by_its_number(lab):
    assert lab.rows(PURGE.format("@deadLetterId = 2")) == [(1, 2, 2, "removed")]
    assert lab.rows(LETTERS) == [(1,), (3,)]


def test_one_letter_by_its_number_reads_no_other(lab):
    """An OR of number and age is a scan on a server."""
    other = Client(lab)
    other.execute(
        "BEGIN TRANSACTION; UPDATE audit.DeadLetter SET Reason = N'' WHERE DeadLetterId = 2;"
    )
    lab.sa.execute(PURGE.format("@deadLetterId = 1"))
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_PurgeDeadLetter'));")
    assert " OR (dl.AddedUtc" not in text
    assert text.count("INDEX ([PK_DeadLetter]), FORCESEEK") == 3


def test_more_than_one_batch_goes_and_each_has_its_entry(lab):
    lab.sa.execute(
        "INSERT INTO audit.DeadLetter "
        "(AddedUtc, Side, ConversationHandle, MessageSequence, HandledUtc) "
        "SELECT DATEADD(day, -100, SYSUTCDATETIME()), N'target', NEWID(), 0, SYSUTCDATETIME() FROM "
        "(VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10),(11)) AS a(n) "
        "CROSS JOIN (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) AS b(n) "
        "CROSS JOIN (VALUES (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)) AS c(n);"
    )
    assert lab.rows(PURGE.format("@olderThanDays = 90")) == [(1101, 1, 1103, "removed")]
    assert lab.rows("SELECT Detail FROM audit.OperatorLog ORDER BY OperatorLogId;") == [
        ("1000 from 1 to 1002",),
        ("101 from 1003 to 1103",),
    ]
    assert lab.rows(LETTERS) == [(2,), (3,)]


def test_a_letter_in_use_is_neither_waited_for_nor_removed(lab):
    other = Client(lab)
    other.execute(
        "BEGIN TRANSACTION; UPDATE audit.DeadLetter SET Reason = N'' WHERE DeadLetterId = 1;"
    )
    assert lab.rows(PURGE.format("@olderThanDays = 0")) == [(1, 3, 3, "removed")]
    other.execute("COMMIT;")


READING = "BEGIN TRANSACTION; SELECT COUNT(*) FROM audit.{} WITH (REPEATABLEREAD);"


@pytest.mark.parametrize(
    "which", ["@olderThanDays = 0, @includeUnhandled = 1", "@deadLetterId = 1"]
)
def test_a_letter_somebody_reads_is_not_waited_for_and_goes_next_time(lab, which):
    """U beside the reader's S was got, and then waited for X."""
    reader = Client(lab)
    reader.execute(READING.format("DeadLetter"))
    assert lab.rows(PURGE.format(which))[0][0] == 0
    reader.execute("COMMIT;")
    assert lab.rows(PURGE.format(which))[0][0] == (3 if "Days" in which else 1)


@pytest.mark.parametrize("table", ["ConversationLog", "ErrorLog", "OperatorLog", "SkippedNumber"])
def test_a_row_of_a_log_somebody_reads_is_not_waited_for_and_goes_next_time(table):
    lab = Lab(
        configured(
            conversation={
                "key": "application",
                "order": "key",
                "recycle": "timer",
                "delivery": "exactly_once",
            },
            retention={"log_days": 1},
        )
    )
    lab.sa.execute(
        "INSERT INTO audit.ConversationLog (Handle, ConfigId, BegunUtc, EndedUtc) "
        "VALUES (NEWID(), 1, '2020-01-01', '2020-01-02');"
        "INSERT INTO audit.ErrorLog (AddedUtc, ProcedureName) VALUES ('2020-01-01', N'x');"
        "INSERT INTO audit.OperatorLog (AddedUtc, Action) VALUES ('2020-01-01', N'x');"
        "INSERT INTO audit.SkippedNumber (ConversationKey, KeySequence, Reason, SkippedUtc) "
        "VALUES (N'k', 1, N'repeat', '2020-01-01');"
    )
    purge = "EXECUTE audit.usp_PurgeLogs @WhatIf = 0;"
    reader = Client(lab)
    reader.execute(READING.format(table))
    went = {name: count for name, count, _ in lab.rows(purge)}
    assert went == dict.fromkeys(went, 1) | {table: 0}
    reader.execute("COMMIT;")
    assert {name: count for name, count, _ in lab.rows(purge)}[table] == 1


def test_the_configurations_age_is_the_default_and_without_one_it_must_be_given(lab):
    assert lab.sa.fail("EXECUTE audit.usp_PurgeDeadLetter;") == 50175
    aged = Lab(configured(retention={"dead_letter_days": 30}))
    assert aged.rows("EXECUTE audit.usp_PurgeDeadLetter;") == [(0, None, None, "would be removed")]


def by(which: str, what_if: int = 0) -> str:
    return f"EXECUTE audit.usp_PurgeDeadLetter {which}, @reason = N'x', @WhatIf = {what_if};"


@pytest.fixture
def filtered():
    """Letters 1 (handled) and 2, 3 (not) of code 547, 4 of another."""
    lab = Lab()
    put(lab, letter(), letter(), letter(reason="other"), letter(245))
    lab.rows("UPDATE audit.DeadLetter SET HandledUtc = AddedUtc WHERE DeadLetterId = 1;")
    return lab


def test_a_filter_takes_what_was_handled_and_says_what_stays(filtered):
    stays = "; 2 unhandled stay: @includeUnhandled = 0"
    assert filtered.rows(by("@code = 547", 1)) == [(1, 1, 1, f"would be removed{stays}")]
    assert filtered.rows(by("@code = 547")) == [(1, 1, 1, f"removed{stays}")]
    assert filtered.rows(LETTERS) == [(2,), (3,), (4,)]


def test_unhandled_letters_of_a_filter_go_when_asked_for_and_the_dry_run_says_what_is_lost(
    filtered,
):
    which = "@code = 547, @includeUnhandled = 1"
    lost = "would be removed; 2 are unhandled, and then lost"
    assert filtered.rows(by(which, 1)) == [(3, 1, 3, lost)]
    assert filtered.rows(LETTERS) == [(1,), (2,), (3,), (4,)]
    assert filtered.rows(by(which)) == [(3, 1, 3, "removed")]
    assert filtered.rows(LETTERS) == [(4,)]


@pytest.mark.parametrize(
    ("which", "left"),
    [
        ("@code = 547, @reasonLike = N'o%', @includeUnhandled = 1", [1, 2, 4]),
        ("@code = 547, @deadLetterId = 2", [1, 3, 4]),
        ("@code = 245, @deadLetterId = 2", [1, 2, 3, 4]),
        ("@code = 547, @olderThanDays = 36500, @includeUnhandled = 1", [1, 2, 3, 4]),
        ("@code = 547, @olderThanDays = 0", [2, 3, 4]),
        ("@toUtc = '2026-01-01', @includeUnhandled = 1", [1, 2, 3, 4]),
    ],
)
def test_all_that_is_given_narrows_what_is_removed(filtered, which, left):
    filtered.rows(by(which))
    assert filtered.rows(LETTERS) == [(number,) for number in left]


def test_a_letter_of_the_filter_in_use_stays_and_is_said(filtered):
    other = held(filtered, 2)
    which = "@code = 547, @includeUnhandled = 1"
    ((count, *_, outcome),) = filtered.rows(by(which, 1))
    assert count == 2 and outcome.endswith("; 1 are in use now: call again")
    ((count, *_, outcome),) = filtered.rows(by(which))
    assert (count, outcome) == (2, "removed; 1 are in use now: call again")
    other.execute("COMMIT;")
    assert filtered.rows(by(which)) == [(1, 2, 2, "removed")]


def test_a_filter_takes_more_than_a_thousand_in_batches():
    lab = Lab()
    put(lab, *[letter()] * 1001)
    assert lab.rows(by("@code = 547, @includeUnhandled = 1")) == [(1001, 1, 1001, "removed")]
    assert lab.rows("SELECT COUNT(*) FROM audit.OperatorLog;") == [(2,)]


def test_the_configurations_age_is_no_default_beside_a_filter():
    """A dry run by code that finds nothing, because of an age nobody named, would mislead."""
    lab = Lab(configured(retention={"dead_letter_days": 36500}))
    put(lab, letter())
    assert lab.rows(by("@code = 547, @includeUnhandled = 1"))[0][0] == 1


def test_the_letters_of_one_key_go_and_their_numbers_are_given_up():
    lab = Lab(configured(conversation={"key": "application", "order": "key", "recycle": "timer"}))
    put(lab, *(letter(body=envelope(key, 7, b"x")) for key in ("k", "m")))
    assert lab.rows(by("@key = N'k', @includeUnhandled = 1"))[0][0] == 1
    assert lab.rows("SELECT ConversationKey, KeySequence FROM audit.SkippedNumber;") == [("k", 7)]


def test_wrong_inputs_of_a_filter_are_named_together(lab):
    wrong = "@key = N'k', @fromUtc = '2026-01-02', @toUtc = '2026-01-01', @olderThanDays = -1"
    assert lab.sa.fail(f"EXECUTE audit.usp_PurgeDeadLetter {wrong};") == 50175
    for name in ("@key", "@fromUtc", "36500"):
        assert name in lab.sa.errors[0].text, name


def test_wrong_inputs_are_named_together_and_a_transaction_is_refused(lab):
    wrong = "EXECUTE audit.usp_PurgeDeadLetter 1, @olderThanDays = -1, @WhatIf = 0;"
    assert lab.sa.fail(wrong) == 50175
    text = lab.sa.errors[0].text
    assert "@deadLetterId" in text and "36500" in text and "@reason" in text
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_PurgeDeadLetter 1;") == 50176
    lab.sa.execute("IF @@TRANCOUNT > 0 ROLLBACK;")


def test_old_log_rows_go_and_those_of_live_dialogs_stay():
    lab = Lab(configured(retention={"log_days": 0}, modules={"retention": True}))
    first, second = Client(lab), Client(lab)
    first.execute(send("0x01"))
    lab.sa.execute(f"EXECUTE audit.usp_RecycleConversation '{lab.handle()}', 1;")
    lab.advance(5)
    second.execute(send("0x02"))
    lab.sa.execute("EXECUTE audit.usp_LogError N'x', @message = N'y';")
    lab.advance(60)
    shown = lab.rows("EXECUTE audit.usp_PurgeLogs @olderThanDays = 0;")
    assert shown == [
        ("ConversationLog", 1, "would be removed"),
        ("ErrorLog", 1, "would be removed"),
        ("OperatorLog", 0, "would be removed"),
    ]
    lab.rows("EXECUTE audit.usp_PurgeLogs @olderThanDays = 0, @WhatIf = 0;")
    assert lab.rows("SELECT Handle FROM audit.ConversationLog;") == [(lab.handle(),)]
    assert lab.rows("SELECT 1 FROM audit.ErrorLog;") == []
    assert lab.sa.fail("EXECUTE audit.usp_PurgeLogs;") == 50187
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_PurgeLogs 1;") == 50188
    lab.sa.execute("IF @@TRANCOUNT > 0 ROLLBACK;")


def test_what_is_shown_is_what_is_removed_whatever_the_dialog_came_to():
    """Ended; removed by hand, which nobody wrote down (F-463); still open."""
    lab = Lab()
    lab.rows(
        "INSERT INTO audit.ConversationLog (Handle, ConfigId, BegunUtc, EndedUtc) "
        "SELECT NEWID(), 1, DATEADD(day, d.Begun, SYSUTCDATETIME()), "
        "DATEADD(day, d.Ended, SYSUTCDATETIME()) "
        "FROM (VALUES (-9, -8), (-9, -2), (-9, NULL), (-9, NULL), (-2, NULL)) AS d(Begun, Ended);"
    )
    Client(lab).execute(send("0x01"))
    lab.rows(
        "UPDATE audit.ConversationLog SET BegunUtc = DATEADD(day, -9, SYSUTCDATETIME()) "
        f"WHERE Handle = '{lab.handle()}';"
    )
    lab.rows(
        "EXECUTE audit.usp_LogError N'x', @message = N'y'; UPDATE audit.ErrorLog SET "
        "AddedUtc = DATEADD(day, -9, AddedUtc);"
    )
    call = "EXECUTE audit.usp_PurgeLogs @olderThanDays = 5, @WhatIf = "
    shown = [(table, rows) for table, rows, _ in lab.rows(f"{call}1;")]
    gone = [(table, rows) for table, rows, _ in lab.rows(f"{call}0;")]
    assert shown == gone == [("ConversationLog", 3), ("ErrorLog", 1), ("OperatorLog", 0)]
    assert lab.rows("SELECT COUNT(*) FROM audit.ConversationLog;") == [(3,)]


def test_log_rows_are_purged_slice_after_slice_whatever_stays_between():
    """No index leads to EndedUtc: a slice of the key is read once, also where all its rows stay."""
    lab = Lab()
    lab.sa.execute(
        "DECLARE @n int = 0; WHILE @n < 2500 BEGIN "
        "INSERT INTO audit.ConversationLog (Handle, ConfigId, EndedUtc) VALUES (NEWID(), 1, "
        "CASE WHEN @n % 2 = 0 THEN DATEADD(day, -9, SYSUTCDATETIME()) END); SET @n = @n + 1; END;"
    )
    lab.sa.out.messages.clear()
    lab.sa.execute("EXECUTE audit.usp_PurgeLogs @olderThanDays = 5, @WhatIf = 0, @Debug = 1;")
    slices = [m.text for m in lab.sa.out.messages if m.text.startswith("ConversationLog")]
    assert len(slices) == 3
    assert lab.rows("SELECT COUNT(*), COUNT(EndedUtc) FROM audit.ConversationLog;") == [(1250, 0)]


def test_dialogs_that_failed_have_a_view_of_their_own_and_vw_Errors_does_not_read_their_log():
    """A screen that asks every few seconds must not read a row for every dialog there was."""
    lab = Lab()
    Client(lab).execute(send("0x01"))
    lab.advance(5)
    ((handle,),) = lab.rows(
        "SELECT conversation_handle FROM sys.conversation_endpoints WHERE is_initiator = 0;"
    )
    lab.sa.execute(f"END CONVERSATION '{handle}' WITH ERROR = 7 DESCRIPTION = N'no';")
    lab.advance(5)
    assert lab.rows("SELECT Code, Messages FROM audit.vw_FailedConversations;") == [(7, 1)]
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.vw_Errors'));")
    assert "ConversationLog]" not in text
