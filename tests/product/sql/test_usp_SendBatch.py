"""usp_SendBatch: all messages or none, in the order of their ordinals, in one round trip."""

import base64
import json
import re

import pytest

from tests.product.callers.stage import Stage, keys, row_keys, switched

from .bare import another
from .lab import AUDIT, Client, Lab

ARGUMENTS = (
    "@fromService = N'//redial/audit/initiator', @toService = N'//redial/audit/target', "
    "@onContract = N'//redial/audit/contract'"
)
EVENT = "//redial/audit/event"


def batch(stage, *bodies, keys=None, first=1):
    """A call with a table-valued parameter: the bodies in order; keys: of the messages, in turn."""
    rows = []
    for number, body in enumerate(bodies):
        key = (
            f"N'{(keys or ['k1'])[number % len(keys or ['k1'])]}'" if stage.traits.named else "NULL"
        )
        rows.append(f"({first + number}, N'{EVENT}', 0x{body}, {key})")
    return (
        "DECLARE @m audit.MessageBatch; INSERT INTO @m (Ordinal, MessageType, MessageBody, "
        f"MessageKey) VALUES {', '.join(rows)}; EXECUTE audit.usp_SendBatch {ARGUMENTS}, "
        "@messages = @m;"
    )


def as_json(elements, more=""):
    """A call with a JSON text."""
    text = (elements if isinstance(elements, str) else json.dumps(elements)).replace("'", "''")
    return f"EXECUTE audit.usp_SendBatch {ARGUMENTS}, @json = N'{text}'{more};"


def element(ordinal, body=b"\x01", **more):
    """One message as JSON has it."""
    return {"ordinal": ordinal, "type": EVENT, "body": base64.b64encode(body).decode()} | more


@keys
def test_a_caller_gets_no_warnings(key):
    """8153 for each JSON array, until the aggregates had no NULL."""
    stage = Stage(key)
    t1 = stage.caller()
    own = {"key": "k1"} if stage.traits.named else {}
    t1.does(as_json([element(1, **own), element(2, **own)]))
    assert [m.text for m in t1.out.messages if m.number] == []


@keys
def test_messages_arrive_in_the_order_of_their_ordinals_and_one_row_answers(key):
    """3.4: one round trip, ordered by ordinal: rows come in any order, ordinals have gaps."""
    stage = Stage(key)
    t1 = stage.caller()
    own = "N'k1'" if stage.traits.named else "NULL"
    t1.does(
        f"DECLARE @m audit.MessageBatch; INSERT INTO @m VALUES (7, N'{EVENT}', 0x03, {own}, "
        f"NULL), (-2147483648, N'{EVENT}', 0x01, {own}, NULL), (2, N'{EVENT}', 0x02, {own}, "
        f"NULL); DECLARE @rc int; EXECUTE @rc = audit.usp_SendBatch {ARGUMENTS}, "
        "@messages = @m; SELECT @rc;"
    )
    (answer, status) = t1.out.result_sets
    assert answer.names == ["MessagesSent", "DialogsUsed", "Replays", "FirstOrdinal", "LastOrdinal"]
    assert answer.rows == [(3, 3 if stage.traits.per_message else 1, 0, -2147483648, 7)]
    assert status.rows == [(0,)]
    assert stage.landed() == ["01", "02", "03"]
    stage.is_clean()


def test_a_message_that_names_no_type_has_the_only_one():
    stage = Stage()
    t1 = stage.caller()
    t1.does(as_json([{"ordinal": 1, "body": "AQ=="}, {"ordinal": 2, "body": "Ag==", "type": None}]))
    t1.does(
        "DECLARE @m audit.MessageBatch; INSERT INTO @m (Ordinal, MessageBody) VALUES (1, 0x03); "
        "EXECUTE audit.usp_SendBatch @messages = @m; "
        "INSERT INTO audit.Outbox (Ordinal, MessageBody) VALUES (1, 0x04);"
    )
    assert stage.landed() == ["01", "02", "03", "04"]
    assert stage.dba.rows("SELECT DISTINCT MessageType FROM audit.Landing;") == [(EVENT,)]
    stage.is_clean()


