import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redial_broker.engine.types import INT, NVARCHAR_MAX, nvarchar
from redial_broker.instance.requests import RpcParam
from redial_broker.tds import constants as c
from redial_broker.tds.connection import Connection
from redial_broker.tds.packets import frame

from .client import (
    Done,
    Env,
    Error,
    Status,
    Wire,
    attention,
    batch,
    call,
    login,
    message,
    param,
    parse,
    prelogin,
    rpc,
    transaction,
)
from .fake import FakeInstance

MORE, ERROR, COUNT, ATTN = 1, 2, 0x10, 0x20


@pytest.fixture
def instance():
    return FakeInstance()


@pytest.fixture
def wire(instance):
    return Wire(instance)


# --- login --------------------------------------------------------------------------------------


def test_a_login_is_answered_in_the_order_drivers_know(instance):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    tokens = wire.tokens(login(database="tempdb", packet_size=8000))
    assert [token.kind for token in tokens if isinstance(token, Env)] == [1, 7, 2, 4]
    assert [token.number for token in tokens if isinstance(token, Error)] == [5701, 5703]
    assert tokens[6][1:5] == bytes.fromhex("74000004")
    assert tokens[-1] == Done(c.DONE, 0, 0, 0)
    assert wire.session.database.name == "tempdb"


def test_the_new_packet_size_holds_from_the_next_reply_on(instance):
    wire = Wire(instance, packet_size=512)
    wire.connection.receive(batch("rows 100"))
    instance.pump()
    data = wire.connection.take_output()
    assert data[2:4] == b"\x02\x00"
    assert len(data) > 512


@pytest.mark.parametrize(("asked", "granted"), [(0, "4096"), (100, "512"), (65535, "32767")])
def test_the_packet_size_stays_within_limits(instance, asked, granted):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    tokens = wire.tokens(login(packet_size=asked))
    (size,) = [token for token in tokens if isinstance(token, Env) and token.kind == 4]
    assert granted.encode("utf-16-le") in size.data


def test_utf8_is_acknowledged_when_asked_for_and_nothing_else(instance):
    features = b"\x04\x01\0\0\0\x01" + b"\x0a\x01\0\0\0\x01" + b"\x01\0\0\0\0"
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    (body,) = wire.send(login(features=features))
    assert bytes.fromhex("ae 0a 01000000 01 ff fd") in body


def test_without_features_there_is_no_acknowledgement(instance):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    (body,) = wire.send(login())
    assert bytes.fromhex("ae 0a") not in body


@pytest.mark.parametrize("fields", [{"password": "wrong"}, {"user": "nobody"}])
def test_a_failed_login_does_not_say_why(instance, fields):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    error, done = wire.tokens(login(**fields))
    user = fields.get("user", "sa")
    assert error == Error(18456, 1, 14, f"Login failed for user '{user}'.", "", 1)
    assert done.status == ERROR
    assert wire.connection.closing


def test_an_unknown_database_is_named(instance):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    first, second, _ = wire.tokens(login(database="nope"))
    assert (first.number, second.number) == (4060, 18456)
    assert '"nope"' in first.text


def test_old_tds_versions_are_refused_in_their_own_layout(instance):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    (body,) = wire.send(login(version=0x71000001))
    assert body.endswith(bytes.fromhex("fd 0200 0000 00000000"))
    assert "TDS 7.2".encode("utf-16-le") in body
    assert wire.connection.closing


def test_integrated_authentication_is_refused(instance):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    assert wire.tokens(login(flags2=0x83))[0].number == 18452


@pytest.mark.parametrize("data", [batch("select 1"), attention(), b"GET / HTTP/1.1\r\n\r\n"])
def test_anything_but_prelogin_first_closes_without_a_word(instance, data):
    wire = Wire(instance, logged_in=False)
    assert wire.send(data) == []
    assert wire.connection.closing


def test_a_request_before_the_login_is_refused_with_a_reason(instance):
    wire = Wire(instance, logged_in=False)
    wire.send(prelogin())
    assert wire.tokens(batch("select 1"))[0].number == c.PROTOCOL_ERROR
    assert wire.connection.closing


# --- requests -----------------------------------------------------------------------------------


