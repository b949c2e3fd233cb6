"""A partition is sent once, whole, or not at all; over ODBC, without Spark."""

from __future__ import annotations

import uuid

import pytest

from redial.spark.connect import SourceError
from redial.spark.options import WriteOptions
from redial.spark.parsing import parse
from redial.spark.sending import Content, Message, Piece, digest_of, send_partition

TYPE = "//redial/audit/event"
pytestmark = pytest.mark.driver


@pytest.fixture
def piece() -> Piece:
    return Piece(f"job {uuid.uuid4()}", 0, 0)


def messages(*bodies: bytes | None) -> list[Message]:
    return [Message(TYPE, body, order=number) for number, body in enumerate(bodies)]


def failing(*bodies: bytes):
    yield from messages(*bodies)
    raise ZeroDivisionError


def test_a_replay_sends_nothing_and_says_so(lab, piece):
    since = lab.mark()
    first = send_partition(lab.write_options(), piece, messages(b"a", b"b"))
    again = send_partition(lab.write_options(), piece, messages(b"a", b"b"))
    assert (first.messages, first.replayed) == (2, 0)
    assert (again.messages, again.replayed) == (2, 2)
    marker = Piece(piece.job, 0, 1)
    send_partition(lab.write_options(), marker, messages(b"last"))
    assert sorted(lab.landed(since, 3)) == [b"a", b"b", b"last"]


def test_a_replay_in_another_order_is_the_same_piece(lab, piece):
    send_partition(lab.write_options(), piece, messages(b"a", b"b"))
    assert send_partition(lab.write_options(), piece, messages(b"b", b"a")).replayed == 2


@pytest.mark.parametrize("others", [(b"a", b"c"), (b"a",), (), (b"a", b"b", b"b")])
def test_a_different_replay_fails_by_name(lab, piece, others):
    send_partition(lab.write_options(), piece, messages(b"a", b"b"))
    with pytest.raises(SourceError, match=r"Msg 50243: .*partition 0") as caught:
        send_partition(lab.write_options(), piece, messages(*others))
    assert caught.value.number == 50243 and str(caught.value).count("Next:") == 1


def test_what_fails_in_the_middle_leaves_nothing_sent(lab, piece):
    since = lab.mark()
    options = lab.write_options(batchRows="1")
    with pytest.raises(ZeroDivisionError):
        send_partition(options, piece, failing(b"a", b"b"))
    assert lab.ledger(piece.job) == []
    send_partition(options, piece, messages(b"a", b"b", b"c"))
    assert sorted(lab.landed(since, 3)) == [b"a", b"b", b"c"]


def test_a_killed_session_leaves_nothing_sent(lab, piece):
    """KILL at the server is what a lost executor looks like to it."""

    def killed():
        yield from messages(b"a")
        ((session,),) = lab.rows(
            "SELECT s.session_id FROM sys.dm_exec_sessions AS s "
            "WHERE s.program_name = N'redial-spark' AND s.open_transaction_count > 0;"
        )
        lab.sa.execute(f"KILL {session};")
        yield from messages(b"b")

    with pytest.raises(SourceError):
        send_partition(lab.write_options(batchRows="1", retrySeconds="0"), piece, killed())
    assert lab.ledger(piece.job) == []


def test_a_twin_waits_no_longer_than_it_was_told(lab, piece):
    """A second attempt beside the first (speculation): one sends, the other gives way."""
    first = lab.connect(autocommit=False)
    first.execute("EXECUTE audit.usp_BeginPartition ?, 0, 0;", piece.job)
    with pytest.raises(SourceError, match=r"lockTimeout") as caught:
        send_partition(lab.write_options(lockTimeout="1"), piece, messages(b"a"))
    assert caught.value.number == 1222
    first.rollback()
    first.close()


def test_an_empty_partition_is_a_piece_too(lab, piece):
    assert send_partition(lab.write_options(), piece, []).messages == 0
    assert lab.ledger(piece.job) == [(0, 0, 0, 0)]
    with pytest.raises(SourceError, match=r"50243"):
        send_partition(lab.write_options(), piece, messages(b"a"))


def test_bodies_come_out_byte_for_byte(lab, piece):
    """The first one is empty: its type must not decide for the others."""
    since = lab.mark()
    bodies = [None, b"\x00\xff" * 10, bytes(range(256)) * 100, b"'];--%s", b""]
    send_partition(lab.write_options(), piece, messages(*bodies))
    lab.landed(since, 5)
    found = lab.rows(
        f"SELECT Body FROM audit.Landing WHERE RowVersion >= {since} ORDER BY MessageSequence;"
    )
    assert [None if b is None else bytes(b) for (b,) in found] == [None, *bodies[1:4], None]


def test_keys_choose_the_dialog_where_the_configuration_has_them(lab, piece):
    since = lab.mark()
    rows = [Message("//redial/orders/event", b"%d" % n, key=f"key {n % 2}") for n in range(6)]
    send_partition(lab.write_options("orders"), piece, rows)
    lab.landed(since, 6, "orders")
    stamps = lab.rows(
        "SELECT ConversationKey, KeySequence, CONVERT(int, CONVERT(varchar(10), Body)) "
        f"FROM orders.Landing WHERE RowVersion >= {since} ORDER BY 1, 2;"
    )
    assert stamps == [(f"key {k}", n + 1, 2 * n + k) for k in (0, 1) for n in range(3)]


