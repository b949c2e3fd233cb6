"""Bad input: one clear error that names what is wrong, and nothing done.

A configuration with five errors at once is in tests/product/config/test_load.py; what hostile clients send
is in test_hostile_clients.py, what the broker does not do in test_refusals.py.
"""

from __future__ import annotations

import pytest

from .lab import EVENT, Lab

RIGHT = {
    "fromService": "//redial/audit/initiator",
    "toService": "//redial/audit/target",
    "onContract": "//redial/audit/contract",
    "messageType": EVENT,
}


def untouched(lab: Lab) -> None:
    """No dialog, no message, no transaction: as if nobody had called."""
    assert lab.endpoints() == []
    assert lab.table("SessionConversations") == lab.table("ConversationLog") == []
    lab.at_rest()


@pytest.fixture(scope="module")
def quiet() -> Lab:
    """One deployment for all that is refused without a trace."""
    return Lab()


# ---------------------------------------------------------------------- through usp_Send
@pytest.mark.parametrize("wrong", ["unknown", "", None, "//redial", "x" * 128])
@pytest.mark.parametrize("parameter", RIGHT)
def test_a_wrong_name_is_refused_with_the_parameter_and_the_allowed_value(quiet, parameter, wrong):
    [error] = quiet.call_send(b"x", **{parameter: wrong}).errors
    assert (error.number, error.severity) == (50100, 16)
    assert error.text.startswith(f"@{parameter} must be ")
    assert f"'{RIGHT[parameter]}'" in error.text
    assert error.text.count("@") == 1
    assert error.procedure == "usp_Send"
    untouched(quiet)


def test_service_names_follow_the_databases_collation_and_the_dialog_has_the_configured_ones(lab):
    lab.call_send(
        b"x", fromService="//REDIAL/audit/initiator", toService="//redial/AUDIT/target"
    ).ok()
    assert lab.landed() == [b"x"]


def test_a_message_type_in_another_case_is_another_type(quiet):
    """The broker matches names byte for byte (F-376), and so do we, before anything is begun."""
    [error] = quiet.call_send(b"x", messageType=EVENT.upper()).errors
    assert error.number == 50100
    assert error.text == f"@messageType must be one of: '{EVENT}'."
    untouched(quiet)


def test_every_wrong_parameter_is_named_in_one_error(quiet):
    answer = quiet.session.execute(
        "EXECUTE audit.usp_Send N'a', N'b', N'c', N'd', 0x01, N'key', "
        "'00000000-0000-0000-0000-000000000001';"
    )
    [error] = answer.errors
    assert error.number == 50100
    for name in (*RIGHT, "key", "messageId"):
        assert f"@{name} must be " in error.text
    untouched(quiet)


def test_end_of_stream_is_not_a_callers_to_send(quiet):
    [error] = quiet.call_send(b"x", messageType="EndOfStream").errors
    assert error.text == f"@messageType must be one of: '{EVENT}'."


def test_names_are_data_and_never_run(quiet):
    hostile = "x'; DROP TABLE audit.Landing; --"
    [error] = quiet.call_send(b"x", fromService=hostile).errors
    assert error.number == 50100
    assert quiet.table("Landing") == []


def test_after_a_refusal_the_same_session_sends(lab):
    lab.call_send(b"x", toService="nowhere")
    lab.send(b"x")
    assert lab.landed() == [b"x"]


def test_a_refusal_inside_a_callers_transaction_leaves_his_work_to_him(lab):
    lab.run("CREATE TABLE dbo.work (id int);")
    answer = lab.session.execute(
        "BEGIN TRANSACTION; INSERT dbo.work VALUES (1); BEGIN TRY EXECUTE audit.usp_Send N'a', "
        "N'b', N'c', N'd', 0x01; END TRY BEGIN CATCH PRINT ERROR_NUMBER(); END CATCH; COMMIT;"
    )
    assert answer.ok().infos[0].text == "50100"
    assert lab.rows("SELECT COUNT(*) FROM dbo.work;") == [(1,)]
    untouched(lab)


@pytest.mark.parametrize("body", [None, b""])
def test_no_body_and_an_empty_one_are_both_sent_without_a_body(lab, body):
    lab.send(body)
    assert lab.landed() == [None]