@pytest.mark.parametrize(
    ("types", "found"),
    [
        ({EVENT: "none", "//redial/audit/note": "none"}, "Ordinal 1: MessageType must be one of"),
        ({EVENT: "well_formed_xml"}, "Ordinal 1: MessageBody must be"),
    ],
    ids=["of several none is guessed", "the only one keeps its rule"],
)
def test_a_message_without_a_type_is_refused_where_that_is_wrong(types, found):
    named = [{"name": name, "validation": rule} for name, rule in types.items()]
    client = Client(Lab(another(AUDIT, message_types=named)))
    assert client.fail(as_json([{"ordinal": 1, "body": "AQ=="}])) == 50150
    assert found in client.errors[0].text


@keys
def test_json_says_the_same(key):
    stage = Stage(key)
    t1 = stage.caller()
    more = {"key": "k1"} if stage.traits.named else {"key": None}
    rows = t1.rows(
        as_json(
            [
                element(5, b"\x05", **more),
                element(4, bytes(300), **more),
                {"ordinal": 6, "type": EVENT, **more},
            ]
        )
    )
    assert rows == [(3, 3 if stage.traits.per_message else 1, 0, 4, 6)]
    landed = stage.dba.rows(
        f"SELECT Body FROM audit.Landing WHERE MessageType = N'{EVENT}' ORDER BY RowVersion;"
    )
    assert [row[0] for row in landed] == [bytes(300), b"\x05", None]
    stage.is_clean()


@keys
def test_an_empty_batch_is_no_error_and_begins_no_dialog(key):
    stage = Stage(key)
    t1 = stage.caller()
    for call in (f"EXECUTE audit.usp_SendBatch {ARGUMENTS};", as_json("[]")):
        assert t1.rows(call) == [(0, 0, 0, None, None)]
    assert stage.dba.rows("SELECT 1 FROM sys.conversation_endpoints;") == []
    stage.is_clean()


