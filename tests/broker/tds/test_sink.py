import pytest
from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.types import INT, Message, ResultColumn, nvarchar
from redial_broker.instance.defects import INTERNAL_ERROR
from redial_broker.instance.results import Collector
from redial_broker.tds import constants as c
from redial_broker.tds.sink import TdsSink

from .client import Done, Env, Error, Status, parse, replies

MORE, ERROR, COUNT, ATTN = 1, 2, 0x10, 0x20
OOPS = Message(50000, 16, 1, "oops", "", 1)


class Recorder:
    def __init__(self):
        self.sent = bytearray()
        self.ended = 0
        self.sink = TdsSink(self.sent.extend, self._end)

    def _end(self):
        self.ended += 1

    def messages(self):
        return [parse(body) for body in replies(bytes(self.sent))]


@pytest.fixture
def out():
    return Recorder()


def test_the_sink_has_every_method_of_the_collector_protocol():
    protocol = {
        "columns",
        "row",
        "done",
        "told",
        "call_status",
        "call_over",
        "message",
        "env",
        "return_status",
        "return_value",
        "proc_done",
        "finish",
    }
    assert protocol <= set(dir(TdsSink))
    assert protocol <= set(dir(Collector))


def test_select_1_is_the_reply_real_drivers_were_proved_with(out):
    out.sink.spid = 0x33
    out.sink.begin(rpc=False)
    out.sink.columns([ResultColumn("", INT)])
    out.sink.row((1,))
    out.sink.done(c.CMD_SELECT, 1)
    out.sink.finish()
    assert bytes(out.sent) == bytes.fromhex(
        "04 01 0027 0033 01 00  81 0100 00000000 0100 26 04 00  d1 04 01000000"
        "fd 1000 c100 0100000000000000"
    )
    assert out.ended == 1


def test_every_done_but_the_last_says_more(out):
    out.sink.begin(rpc=False)
    out.sink.done(c.CMD_INSERT, 2)
    out.sink.done(c.CMD_UPDATE, None)
    out.sink.finish()
    assert out.messages() == [
        [Done(c.DONE, COUNT | MORE, c.CMD_INSERT, 2), Done(c.DONE, 0, c.CMD_UPDATE, 0)]
    ]


def test_a_message_behind_a_done_makes_it_say_more(out):
    out.sink.begin(rpc=False)
    out.sink.done(c.CMD_INSERT, 2)
    out.sink.message(OOPS)
    out.sink.finish()
    ((first, error, last),) = out.messages()
    assert first.status == COUNT | MORE
    assert isinstance(error, Error)
    assert last == Done(c.DONE, ERROR, c.CMD_NOTHING, 0)


def test_an_empty_request_still_has_one_done(out):
    out.sink.begin(rpc=False)
    out.sink.finish()
    assert out.messages() == [[Done(c.DONE, 0, c.CMD_NOTHING, 0)]]


def test_an_error_sets_the_error_bit_of_the_next_done_only(out):
    out.sink.begin(rpc=False)
    out.sink.message(OOPS)
    out.sink.done(c.CMD_SELECT, None)
    out.sink.done(c.CMD_SELECT, None)
    out.sink.finish()
    assert [token.status for token in out.messages()[0][1:]] == [ERROR | MORE, 0]


def test_an_rpc_ends_with_status_values_and_doneproc_in_this_order(out):
    out.sink.begin(rpc=True)
    out.sink.done(c.CMD_INSERT, 1)
    out.sink.return_value(1, "@o", INT, 5)
    out.sink.return_status(-6)
    out.sink.proc_done(False)
    out.sink.finish()
    ((done, status, rest),) = out.messages()
    assert done == Done(c.DONEINPROC, COUNT | MORE, c.CMD_INSERT, 1)
    assert status == Status(-6)
    assert rest[0] == c.RETURNVALUE
    assert parse(rest[-13:]) == [Done(c.DONEPROC, 0, c.CMD_EXECUTE, 0)]