@pytest.mark.parametrize(
    ("call", "number"),
    [
        ("EXECUTE audit.usp_Send", 201),
        ("EXECUTE audit.usp_Send N'a', N'b', N'c', N'd'", 201),
        ("EXECUTE audit.usp_Send N'a', N'b', N'c', N'd', 0x, NULL, NULL, 8", 8144),
        ("EXECUTE audit.usp_Send @service = N'a'", 8145),
        ("EXECUTE audit.usp_Send N'a', N'b', N'c', N'd', N'text is no varbinary'", 257),
        ("EXECUTE audit.usp_Sent", 2812),
    ],
)
def test_a_call_that_does_not_fit_has_the_servers_own_error(quiet, call, number):
    assert [e.number for e in quiet.session.execute(call).errors] == [number]
    untouched(quiet)


# ---------------------------------------------------------------------- raw verbs
BEGIN = (
    "DECLARE @h uniqueidentifier; BEGIN DIALOG @h FROM SERVICE [{0}] TO SERVICE N'{1}' "
    "ON CONTRACT [{2}] WITH ENCRYPTION = OFF; "
)
GOOD = BEGIN.format(*list(RIGHT.values())[:3])


def first_error(lab: Lab, sql: str) -> tuple[int, str]:
    """Number and text of the only error of a batch."""
    [error] = lab.session.execute(sql).errors
    return error.number, error.text


def test_begin_dialog_from_an_unknown_service_is_refused(quiet):
    sql = BEGIN.format("nowhere", RIGHT["toService"], RIGHT["onContract"])
    assert first_error(quiet, sql) == (8423, 'The service "nowhere" is not found.')
    untouched(quiet)


def test_begin_dialog_on_an_unknown_contract_is_refused(quiet):
    sql = BEGIN.format(RIGHT["fromService"], RIGHT["toService"], "no contract")
    assert first_error(quiet, sql) == (8425, "The service contract 'no contract' is not found.")
    untouched(quiet)


def test_begin_dialog_to_an_unknown_service_is_no_error_and_its_messages_wait(lab):
    sql = BEGIN.format(RIGHT["fromService"], "//redial/audit/TARGET", RIGHT["onContract"])
    lab.run(sql + f"SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}] (0x01);")
    assert lab.pending() == [(0, b"\x01")]
    [(status,)] = lab.rows("SELECT transmission_status FROM sys.transmission_queue;")
    assert "no service by that name" in status


@pytest.mark.parametrize(
    ("statement", "number", "text"),
    [
        (
            "SEND ON CONVERSATION @h MESSAGE TYPE [no type] (0x01);",
            8428,
            'The message type "no type" is not found.',
        ),
        (
            "SEND ON CONVERSATION @h (0x01);",
            8431,
            "The message type 'DEFAULT' is not part of the service contract.",
        ),
        (
            f"DECLARE @b varbinary(9); SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}] (@b);",
            8433,
            "The message body may not be NULL. A zero-length UNICODE or binary string is allowed.",
        ),
        (
            f"SEND ON CONVERSATION '00000000-0000-0000-0000-000000000001' MESSAGE TYPE [{EVENT}];",
            8426,
            'The conversation handle "00000000-0000-0000-0000-000000000001" is not found.',
        ),
        (
            f"SET @h = NULL; SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}];",
            8418,
            "The conversation handle is missing. Specify a conversation handle.",
        ),
    ],
)
def test_a_send_that_cannot_be_names_what_is_wrong(lab, statement, number, text):
    assert first_error(lab, GOOD + statement) == (number, text)
    assert (lab.pending(), lab.landed()) == ([], [])


def test_raw_sends_of_a_refused_type_leave_the_dialog_usable(lab):
    answer = lab.session.execute(
        GOOD + "SEND ON CONVERSATION @h MESSAGE TYPE [no type]; "
        f"SEND ON CONVERSATION @h MESSAGE TYPE [{EVENT}] (0x02);"
    )
    assert [e.number for e in answer.errors] == [8428]
    assert lab.landed() == [b"\x02"]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("END CONVERSATION '00000000-0000-0000-0000-000000000001';", 8426),
        ("RECEIVE * FROM audit.NoQueue;", 208),
        ("RECEIVE * FROM audit.Landing;", 208),
        ("BEGIN CONVERSATION TIMER ('00000000-0000-0000-0000-000000000001') TIMEOUT = 1;", 8426),
    ],
)
def test_the_other_verbs_say_what_is_missing(quiet, statement, number):
    assert first_error(quiet, statement)[0] == number