@keys
def test_the_messages_are_a_whole_call(key):
    """As a table, as JSON and, with nothing at all, as an empty batch; the old calls beside them."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(batch(stage, "01").replace(f"{ARGUMENTS}, ", ""))
    t1.does(batch(stage, "02"))
    own = {"key": "k1"} if stage.traits.named else {}
    t1.does(as_json([element(1, b"\x03", **own)]).replace(f"{ARGUMENTS}, ", ""))
    assert t1.rows("EXECUTE audit.usp_SendBatch;") == [(0, 0, 0, None, None)]
    assert stage.landed() == ["01", "02", "03"]
    stage.is_clean()


@pytest.mark.parametrize("given", ["@fromService", "@toService", "@onContract"])
@pytest.mark.parametrize("value", ["NULL", "N''", "N'x'"])
def test_a_name_that_is_passed_is_looked_at_a_default_fills_nothing_in(given, value):
    stage = Stage()
    t1 = stage.caller()
    call = batch(stage, "01").replace(ARGUMENTS, f"{given} = {value}")
    assert re.findall(r"@\w+", t1.fails(call, 50150)) == [given]
    assert stage.dba.rows("SELECT 1 FROM sys.conversation_endpoints;") == []
    stage.is_clean()


def test_every_wrong_argument_and_message_is_named_in_one_error():
    stage = Stage()
    t1 = stage.caller()
    text = t1.fails(
        "DECLARE @m audit.MessageBatch; INSERT INTO @m VALUES (1, N'EndOfStream', 0x01, NULL, "
        f"NULL), (2, N'', 0x01, N'key', NULL), (3, N'{EVENT}', 0x01, NULL, NEWID()), (4, "
        f"N'{EVENT}', 0x01, NULL, NULL); EXECUTE audit.usp_SendBatch N'a', NULL, N'c', @m;",
        50150,
    )
    for part in (
        "@fromService must be",
        "@toService must be",
        "@onContract must be",
        "Ordinal 1: MessageType must be one of: '//redial/audit/event'",
        "Ordinal 2: MessageType must be",
        "Ordinal 2: MessageKey must be NULL",
        "Ordinal 3: MessageId must be NULL",
        "Nothing was sent",
    ):
        assert part in text
    assert "Ordinal 4" not in text
    assert stage.dba.rows("SELECT 1 FROM sys.conversation_endpoints;") == []
    stage.is_clean()


WRONG = [
    ({"type": EVENT}, "Element 2: ordinal is missing"),
    ({"ordinal": None, "type": EVENT}, "Element 2: ordinal is missing"),
    ({"ordinal": "7", "type": EVENT}, "Ordinal 7: ordinal must be a whole number"),
    ({"ordinal": 1.5, "type": EVENT}, "Element 2: ordinal must be a whole number"),
    ({"ordinal": 2147483648, "type": EVENT}, "Element 2: ordinal must be a whole number"),
    ({"ordinal": True, "type": EVENT}, "Element 2: ordinal must be a whole number"),
    (5, "Element 2: the element must be an object"),
    ("x", "Element 2: the element must be an object"),
    (None, "Element 2: the element must be an object"),
    ([1], "Element 2: the element must be an object"),
    ({"ordinal": 7, "type": 5}, "Ordinal 7: type, body, key and id must be strings"),
    ({"ordinal": 7, "type": EVENT, "body": [1]}, "Ordinal 7: type, body, key and id must be"),
    ({"ordinal": 7, "type": EVENT, "Body": "AA=="}, "Ordinal 7: has a property that is none of"),
    ({"Ordinal": 7, "type": EVENT}, "Element 2: has a property that is none of"),
    ({"ordinal": 7, "type": EVENT, "id": "x"}, "Ordinal 7: id must be a uuid"),
    (
        {"ordinal": 7, "type": EVENT, "id": "6F9619FF-8B86-D011-B42D-00C04FC964FFxyz"},
        "Ordinal 7: id must be a uuid",
    ),
    ({"ordinal": 1, "type": EVENT}, "Ordinal 1: ordinal is also another element's"),
    ({"ordinal": 7, "type": "EndOfStream"}, "Ordinal 7: MessageType must be one of"),
    ({"ordinal": 7, "type": ""}, "Ordinal 7: MessageType must be one of"),
    ({"ordinal": 7, "type": EVENT, "key": "k"}, "Ordinal 7: MessageKey must be NULL"),
    (
        {"ordinal": 7, "type": EVENT, "id": "6F9619FF-8B86-D011-B42D-00C04FC964FF"},
        "Ordinal 7: MessageId must be NULL",
    ),
    *(
        ({"ordinal": 7, "type": EVENT, "body": text}, "Ordinal 7: body must be base64")
        for text in ("AA", "AA!=", "AA=A", "=AAA", "A===", "AAAA\nAAAA", "AA A", "AAAAÄAAA", "-_==")
    ),
]


@pytest.mark.parametrize(("wrong", "text"), WRONG)
@switched("openjson_too_long")
def test_a_wrong_element_is_named_by_its_ordinal_and_nothing_is_sent(wrong, text, switches):
    stage = Stage(switches=switches)
    t1 = stage.caller()
    found = t1.fails(as_json([element(1), wrong, element(3)]), 50150)
    assert found.startswith("Nothing was sent. ") and text in found
    assert len(re.findall(r"(Ordinal|Element) -?\d+:", found)) == 1
    assert stage.dba.rows("SELECT 1 FROM sys.conversation_endpoints;") == []
    stage.is_clean()


def test_a_property_given_twice_is_named():
    t1 = Stage().caller()
    assert "Ordinal 2: has a property twice" in t1.fails(
        as_json(f'[{{"ordinal": 1, "ordinal": 2, "type": "{EVENT}"}}]'), 50150
    )


@pytest.mark.parametrize(
    "text", ["", "x", "5", '{"ordinal": 1}', '{"a": [1]}', "[1", "null", ' {"b": []}']
)
def test_json_that_is_no_array_is_refused(text):
    t1 = Stage().caller()
    assert "@json must be a JSON array" in t1.fails(as_json(text), 50150)


def test_json_and_messages_together_are_refused():
    t1 = Stage().caller()
    assert "must not both" in t1.fails(
        f"DECLARE @m audit.MessageBatch; INSERT INTO @m (Ordinal, MessageType) VALUES "
        f"(1, N'{EVENT}'); EXECUTE audit.usp_SendBatch {ARGUMENTS}, @messages = @m, "
        "@json = N'[]';",
        50150,
    )


def test_a_wrong_batch_of_thousands_gets_an_error_that_fits():
    stage = Stage()
    t1 = stage.caller()
    text = t1.fails(
        as_json([{"ordinal": n, "type": "%d" * 50, "id": "?"} for n in range(3000)]), 50150
    )
    assert "Ordinal 0:" in text and "Ordinal 5:" in text and len(text) <= 2048
    stage.is_clean()


def test_the_servers_own_errors_name_a_doubled_and_a_missing_ordinal_of_a_parameter():
    t1 = Stage().caller()
    for values, number in (("(1), (1)", 2627), ("(NULL)", 515)):
        t1.starts(f"DECLARE @m audit.MessageBatch; INSERT INTO @m (Ordinal) VALUES {values};")
        assert t1.errors == [number]


@keys
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_in_a_callers_transaction_it_is_part_of_it(key, abort):
    """1 T1 writes a row and sends a batch: nothing arrives. 2 It commits, or rolls back."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(
        f"SET XACT_ABORT {abort}; BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);"
        + batch(stage, "01", "02")
    )
    assert stage.landed() == []
    t1.does("COMMIT;")
    t1.does("BEGIN TRANSACTION;" + batch(stage, "03", "04") + "ROLLBACK;")
    assert (stage.orders(), stage.landed()) == ([1], ["01", "02"])
    stage.is_clean()