def test_message_ids_travel_and_the_target_drops_a_repeat_of_another_job(lab, piece):
    """Exactly once beyond the ledger: the rows come again under another job's name."""
    lab.deploy("etl")
    since = lab.mark()
    ids = [None, str(uuid.uuid4()).upper()]
    rows = [Message("//redial/etl/event", b"%d" % n, message_id=ids[n % 2]) for n in range(2)]
    send_partition(lab.write_options("etl"), piece, rows)
    send_partition(lab.write_options("etl"), Piece(piece.job + ", again", 0, 0), rows)
    assert sorted(lab.landed(since, 3, "etl")) == [b"0", b"0", b"1"]
    assert lab.rows("SELECT MessageId FROM etl.Landing WHERE Body = 0x31;") == [(ids[1],)]


def test_rows_that_are_wrong_in_one_way_are_told_once_with_their_number(lab, piece):
    rows = [Message("nonsense", b"a", key="k" if n == 1 else None) for n in range(4)]
    with pytest.raises(SourceError, match="50150") as caught:
        send_partition(lab.write_options(), piece, rows)
    said = str(caught.value)
    assert said.count("MessageType must be") == said.count("MessageKey must be") == 1
    assert "event'. (And 3 more.) Ordinal 1: MessageKey" in said
    assert said.endswith("Next: correct the rows, or option messageType, and write again")


def test_a_wrong_key_is_refused_by_its_ordinal_and_nothing_is_sent(lab, piece):
    rows = [Message(TYPE, b"a"), Message(TYPE, b"b", key="k")]
    with pytest.raises(SourceError, match=r"50150.*Ordinal 1: MessageKey must be NULL"):
        send_partition(lab.write_options(), piece, rows)
    assert lab.ledger(piece.job) == []


def test_chunks_that_were_committed_are_passed_over(lab, piece):
    since = lab.mark()
    options = lab.write_options(chunkRows="2", orderColumn="n")
    with pytest.raises(ZeroDivisionError):
        send_partition(options, piece, failing(b"a", b"b", b"c"))
    assert lab.ledger(piece.job) == [(0, 0, 0, 2)]
    sent = send_partition(options, piece, messages(b"a", b"b", b"c"))
    assert (sent.messages, sent.replayed) == (3, 2)
    assert [n for *_, n in lab.ledger(piece.job)] == [2, 1, 0]
    assert sorted(lab.landed(since, 3)) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("others", [(b"a", b"b"), (b"b", b"a", b"c", b"d"), (b"a", b"b", b"c")])
def test_a_different_replay_of_chunks_fails_by_name(lab, piece, others):
    """Shorter by a whole chunk, in another order, shorter by a row."""
    options = lab.write_options(chunkRows="2", orderColumn="n")
    send_partition(options, piece, messages(b"a", b"b", b"c", b"d"))
    with pytest.raises(SourceError, match=r"50243"):
        send_partition(options, piece, messages(*others))


def test_an_order_that_does_not_grow_is_refused(lab, piece):
    options = lab.write_options(chunkRows="2", orderColumn="n")
    rows = [Message(TYPE, b"a", order=1), Message(TYPE, b"b", order=1)]
    with pytest.raises(SourceError, match=r"orderColumn n must grow.*sortWithinPartitions"):
        send_partition(options, piece, rows)


def test_a_wrong_password_is_explained_without_it(lab, piece):
    wrong = lab.sending() | {"password": "wrong-hunter2"}
    with pytest.raises(SourceError, match=r"as sa: Login failed.*Next:") as caught:
        send_partition(parse(WriteOptions, wrong), piece, [])
    assert "hunter2" not in str(caught.value) and caught.value.number == 18456


def test_missing_rights_name_the_role(lab, piece):
    lab.sa.execute(
        "CREATE LOGIN stranger WITH PASSWORD = 'Str4nger!pass'; "
        "CREATE USER stranger FOR LOGIN stranger;"
    )
    options = lab.sending() | {"user": "stranger", "password": "Str4nger!pass"}
    with pytest.raises(SourceError, match=r"usp_BeginPartition.*sender role") as caught:
        send_partition(parse(WriteOptions, options), piece, [])
    assert caught.value.number == 229
    lab.sa.execute("ALTER ROLE audit_sender ADD MEMBER stranger;")
    assert send_partition(parse(WriteOptions, options), piece, messages(b"a")).messages == 1


def test_a_schema_without_the_procedures_names_the_deployment(lab, piece):
    with pytest.raises(SourceError, match=r"redial deploy"):
        send_partition(parse(WriteOptions, lab.sending() | {"schema": "dbo"}), piece, [])


def test_the_hash_counts_repeats_and_tells_fields_apart():
    def content(*rows: Message) -> bytes:
        found = Content()
        for row in rows:
            found.add(row)
        return found.hash()

    one, two = Message("t", b"ab", "c"), Message("t", b"a", "bc")
    assert digest_of(one) != digest_of(two)
    assert content(one, two) == content(two, one) != content(one, one, two)
    assert digest_of(Message("t", None)) != digest_of(Message("t", b""))


def test_one_attempt_keeps_no_message(lab, monkeypatch):
    from redial.spark import sending

    monkeypatch.setattr(sending, "Replay", None)
    monkeypatch.setattr(sending, "_attempt", lambda *given: given[-1])
    options = lab.write_options(retrySeconds="0")
    assert sending.send_partition(options, Piece("j", 0, 0), [Message("t", b"")])