def test_of_several_rpcs_only_the_last_doneproc_has_no_more(out):
    out.sink.begin(rpc=True)
    for _ in range(3):
        out.sink.return_status(0)
        out.sink.proc_done(False)
    out.sink.finish()
    dones = [token for token in out.messages()[0] if isinstance(token, Done)]
    assert [done.status for done in dones] == [MORE, MORE, 0]


def test_an_rpc_that_only_fails_ends_with_a_failed_doneproc(out):
    out.sink.begin(rpc=True)
    out.sink.message(OOPS)
    out.sink.proc_done(True)
    out.sink.finish()
    assert out.messages()[0][-1] == Done(c.DONEPROC, ERROR, c.CMD_EXECUTE, 0)


def test_an_rpc_refused_before_it_starts_ends_with_a_done(out):
    out.sink.begin(rpc=True)
    out.sink.message(OOPS)
    out.sink.finish()
    assert out.messages()[0][-1] == Done(c.DONE, ERROR, c.CMD_NOTHING, 0)


def test_transactions_are_announced_and_no_done_has_the_in_transaction_bit(out):
    """F-534: a server does not set it."""
    out.sink.begin(rpc=False)
    out.sink.env("begin", 9, None)
    out.sink.done(c.CMD_BEGIN, None)
    out.sink.env("commit", None, 9)
    out.sink.done(c.CMD_COMMIT, None)
    out.sink.finish()
    nine = bytes.fromhex("08 0900000000000000")
    assert out.messages() == [
        [
            Env(c.ENV_BEGIN, nine + b"\0"),
            Done(c.DONE, MORE, c.CMD_BEGIN, 0),
            Env(c.ENV_COMMIT, b"\0" + nine),
            Done(c.DONE, 0, c.CMD_COMMIT, 0),
        ]
    ]


def test_statements_of_a_module_and_the_end_of_its_execute_have_their_own_tokens(out):
    out.sink.begin(rpc=False)
    out.sink.told(0xF7, None, True)
    out.sink.done(c.CMD_INSERT, 2, False, True)
    out.sink.call_over(5, False)
    out.sink.told(0xC0, None, False)
    out.sink.finish()
    assert out.messages() == [
        [
            Done(c.DONEINPROC, MORE, 0xF7, 0),
            Done(c.DONEINPROC, COUNT | MORE, c.CMD_INSERT, 2),
            Status(5),
            Done(c.DONEPROC, MORE, c.CMD_EXECUTE, 0),
            Done(c.DONE, 0, 0xC0, 0),
        ]
    ]


def test_a_failed_execute_has_no_status(out):
    out.sink.begin(rpc=False)
    out.sink.message(OOPS)
    out.sink.call_over(None, True)
    out.sink.finish()
    assert out.messages()[0][1:] == [Done(c.DONEPROC, ERROR, c.CMD_EXECUTE, 0)]


def test_with_nocount_a_module_tells_of_results_and_errors_alone(out):
    out.sink.begin(rpc=False)
    out.sink.done(c.CMD_INSERT, None, False, True)
    out.sink.columns([ResultColumn("n", INT)])
    out.sink.done(c.CMD_SELECT, None, False, True)
    out.sink.done(c.CMD_INSERT, None, True, True)
    out.sink.done(c.CMD_INSERT, None)
    out.sink.finish()
    tail = bytes(out.sent)[-39:]
    assert parse(tail) == [
        Done(c.DONEINPROC, MORE, c.CMD_SELECT, 0),
        Done(c.DONEINPROC, MORE | ERROR, c.CMD_INSERT, 0),
        Done(c.DONE, 0, c.CMD_INSERT, 0),
    ]


def test_an_environment_change_nobody_knows_is_a_defect_of_the_caller(out):
    with pytest.raises(ValueError, match="weather"):
        out.sink.env("weather", "sun", "rain")


def test_a_reset_is_acknowledged_first(out):
    out.sink.begin(rpc=False, reset=True)
    out.sink.done(0, None)
    out.sink.finish()
    assert bytes(out.sent[8:14]) == bytes.fromhex("e3 0300 12 00 00")


