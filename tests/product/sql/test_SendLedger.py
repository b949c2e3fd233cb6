"""usp_BeginPartition, usp_EndPartition, usp_PurgeSendLedger: a piece run twice is sent once."""

import re

import pytest

from .lab import AUDIT, Client, Lab, send

BEGIN = "EXECUTE audit.usp_BeginPartition N'job', 7, 3;"
SAME, OTHER = "0x" + "01" * 32, "0x" + "02" * 32


def end(count: int = 1, content: str = SAME) -> str:
    return f"EXECUTE audit.usp_EndPartition N'job', 7, 3, 0, {count}, {content};"


@pytest.fixture
def lab():
    return Lab()


def sent(client: Client) -> None:
    """The piece, whole: asked, sent, ended, committed."""
    client.execute("BEGIN TRANSACTION;")
    assert client.execute(BEGIN) == [(0, None, None, None)]
    client.execute(send())
    client.execute(end())
    client.execute("COMMIT;")


def test_a_replay_is_told_that_the_piece_is_sent_and_sends_nothing(lab):
    """Feature dedupe / idempotency: a piece of a job that is run again is not sent again."""
    sent(lab.sa)
    lab.sa.execute("BEGIN TRANSACTION;")
    ((already, count, content, when),) = lab.sa.execute(BEGIN)
    assert (already, count, content) == (1, 1, b"\1" * 32) and when is not None
    lab.sa.execute(end())
    lab.sa.execute("COMMIT;")
    assert lab.rows("SELECT COUNT(*) FROM audit.SendLedger;") == [(1,)]


@pytest.mark.parametrize(
    ("count", "content", "said"),
    [(1, OTHER, "and this run has 1 others"), (2, SAME, "and this run has 2.")],
)
def test_a_replay_of_something_else_fails_by_name_and_changes_nothing(lab, count, content, said):
    sent(lab.sa)
    lab.sa.execute("BEGIN TRANSACTION;")
    lab.sa.execute(BEGIN)
    assert lab.sa.fail(end(count, content)) == 50243
    text = lab.sa.errors[0].text
    assert "Job job, batch 7, partition 3, chunk 0" in text and said in text and "Next:" in text
    lab.sa.execute("ROLLBACK;")
    assert lab.rows("SELECT MessageCount, ContentHash FROM audit.SendLedger;") == [(1, b"\1" * 32)]


def test_a_rollback_takes_the_row_and_the_messages_together(lab):
    lab.sa.execute("BEGIN TRANSACTION;")
    lab.sa.execute(BEGIN)
    lab.sa.execute(send())
    lab.sa.execute("ROLLBACK;")
    assert lab.bodies() == []
    sent(lab.sa)
    lab.settle()
    assert lab.bodies() == [b"\1"]


def test_a_second_attempt_waits_until_the_first_has_committed(lab):
    """T1 begins; T2 begins the same piece and waits; T1 commits; T2 is told that it is sent."""
    one, two = Client(lab), Client(lab)
    one.execute("BEGIN TRANSACTION;")
    one.execute(BEGIN)
    two.execute("BEGIN TRANSACTION;")
    two.submit(BEGIN)
    assert not two.out.finished
    one.execute(send())
    one.execute(end())
    one.execute("COMMIT;")
    lab.settle()
    assert two.out.finished and two.out.result_sets[-1].rows[0][0] == 1


def test_a_second_attempt_sends_when_the_first_was_rolled_back(lab):
    one, two = Client(lab), Client(lab)
    one.execute("BEGIN TRANSACTION;")
    one.execute(BEGIN)
    two.execute("BEGIN TRANSACTION;")
    two.submit(BEGIN)
    one.execute("ROLLBACK;")
    lab.settle()
    assert two.out.finished and two.out.result_sets[-1].rows[0][0] == 0


def test_neighbouring_pieces_do_not_wait_for_each_other(lab):
    clients = [Client(lab) for _ in range(3)]
    for number, client in enumerate(clients):
        client.execute("BEGIN TRANSACTION;")
        client.execute(f"EXECUTE audit.usp_BeginPartition N'job', 7, {number};")
    for number, client in enumerate(clients):
        client.execute(f"EXECUTE audit.usp_EndPartition N'job', 7, {number}, 0, 0, {SAME};")
        client.execute("COMMIT;")
    assert lab.rows("SELECT COUNT(*) FROM audit.SendLedger;") == [(3,)]


def test_in_a_database_of_row_versions_a_second_attempt_waits_all_the_same(lab):
    lab.sa.execute("ALTER DATABASE lab SET READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE;")
    test_a_second_attempt_waits_until_the_first_has_committed(lab)


def test_a_row_made_between_look_and_insert_is_found_and_dooms_nothing(lab):
    """The look is made to miss once; the INSERT is then refused with 2627, and it looks again."""
    ((text,),) = lab.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_BeginPartition'));")
    assert text.count("WHERE sl.JobId") == 1
    text = re.sub(r"^\s*CREATE( OR ALTER)?", "ALTER", text)
    lab.sa.execute(text.replace("WHERE sl.JobId", "WHERE @attempt > 1 AND sl.JobId"))
    lab.sa.execute("SET XACT_ABORT ON;")
    sent(lab.sa)
    lab.sa.execute("BEGIN TRANSACTION;")
    assert lab.sa.execute(BEGIN)[0][0] == 1
    assert lab.sa.value("XACT_STATE()") == 1