@row_keys
@switched("broker_error_dooms", "savepoint_over_verbs")
@pytest.mark.parametrize("own", [True, False], ids=["its own transaction", "the caller's"])
@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_a_dead_dialog_replays_the_batch_whole_on_one_new_dialog(key, switches, own, abort):
    """1 T1's dialog dies. 2 Its batch: every message on one new dialog, and the answer says so."""
    stage = Stage(key, switches)
    t1 = stage.caller()
    t1.does(stage.send("00"))
    before, after = (
        ("", "") if own else ("BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1);", "COMMIT;")
    )
    t1.loses_dialogs(f"SET XACT_ABORT {abort}; {before} {batch(stage, '01', '02', '03')} {after}")
    if t1.errors:
        assert switches["broker_error_dooms"] and not own and t1.errors[0] == 8426
        t1.does("IF @@TRANCOUNT > 0 ROLLBACK;")
        assert (stage.orders(), stage.landed()) == ([], ["00"])
    else:
        assert t1.out.result_sets[-1].rows == [(3, 1, 1, 1, 3)]
        assert (stage.orders(), stage.landed()) == ([] if own else [1], ["00", "01", "02", "03"])
        dialogs = stage.dba.rows(
            "SELECT COUNT(DISTINCT ConversationId) FROM audit.Landing WHERE Body > 0x00;"
        )
        assert dialogs == [(1,)]
    stage.is_clean()


@keys
def test_an_error_that_leaves_the_transaction_alive_leaves_nothing_of_the_batch_in_it(key):
    """1 T1 writes a row, then sends a batch with a wrong second message; it catches and commits."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(
        "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1); BEGIN TRY "
        + batch(stage, "01", "02").replace(f"(2, N'{EVENT}'", "(2, N'nothing'")
        + " END TRY BEGIN CATCH IF ERROR_NUMBER() <> 50150 THROW; END CATCH; COMMIT;"
    )
    assert (stage.orders(), stage.landed()) == ([1], [])
    stage.is_clean()


MIDDLE = (
    "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1); BEGIN TRY {} END TRY "
    "BEGIN CATCH IF ERROR_NUMBER() <> 1222 THROW; SELECT XACT_STATE(); END CATCH; "
    "IF XACT_STATE() = 1 COMMIT; ELSE ROLLBACK;"
)


@switched("group_lock_timeout_dooms", "savepoint_over_verbs")
@pytest.mark.parametrize(("bodies", "left"), [(["01", "02"], -1), (["02"], 1)])
def test_an_error_in_the_middle_leaves_nothing_of_the_batch_to_commit(bodies, left, switches):
    """1 Somebody holds the dialog of key b. 2 T1 sends to a, then to b, which fails; it catches that
    and commits if it can: all of it or nothing. An error before the first SEND dooms nothing.
    """
    stage = Stage("application", switches)
    t1 = stage.caller()
    t1.does(batch(stage, "00", "00", keys=["a", "b"]))
    ((handle,),) = stage.dba.rows(
        "SELECT Handle FROM audit.SessionConversations WHERE ConversationKey = N'b';"
    )
    holder = stage.caller()
    holder.does(f"BEGIN TRANSACTION; BEGIN CONVERSATION TIMER ('{handle}') TIMEOUT = 900;")
    keys = ["a", "b"][-len(bodies) :]
    rows = t1.rows("SET LOCK_TIMEOUT 0;" + MIDDLE.format(batch(stage, *bodies, keys=keys)))
    alive = left == 1 and not switches["group_lock_timeout_dooms"]
    assert rows == [(1 if alive else -1,)]
    holder.does("ROLLBACK;")
    assert (stage.orders(), stage.landed()) == ([1] if alive else [], ["00", "00"])
    stage.is_clean()


def test_a_batch_takes_no_savepoint():
    """A distributed transaction refuses one (627), and whether it takes SEND back is unknown."""
    stage = Stage()
    ((text,),) = stage.dba.rows("SELECT OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_SendMessages'));")
    assert not re.search(r"SAVE\s+TRAN", text)


@pytest.mark.parametrize("abort", ["OFF", "ON"])
def test_its_row_can_be_caught_by_insert_execute(abort):
    """1 Key b's dialog dies. 2 T1 catches the answer of a batch over a and b in a table."""
    stage = Stage("application")
    t1 = stage.caller()
    t1.does("CREATE TABLE dbo.Answer (a int, b int, c int, d int, e int);")
    t1.does(batch(stage, "01", "02", keys=["a", "b"]))
    ((handle,),) = stage.dba.rows(
        "SELECT Handle FROM audit.SessionConversations WHERE ConversationKey = N'b';"
    )
    t1.loses_dialogs(
        f"SET XACT_ABORT {abort};"
        + batch(stage, "03", "04", keys=["a", "b"]).replace(
            "EXECUTE audit", "INSERT INTO dbo.Answer EXECUTE audit"
        ),
        handle,
    )
    assert t1.rows("SELECT * FROM dbo.Answer;") == [(2, 2, 1, 1, 2)]
    assert stage.landed() == ["01", "02", "03", "04"]
    assert t1.value("@@OPTIONS & 16384") == (16384 if abort == "ON" else 0)
    stage.is_clean()