def test_a_cancelled_request_ends_with_its_own_message_and_then_the_acknowledgement(out):
    out.sink.begin(rpc=False)
    out.sink.columns([ResultColumn("n", INT)])
    out.sink.row((1,))
    out.sink.cancel()
    out.sink.row((2,))
    out.sink.message(OOPS)
    out.sink.done(c.CMD_SELECT, 2)
    out.sink.finish()
    request, acknowledgement = replies(bytes(out.sent))
    assert request.count(b"\xd1\x04") == 1
    assert parse(request[-13:]) == [Done(c.DONE, ERROR, 0, 0)]
    assert parse(acknowledgement) == [Done(c.DONE, ATTN, 0, 0)]
    assert not out.sink.cancelled


def test_a_rollback_is_announced_even_in_a_cancelled_request(out):
    out.sink.begin(rpc=False)
    out.sink.env("begin", 9, None)
    out.sink.done(c.CMD_BEGIN, None)
    out.sink.cancel()
    out.sink.env("rollback", None, 9)
    out.sink.finish()
    first, second = out.messages()
    assert [token.kind for token in first if isinstance(token, Env)] == [8, 10]
    assert second == [Done(c.DONE, ATTN, 0, 0)]


def test_two_attentions_get_two_acknowledgements(out):
    out.sink.begin(rpc=False)
    out.sink.cancel()
    out.sink.cancel()
    out.sink.finish()
    assert [message[0].status for message in out.messages()] == [ERROR, ATTN, ATTN]


def test_a_value_that_does_not_fit_its_column_becomes_an_error_and_the_rest_stays_whole(out):
    out.sink.begin(rpc=False)
    out.sink.columns([ResultColumn("n", INT)])
    out.sink.row(("text",))
    out.sink.row((1, 2))
    out.sink.done(c.CMD_SELECT, 2)
    out.sink.finish()
    (metadata,) = out.messages()[0]
    tokens = parse(metadata[metadata.index(b"\xaa") :])
    assert [token.number for token in tokens[:2]] == [INTERNAL_ERROR, INTERNAL_ERROR]
    assert tokens[2].status == COUNT | ERROR


def test_a_severity_of_20_ends_the_connection(out):
    out.sink.begin(rpc=False)
    out.sink.message(Message(596, 21, 1, "killed"))
    out.sink.finish()
    assert out.sink.fatal


def test_a_large_result_leaves_while_the_statement_runs_and_only_the_end_has_eom(out):
    out.sink.packet_size = 512
    out.sink.begin(rpc=False)
    out.sink.columns([ResultColumn("s", nvarchar(100))])
    for _ in range(400):
        out.sink.row(("x" * 60,))
    early = len(out.sent)
    assert early > 30_000
    assert all(out.sent[at + 1] == 0 for at in range(0, early, 512))
    out.sink.done(c.CMD_SELECT, 400)
    out.sink.finish()
    ids = [out.sent[at + 6] for at in range(0, len(out.sent), 512)]
    assert ids == [(i + 1) % 256 for i in range(len(ids))]
    (body,) = replies(bytes(out.sent))
    assert body.count(b"\xd1\x78\x00") == 400


@given(st.lists(st.sampled_from(["done", "error", "info", "begin", "rollback", "rows"])))
def test_whatever_a_session_says_exactly_the_last_token_ends_the_reply(script):
    out = Recorder()
    out.sink.begin(rpc=False)
    for word in script:
        if word == "done":
            out.sink.done(c.CMD_UPDATE, 1)
        elif word in ("error", "info"):
            out.sink.message(Message(1, 16 if word == "error" else 0, 1, "m"))
        elif word in ("begin", "rollback"):
            out.sink.env(word, 1, 1)
    out.sink.finish()
    (tokens,) = out.messages()
    assert isinstance(tokens[-1], Done)
    dones = [token for token in tokens if isinstance(token, Done)]
    assert [done.status & MORE for done in dones] == [1] * (len(dones) - 1) + [0]