def test_a_batch_is_answered(wire):
    (body,) = wire.send(batch("select 1"))
    assert body == bytes.fromhex(
        "81 0100 00000000 0000 38 00  d1 01000000  fd 1000 c100 0100000000000000"
    )


def test_sp_prepexec_returns_its_handle_as_ordinal_0(wire):
    request = rpc(
        call(
            13,
            param(None, INT, flags=1),
            param("@P1 int", NVARCHAR_MAX),
            param("select @P1", NVARCHAR_MAX),
            param(4, INT),
        )
    )
    (body,) = wire.send(request)
    tail = body[body.index(bytes.fromhex("ff 1100 c100")) :]
    done, status, rest = parse(tail)
    assert (done.token, status) == (c.DONEINPROC, Status(0))
    assert rest[:18] == bytes.fromhex("ac 0000 00 01 00000000 0000 26 04 04 01000000")


def test_calls_reach_the_instance_with_decoded_parameters(wire, instance):
    tokens = wire.tokens(rpc(call("dbo.usp_Send", param("x", nvarchar(10)), param(2, INT))))
    assert instance.calls == [("usp_send", ["x", 2])]
    assert tokens == [Status(0), Done(c.DONEPROC, 0, c.CMD_EXECUTE, 0)]


def test_a_batch_of_calls_is_answered_call_by_call(wire):
    tokens = wire.tokens(rpc(call("p"), call("p")))
    assert [token.status for token in tokens if isinstance(token, Done)] == [MORE, 0]


def test_transactions_of_the_wire_are_announced(wire):
    begin, done = wire.tokens(transaction(bytes.fromhex("0500 00 00")))
    assert (begin.kind, done.status, done.command) == (8, 0, c.CMD_BEGIN)
    commit, begin, done = wire.tokens(transaction(bytes.fromhex("0700 00 01 00 00")))
    assert (commit.kind, begin.kind, done.status) == (9, 8, 0)
    rollback, done = wire.tokens(transaction(bytes.fromhex("0800 00 00")))
    assert (rollback.kind, done.status) == (10, 0)


def test_a_rollback_by_error_is_announced_before_the_error_ends(wire):
    wire.send(transaction(bytes.fromhex("0500 00 00")))
    env, error, done = wire.tokens(batch("abort"))
    assert (env.kind, error.number, done.status) == (10, 8134, ERROR)


def test_what_is_refused_leaves_the_connection_usable(wire):
    error, done = wire.tokens(transaction(bytes.fromhex("0600")))
    assert (error.number, done.status) == (60001, ERROR)
    assert wire.send(batch("select 1"))


@pytest.mark.parametrize(("status", "kept"), [(c.RESET, False), (c.RESET_KEEP_TRANSACTION, True)])
def test_a_pooled_connection_is_reset_before_the_request(wire, status, kept):
    wire.send(transaction(bytes.fromhex("0500 00 00")))
    env, done = wire.tokens(batch("set nocount on", status=status))
    assert (env.kind, wire.session.resets) == (18, [kept])
    assert done.status == 0


def test_a_request_behind_a_running_one_waits_for_it(wire):
    wire.send(batch("waitfor"))
    assert wire.send(batch("select 1")) == []
    wire.session.attention()
    assert len(wire.pump()) == 2


def test_too_many_waiting_requests_end_the_connection(wire):
    wire.send(batch("waitfor"))
    for _ in range(c.QUEUED_MAX + 1):
        wire.connection.receive(batch("select 1"))
    assert wire.connection.closing


def test_a_withdrawn_request_is_answered_by_one_failed_done(wire):
    half = frame(c.SQL_BATCH, bytes(504), 512, last=False) + bytes.fromhex("0103000800000200")
    assert wire.tokens(half) == [Done(c.DONE, ERROR, 0, 0)]


def test_a_fatal_message_closes_after_it_was_sent(wire):
    error, done = wire.tokens(batch("fatal"))
    assert (error.severity, done.status) == (21, ERROR)
    assert wire.connection.closing


def test_a_lost_connection_closes_its_session_once(wire):
    session = wire.session
    wire.connection.lost()
    wire.connection.lost()
    assert session.closed


def test_a_client_that_waits_is_told_of_the_shutdown(wire):
    wire.send(batch("waitfor"))
    wire.connection.shutdown()
    (body,) = wire.output()
    assert parse(body)[0].number == 6005
    assert wire.connection.closing