@keys
def test_a_callers_savepoint_keeps_its_place(key):
    """1 T1 saves, sends a batch, rolls back to its savepoint: the row stays, the batch goes."""
    stage = Stage(key)
    t1 = stage.caller()
    t1.does(
        "BEGIN TRANSACTION; INSERT INTO dbo.Orders VALUES (1); SAVE TRANSACTION s;"
        + batch(stage, "01", "02")
        + "ROLLBACK TRANSACTION s; COMMIT;"
    )
    assert (stage.orders(), stage.landed()) == ([1], [])
    stage.is_clean()


def test_two_thousand_messages_in_one_call():
    """Thousands per call, as a parameter and as JSON (figures: tests/product/sql is no benchmark)."""
    stage = Stage()
    t1 = stage.caller()
    elements = [element(n, n.to_bytes(4, "big")) for n in range(2000)]
    assert t1.rows(as_json(elements)) == [(2000, 1, 0, 0, 1999)]
    stage.instance.advance(30)
    assert stage.landed() == [n.to_bytes(4, "big").hex() for n in range(2000)]
    stage.is_clean()


def test_an_application_needs_execute_on_procedure_and_type_only():
    stage = Stage()
    stage.dba.does("CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;")
    t1 = stage.caller()
    t1.does("EXECUTE AS USER = N'app';" + batch(stage, "01") + as_json([element(2)]) + "REVERT;")
    assert stage.landed() == ["01", "01"]
    for call in ("EXECUTE audit.usp_SendMessages;", "SELECT * FROM audit.ufn_ReadBatch(N'[]');"):
        t1.starts(f"EXECUTE AS USER = N'app'; {call}")
        assert t1.errors == [229]
        t1.does("IF USER_NAME() = N'app' REVERT;")


# ---------------------------------------------------------------------- with other choices
ENVELOPE = (
    "SELECT l.ConversationKey, l.KeySequence, l.MessageId, l.Body FROM audit.Landing AS l "
    f"WHERE l.MessageType = N'{EVENT}' ORDER BY l.RowVersion;"
)


def test_with_order_by_key_the_stamps_follow_the_ordinals_of_each_key():
    """Seeds' order per key: stamps 1, 2, 3 per key, going on where the last send ended."""
    stage = Stage("application", conversation={"order": "key"})
    t1 = stage.caller()
    t1.does(stage.send("0A", "b"))
    t1.does(batch(stage, "01", "02", "03", "04", "05", keys=["a", "b"]))
    t1.does(stage.send("06", "b"))
    landed = stage.dba.rows(ENVELOPE)
    assert [(n, body.hex()) for key, n, _, body in landed if key == "a"] == [
        (1, "01"),
        (2, "03"),
        (3, "05"),
    ]
    assert [(n, body.hex()) for key, n, _, body in landed if key == "b"] == [
        (1, "0a"),
        (2, "02"),
        (3, "04"),
        (4, "06"),
    ]
    stage.is_clean()