def test_job_ids_are_told_apart_byte_by_byte(lab):
    lab.sa.execute("BEGIN TRANSACTION;")
    for job in ("job", "JOB"):
        rows = lab.sa.execute(f"EXECUTE audit.usp_BeginPartition N'{job}', 7, 3;")
        assert rows[0][0] == 0


@pytest.mark.parametrize(
    ("call", "number", "words"),
    [
        (
            "usp_BeginPartition N'', NULL, -1, -1",
            50240,
            ("@jobId", "@batchId", "@partitionId", "@chunk"),
        ),
        (
            "usp_EndPartition N'', 1, 1, 0, -1, NULL",
            50240,
            ("@jobId", "@messageCount", "@contentHash"),
        ),
        (f"usp_EndPartition N'job', 7, 3, 0, 1, {SAME}", 50242, ("usp_BeginPartition first",)),
    ],
)
def test_what_is_wrong_is_named_together(lab, call, number, words):
    lab.sa.execute("BEGIN TRANSACTION;")
    assert lab.sa.fail(f"EXECUTE audit.{call};") == number
    for word in words:
        assert word in lab.sa.errors[0].text


def test_outside_a_transaction_both_refuse(lab):
    assert lab.sa.fail(BEGIN) == 50241
    assert lab.sa.fail(end()) == 50241


def test_a_piece_begun_twice_in_one_transaction_is_refused(lab):
    lab.sa.execute("BEGIN TRANSACTION;")
    lab.sa.execute(BEGIN)
    assert lab.sa.fail(BEGIN) == 50242


def test_a_job_name_that_is_too_long_is_refused_and_not_cut(lab):
    lab.sa.execute("BEGIN TRANSACTION;")
    job = "x" * 129
    assert lab.sa.fail(f"EXECUTE audit.usp_BeginPartition N'{job}', 7, 3;") == 50240


def test_a_name_with_a_percent_sign_comes_out_of_the_error_as_it_is(lab):
    lab.sa.execute("BEGIN TRANSACTION;")
    lab.sa.execute("EXECUTE audit.usp_BeginPartition N'100%s', 7, 3;")
    lab.sa.execute(f"EXECUTE audit.usp_EndPartition N'100%s', 7, 3, 0, 1, {SAME};")
    assert lab.sa.fail(f"EXECUTE audit.usp_EndPartition N'100%s', 7, 3, 0, 2, {SAME};") == 50243
    assert "Job 100%s, batch" in lab.sa.errors[0].text


def test_the_purge_shows_by_default_and_removes_only_what_is_old_and_not_in_use(lab):
    lab.sa.execute(
        "INSERT INTO audit.SendLedger (JobId, BatchId, PartitionId, Chunk, MessageCount, "
        f"ContentHash, SentUtc) SELECT N'job', d.Age, 0, 0, 1, {SAME}, "
        "DATEADD(day, -d.Age, SYSUTCDATETIME()) FROM (VALUES (0), (50), (100), (200)) AS d(Age);"
    )
    purge = "EXECUTE audit.usp_PurgeSendLedger @olderThanDays = 60{};"
    ((shown, _, count),) = lab.rows(purge.format(""))
    assert (shown, count) == (1, 2)
    other = Client(lab)
    other.execute(
        "BEGIN TRANSACTION; UPDATE audit.SendLedger SET MessageCount = 1 WHERE BatchId = 200;"
    )
    ((shown, _, count),) = lab.rows(purge.format(", @WhatIf = 0"))
    assert (shown, count) == (0, 1)
    other.execute("ROLLBACK;")
    left = lab.rows("SELECT BatchId FROM audit.SendLedger ORDER BY BatchId;")
    assert left == [(0,), (50,), (200,)]
    assert len(lab.rows("SELECT 1 FROM audit.OperatorLog;")) == 1


def test_the_purge_names_its_wrong_inputs_together_and_wants_no_transaction(lab):
    assert (
        lab.sa.fail(
            "EXECUTE audit.usp_PurgeSendLedger @olderThanDays = 0, @batch = 5000, @WhatIf = NULL;"
        )
        == 50244
    )
    text = lab.sa.errors[0].text
    assert all(word in text for word in ("@olderThanDays", "@batch", "@WhatIf"))
    assert lab.sa.fail("BEGIN TRANSACTION; EXECUTE audit.usp_PurgeSendLedger;") == 50182


def test_without_log_days_the_purge_has_no_default(lab):
    kept = AUDIT.model_copy(
        update={"retention": AUDIT.retention.model_copy(update={"log_days": 0})}
    )
    assert Lab(kept).sa.fail("EXECUTE audit.usp_PurgeSendLedger;") == 50244