def test_an_idle_client_is_closed_without_a_word(wire):
    wire.connection.shutdown()
    assert wire.output() == []
    assert wire.connection.closing


# --- attention ----------------------------------------------------------------------------------


def test_an_attention_ends_the_running_request_in_two_messages(wire):
    wire.send(batch("waitfor"))
    request, acknowledgement = wire.send(attention())
    assert parse(request) == [Done(c.DONE, ERROR, 0, 0)]
    assert parse(acknowledgement) == [Done(c.DONE, ATTN, 0, 0)]


def test_an_attention_with_nothing_running_is_only_acknowledged(wire):
    assert wire.tokens(attention()) == [Done(c.DONE, ATTN, 0, 0)]


def test_an_attention_behind_a_finished_request_spares_the_next_one(wire):
    wire.send(batch("select 1"))
    wire.send(attention())
    (body,) = wire.send(batch("select 2"))
    assert b"\xd1\x02\0\0\0\xfd" in body


def test_an_attention_and_the_next_request_in_one_piece_stay_in_order(wire):
    wire.send(batch("waitfor"))
    bodies = wire.send(attention() + batch("select 2"))
    assert [parse(body)[0].status for body in bodies[:2]] == [ERROR, ATTN]
    assert b"\xd1\x02\0\0\0\xfd" in bodies[2]


# --- robustness ---------------------------------------------------------------------------------


def test_a_broken_request_is_answered_with_a_reason_and_the_end(wire):
    error, _ = wire.tokens(message(c.RPC, b"\x04\0\0\0\xff\xff"))
    assert (error.number, error.severity) == (c.PROTOCOL_ERROR, 20)
    assert wire.connection.closing


def test_a_value_no_type_can_hold_is_a_broken_request(wire):
    date = b"\x00\x00" + bytes.fromhex("28 03 ffffff")
    error, _ = wire.tokens(rpc(call("p", date)))
    assert error.number == c.PROTOCOL_ERROR


def test_a_defect_of_the_session_is_reported_and_ends_the_connection(wire):
    def fail(_):
        raise ZeroDivisionError("a bug")

    wire.session.submit = fail
    error, _ = wire.tokens(batch("select 1"))
    assert "a bug" in error.text
    assert wire.connection.closing


def conversation() -> bytes:
    return b"".join(
        [
            prelogin(),
            login(),
            batch("rows 3"),
            rpc(call("p", param("x" * 3000, NVARCHAR_MAX)), call("q")),
            batch("error duplicate"),
            batch("select 2", status=c.RESET),
        ]
    )


def answer(pieces) -> bytes:
    wire = Wire(FakeInstance(), logged_in=False)
    out = b""
    for piece in pieces:
        wire.connection.receive(piece)
        while wire.instance.pump() or wire.connection.resume():
            pass
        out += wire.connection.take_output()
    return out


@settings(max_examples=60)
@given(st.data())
def test_any_split_of_a_conversation_gets_the_same_answers(data):
    stream = conversation()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream) - 1), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)])]
    assert answer(pieces) == answer([stream])


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_random_bytes_never_raise(pieces):
    connection = Connection(FakeInstance())
    for piece in pieces:
        connection.receive(piece)
    connection.take_output()


@settings(max_examples=200)
@given(st.sampled_from([1, 3, 6, 7, 14, 16, 18, 99]), st.binary(max_size=300), st.integers(0, 255))
def test_random_messages_behind_a_login_never_raise_and_are_answered_or_closed(kind, body, status):
    wire = Wire(FakeInstance())
    answered = wire.send(message(kind, body, status & ~1))
    assert answered or wire.connection.closing


@settings(max_examples=100)
@given(st.data())
def test_a_conversation_with_a_flipped_bit_never_raises(data):
    stream = bytearray(conversation())
    at = data.draw(st.integers(0, len(stream) - 1))
    stream[at] ^= 1 << data.draw(st.integers(0, 7))
    answer([bytes(stream)])


def test_parameters_are_what_the_client_declared(wire, instance):
    seen = []
    wire.session.submit = lambda request: (seen.append(request), wire.connection._sink.finish())
    wire.send(rpc(call("p", param(None, INT, "@a", flags=1))))
    assert seen[0].params == [RpcParam("@a", INT, None, output=True)]