@pytest.mark.parametrize("own", [True, False], ids=["its own transaction", "the caller's"])
def test_a_replay_leaves_no_gap_in_the_stamps_and_keeps_the_ids(own):
    """1 Key b's dialog dies. 2 A batch over a and b is replayed: the stamps have no gap."""
    stage = Stage("application", conversation={"order": "key", "delivery": "exactly_once"})
    t1 = stage.caller()
    t1.does(batch(stage, "01", "02", keys=["a", "b"]))
    ((handle,),) = stage.dba.rows(
        "SELECT Handle FROM audit.SessionConversations WHERE ConversationKey = N'b';"
    )
    text = batch(stage, "03", "04", "05", keys=["a", "b"])
    t1.loses_dialogs(text if own else f"BEGIN TRANSACTION; {text} COMMIT;", handle)
    assert t1.out.result_sets[-1].rows == [(3, 2, 1, 1, 3)]
    landed = stage.dba.rows(ENVELOPE)
    assert sorted((key, n, body.hex()) for key, n, _, body in landed) == [
        ("a", 1, "01"),
        ("a", 2, "03"),
        ("a", 3, "05"),
        ("b", 1, "02"),
        ("b", 2, "04"),
    ]
    assert len({made for _, _, made, _ in landed} - {None}) == 5
    stage.is_clean()


def test_a_retry_of_a_batch_with_its_ids_lands_once():
    """A client that does not know whether its batch arrived sends it again with the same ids."""
    stage = Stage(conversation={"delivery": "exactly_once"})
    t1 = stage.caller()
    ids = [f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2)]
    call = as_json([element(n, bytes([n]), id=ids[n - 1]) for n in (1, 2)])
    t1.does(call)
    t1.does(call)
    assert stage.landed() == ["01", "02"]
    stage.is_clean()


def test_ids_that_would_lose_a_message_are_refused():
    """The target drops the second message of an id: two of one batch must not have the same."""
    t1 = Stage(conversation={"delivery": "exactly_once"}).caller()
    same, zero = "6F9619FF-8B86-D011-B42D-00C04FC964FF", "00000000-0000-0000-0000-000000000000"
    text = t1.fails(
        as_json(
            [element(1, id=same), element(2, id=same.lower()), element(3), element(4, id=zero)]
        ),
        50150,
    )
    for part in (
        "Ordinal 1: MessageId is also another message's",
        "Ordinal 2: MessageId is also another message's",
        "Ordinal 4: MessageId must be NULL or an id of its own",
    ):
        assert part in text
    assert "Ordinal 3" not in text


def test_a_dialog_whose_time_has_come_is_closed_by_the_batch_that_finds_it():
    """aged_out: the count is looked at once per batch, so a batch is never split by it."""
    stage = Stage(
        conversation={"recycle": "aged_out"}, aged_out={"after_messages": 2, "spread_messages": 0}
    )
    t1 = stage.caller()
    t1.does(batch(stage, "01", "02", "03"))
    t1.does(batch(stage, "04", "05"))
    assert stage.landed() == ["01", "02", "03", "04", "05"]
    dialogs = stage.dba.rows(
        "SELECT COUNT(*) FROM audit.Landing GROUP BY ConversationId ORDER BY MIN(RowVersion);"
    )
    assert [count for (count,) in dialogs] == [4, 2]  # three and EndOfStream, two
    stage.is_clean()


@pytest.mark.parametrize(
    ("keys_", "wrong"),
    [(["", "b"], "Ordinal 1"), (["a", "b" * 201], "Ordinal 2"), (["a", "b" * 4000], "Ordinal 2")],
)
def test_a_key_too_short_or_too_long_is_named(keys_, wrong):
    stage = Stage("application")
    t1 = stage.caller()
    text = t1.fails(batch(stage, "01", "02", keys=keys_), 50150)
    assert f"{wrong}: MessageKey must be 1 to 200 characters long" in text
    stage.is_clean()


def test_keys_the_collation_holds_equal_share_a_dialog_and_one_row():
    stage = Stage("application")
    t1 = stage.caller()
    assert t1.rows(batch(stage, "01", "02", "03", keys=["k", "K", "k "])) == [(3, 1, 0, 1, 3)]
    assert stage.dba.rows("SELECT COUNT(*) FROM audit.SessionConversations;") == [(1,)]
    assert stage.landed() == ["01", "02", "03"]
    stage.is_clean()
