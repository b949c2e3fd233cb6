"""usp_Trace: where a message is, or when and why it was gone; and it claims no more than is known.

A message is known by the place it was sent at, by key and number, by its id, as a dead letter or as a row of
Landing. The last tests live a day with troubles and ask of every message.
"""

from __future__ import annotations

import re

import pytest

from redial.config import Config
from tests.choices import KEYS, TRAITS, usual_recycle

from .lab import Client, Lab, configured, send
from .test_setup_trouble import LONG, longest
from .tracing import (
    DEAD,
    LANDED,
    PENDING,
    QUEUED,
    READS,
    SKIPPED,
    TAKES,
    Day,
    Trace,
    answered,
    batch,
    trace,
)
from .two import DEPOT, SHOP, Two, quote_name

NOBODY = "11111111-1111-1111-1111-111111111111"
NUMBERED = configured(conversation={"key": "application", "order": "key"})
ONCE = configured(conversation={"key": "application", "order": "key", "delivery": "exactly_once"})
SHORT = configured(
    conversation={"lifetime_seconds": 600, "longest_transaction_seconds": 30},
    timer={"after_seconds": 500, "spread_seconds": 0, "retry_seconds": 5},
)
BAD = "ALTER TABLE audit.Landing ADD CONSTRAINT poison CHECK (Body <> 0xBAD0);"
GOOD = "ALTER TABLE audit.Landing DROP CONSTRAINT poison;"
REPLAY = "EXECUTE audit.usp_ReplayDeadLetter {}, @reason = N'mended', @WhatIf = 0;"


@pytest.fixture
def lab() -> Lab:
    return Lab()


def place(lab: Lab, begun: int = 0) -> str:
    """The conversation of the dialog that was begun as that one."""
    rows = lab.rows(
        "SELECT ConversationId FROM audit.ConversationLog "
        "ORDER BY BegunUtc, CASE WHEN ResendOf IS NULL THEN 0 ELSE 1 END;"
    )
    return str(rows[begun][0])


def of(lab: Lab, number: int, more: str = "") -> Trace:
    return trace(lab, f"@id = '{place(lab)}', @sequence = {number}{more}")


# ---------------------------------------------------------------------- where it is now
def test_a_message_that_has_landed(lab):
    Client(lab).execute(send("0xA0") + send("0xA1"))
    lab.advance(1)
    found = of(lab, 1)
    assert (found.word, found.says) == (LANDED, "It has landed.")
    assert found.names == ["dialog begun", "landed", "now"]
    [row] = found.all("landed")
    assert (row["sequence"], row["bytes"], row["type"]) == (1, 1, "//redial/audit/event")


def test_a_message_that_nobody_reads_is_in_the_target_s_queue_and_its_queue_is_told(lab):
    lab.rows(READS.format("OFF"))
    Client(lab).execute(send())
    found = of(lab, 0)
    assert found.word == QUEUED and "or is just being read" in found.says
    [step] = found.all("in the target's queue")
    assert "Its activation is off" in step["detail"] and step["place"] == "TargetQueue"
    assert [step["place"] for step in found.all("copied")] == ["SentMessage"]


def test_with_the_target_queue_off_it_is_on_its_way(lab):
    lab.rows(TAKES.format("OFF"))
    Client(lab).execute(send())
    found = of(lab, 0)
    assert found.word == PENDING
    [step] = found.all("on its way")
    assert (
        step["place"] == "transmission queue"
        and "The queue is off: usp_StartQueue" in step["detail"]
    )


def test_the_status_of_the_last_transmission_is_told(lab):
    lab.rows("DROP SERVICE [//redial/audit/target];")
    Client(lab).execute(send())
    lab.advance(1)
    [step] = of(lab, 0).all("on its way")
    assert "Status of the last transmission: " in step["detail"]


def test_what_an_open_transaction_has_sent_is_not_called_sent(lab):
    sender = Client(lab)
    sender.execute(f"BEGIN TRANSACTION; {send()}")
    ((conversation,),) = lab.rows("SELECT ConversationId FROM audit.SentMessage WITH (NOLOCK);")
    asked = f"@id = '{conversation}', @sequence = 0"
    found = trace(lab, asked)
    assert found.word == PENDING and "a transaction that is still open" in found.says
    sender.execute("ROLLBACK TRANSACTION;")
    found = trace(lab, asked)
    assert (found.word, found.code) == ("not known here", 4)


def test_a_message_whose_landing_fails_for_the_server_s_sake_says_with_what(lab):
    with longest(lab):
        Client(lab).execute(send("0x" + LONG.hex()))
        lab.advance(60)
    found = of(lab, 0)
    assert found.word == QUEUED
    assert found.all("error")[0]["detail"].startswith("usp_TargetActivation 7139: ")
    assert "waits for the server" in found.all("landing has failed")[0]["detail"]


# ---------------------------------------------------------------------- when and why it was gone
def test_what_expired_is_followed_to_the_dialog_it_landed_on():
    lab = Lab(SHORT)
    client = Client(lab)
    client.execute(send("0xA0"))
    lab.rows(TAKES.format("OFF"))
    client.execute(send("0xA1") + send("0xA2"))
    lab.advance(610)
    lab.rows(TAKES.format("ON"))
    lab.advance(60)
    for number, body in ((1, 0xA1), (2, 0xA2)):
        found = of(lab, number)
        assert found.word == LANDED
        assert found.names[:6] == [
            *("dialog begun", "end of stream sent", "dialog ended"),
            *("dialog begun", "sent again", "end of stream sent"),
        ]
        assert found.all("dialog ended")[0]["detail"].startswith(
            "code -8489; of 3 messages 2 sent again"
        )
        [row] = found.all("landed")
        ((version,),) = lab.rows(
            "SELECT CONVERT(nvarchar(18), CONVERT(binary(8), RowVersion), 1) FROM audit.Landing "
            f"WHERE Body = 0x{body:X};"
        )
        assert row["detail"] == f"RowVersion {version}"
        back = trace(lab, f"@rowVersion = {version}")
        assert back.all("landed") == found.all("landed")
        assert "that are sent again, of " in back.all("dialog begun")[0]["detail"]
    assert len(of(lab, 0).all("landed")) == 1


def test_what_was_ended_by_hand_is_left_behind_until_it_is_sent_again(lab):
    lab.rows(READS.format("OFF"))
    Client(lab).execute(send("0xA0") + send("0xA1"))
    for (handle,) in lab.rows("SELECT conversation_handle FROM sys.conversation_endpoints;"):
        lab.rows(f"END CONVERSATION '{handle}' WITH CLEANUP;")
    found = of(lab, 1)
    assert found.word == PENDING and "usp_Resend" in found.all("left behind")[0]["detail"]
    lab.rows(READS.format("ON"))
    lab.rows("EXECUTE audit.usp_Resend @reason = N'by hand', @WhatIf = 0;")
    lab.advance(5)
    found = of(lab, 1)
    assert found.word == LANDED and len(found.all("sent again")) == 1
    assert found.all("landed")[0]["sequence"] == 1


def test_a_dead_letter_of_the_target_its_replay_and_its_landing(lab):
    lab.rows(BAD)
    Client(lab).execute(send("0xA0") + send("0xBAD0") + send("0xA1"))
    lab.advance(5)
    found = of(lab, 1)
    assert found.word == DEAD and "usp_ReplayDeadLetter" in found.says
    assert re.match(r"1 of the target's side, code 547: ", found.all("dead letter")[0]["detail"])
    assert trace(lab, "@deadLetterId = 1").steps == found.steps
    assert of(lab, 2).word == LANDED
    lab.rows(GOOD)
    lab.rows(REPLAY.format(1))
    lab.advance(5)
    found = of(lab, 1)
    assert found.word == LANDED and "after a replay" in found.says
    steps = ["dead letter", "replayed", "sent again", "landed"]
    assert [name for name in found.names if name in steps] == steps
    assert found.all("replayed")[0]["detail"] == "1 by sa: mended"
    assert trace(lab, "@deadLetterId = 1").steps == found.steps


def test_letters_of_several_dialogs_that_one_replay_has_sent_are_told_apart(lab):
    lab.rows("ALTER TABLE audit.Landing ADD CONSTRAINT poison CHECK (DATALENGTH(Body) = 1);")
    one, other = Client(lab), Client(lab)
    for number in range(4):
        for who, client in enumerate((one, other)):
            client.execute(send(f"0x{who:02X}{number:02X}"))
    lab.advance(5)
    lab.rows(GOOD)
    lab.rows(REPLAY.format("1, 8"))
    lab.advance(5)
    for letter, body in lab.rows("SELECT DeadLetterId, Body FROM audit.DeadLetter;"):
        found = trace(lab, f"@deadLetterId = {letter}")
        [row] = found.all("landed")
        version = row["detail"].split()[1]
        assert found.word == LANDED and "after a replay" in found.says
        assert lab.rows(f"SELECT Body FROM audit.Landing WHERE RowVersion = {version};") == [
            (body,)
        ]


def test_a_dead_letter_of_the_sender_s_side_says_the_code(lab):
    lab.rows(READS.format("OFF"))
    Client(lab).execute(send("0xA0") + send("0xA1"))
    lab.rows(f"EXECUTE audit.usp_ResendPending '{lab.handle()}', -8494, N'refused';")
    found = of(lab, 1)
    assert found.word == DEAD
    assert found.all("dead letter")[0]["detail"] == "2 of the initiator's side, code -8494: refused"


def test_a_dead_letter_that_an_operator_has_removed_is_given_up():
    lab = Lab(NUMBERED)
    lab.rows(BAD)
    Client(lab).execute(send("0xBAD0", key="N'k'"))
    lab.advance(5)
    lab.rows(
        "EXECUTE audit.usp_PurgeDeadLetter @deadLetterId = 1, @reason = N'nobody needs it', @WhatIf = 0;"
    )
    found = trace(lab, "@key = N'k', @keySequence = 1")
    assert (found.word, found.code) == ("given up", 3)
    found = trace(lab, "@deadLetterId = 1")
    assert found.word == "not known here"
    assert "nobody needs it" in found.all("purge")[0]["detail"]


def test_a_repeat_that_was_dropped_is_told_by_its_number_and_by_the_id():
    lab = Lab(ONCE)
    client = Client(lab)
    for _ in range(2):
        client.execute(send("0xA0", key="N'k'", message_id=f"'{NOBODY}'"))
        lab.advance(1)
    assert trace(lab, "@key = N'k', @keySequence = 1").word == LANDED
    found = trace(lab, "@key = N'k', @keySequence = 2")
    assert (found.word, found.code) == (SKIPPED, 0)
    assert "a repeat that was dropped" in of(lab, 1).says
    found = trace(lab, f"@id = '{NOBODY}'")
    assert found.word == LANDED
    assert found.all("id kept")[0]["detail"].endswith("dropped: 1")


def test_a_recycled_dialog_says_when_its_stream_and_its_sides_ended():
    lab = Lab(configured(timer={"after_seconds": 60, "spread_seconds": 0}))
    Client(lab).execute(send())
    lab.advance(70)
    found = of(lab, 0)
    assert found.word == LANDED
    assert [name for name in found.names if name != "now"] == [
        *("dialog begun", "landed", "end of stream sent", "dialog ended"),
    ]


# ---------------------------------------------------------------------- not known
def test_a_number_that_was_never_sent(lab):
    Client(lab).execute(send())
    lab.advance(1)
    found = of(lab, 1)
    assert (found.word, found.code) == ("never sent", 4)
    assert (
        "has sent 1 messages, numbered from 0" in found.says
        and "Kept here: landed rows for ever" in found.says
    )


def test_what_landed_and_was_removed_is_gone_and_says_what_is_kept_how_long():
    lab = Lab(configured(retention={"landing_days": 7}))
    Client(lab).execute(send())
    lab.advance(1)
    lab.rows("DELETE FROM audit.Landing;")
    found = of(lab, 0)
    assert (found.word, found.code) == ("gone", 4)
    assert (
        "it has landed, and its row was removed" in found.says
        and "landed rows 7 days" in found.says
    )


def test_with_ids_a_row_that_was_removed_is_still_known_to_have_landed():
    lab = Lab(ONCE)
    Client(lab).execute(send(key="N'k'", message_id=f"'{NOBODY}'"))
    lab.advance(1)
    lab.rows("DELETE FROM audit.Landing;")
    found = trace(lab, f"@id = '{NOBODY}'")
    assert found.word == LANDED and "the row was removed" in found.says


@pytest.mark.parametrize(
    "asked",
    [
        f"@id = '{NOBODY}'",
        "@key = N'nobody'",
        "@deadLetterId = 99",
        "@rowVersion = 0x00000000FFFFFFFF",
    ],
)
def test_what_is_nowhere_is_not_known_here_and_says_how_to_tell(lab, asked):
    found = trace(lab, asked)
    assert (found.word, found.code, found.steps) == ("not known here", 4, [])


def test_how_far_it_looked_is_said(lab):
    client = Client(lab)
    for number in range(5):
        client.execute(send(f"0x{number:02X}"))
    lab.advance(1)
    found = of(lab, 0, ", @rows = 2")
    assert found.word == "gone" and "Looked at: the last 2 rows of what has no index" in found.says
    assert of(lab, 4, ", @rows = 2").word == LANDED


@pytest.mark.parametrize("numbered", [False, True])
def test_with_its_index_a_row_is_found_however_far_back(numbered):
    base = NUMBERED if numbered else configured()
    lab = Lab(
        base.model_copy(update={"landing": configured(landing={"order_index": True}).landing})
    )
    client = Client(lab)
    for number in range(5):
        client.execute(send(f"0x{number:02X}", key="N'k'" if numbered else None))
    lab.advance(1)
    asked = "@key = N'k', @keySequence = 1" if numbered else f"@id = '{place(lab)}', @sequence = 0"
    assert trace(lab, f"{asked}, @rows = 2").word == LANDED


# ---------------------------------------------------------------------- lists
def test_of_a_dialog_every_message_is_listed_and_counted(lab):
    lab.rows(BAD)
    client = Client(lab)
    client.execute(send("0xA0") + send("0xBAD0"))
    lab.advance(5)
    lab.rows(READS.format("OFF"))
    client.execute(send("0xA1"))
    handle = lab.handle()
    (target,) = [
        h
        for h, side in lab.rows(
            "SELECT conversation_handle, is_initiator FROM sys.conversation_endpoints;"
        )
        if not side
    ]
    lists = [
        trace(lab, f"{name} = '{value}'")
        for name, value in (
            ("@id", handle),
            ("@id", handle),
            ("@id", target),
            ("@id", place(lab)),
            ("@id", place(lab)),
        )
    ]
    for found in lists:
        assert found.word == "dead letters" and found.code == 3
        assert found.says.startswith(
            "1 landed, 0 on their way, 1 in the target's queue, 1 dead letters"
        )
        assert found.steps == lists[0].steps


def test_of_a_dialog_that_was_sent_again_the_others_are_listed_too(lab):
    lab.rows(READS.format("OFF"))
    Client(lab).execute(send("0xA0") + send("0xA1"))
    lab.rows(f"EXECUTE audit.usp_ResendPending '{lab.handle()}', -8489;")
    lab.rows(READS.format("ON"))
    lab.advance(5)
    found = trace(lab, f"@id = '{place(lab)}'")
    assert found.word == LANDED and found.says.startswith("2 landed, ")
    assert len(found.all("dialog begun")) == 2


def test_of_a_dialog_whose_letters_were_all_replayed_they_are_listed_where_they_landed(lab):
    lab.rows(BAD)
    Client(lab).execute(send("0xBAD0") * 3)
    lab.advance(5)
    lab.rows(GOOD)
    lab.rows(REPLAY.format("1") + REPLAY.format("@code = 547"))
    lab.advance(5)
    found = trace(lab, f"@id = '{place(lab)}'")
    assert (found.word, found.code) == (LANDED, 0)
    assert found.says.startswith(
        "3 landed, 0 on their way, 0 in the target's queue, 0 dead letters"
    )
    assert found.says.endswith("of 3 sent.")
    assert len(found.all("replayed")) == 3


def test_a_list_is_cut_at_a_thousand_rows_and_says_so(lab):
    lab.rows(READS.format("OFF"))
    client = Client(lab)
    client.execute(
        "DECLARE @n int = 0; WHILE @n < 1005 BEGIN " + send("0xA0") + " SET @n += 1; END;"
    )
    found = trace(lab, f"@id = '{place(lab)}'")
    assert len(found.all("copied")) == 999 and found.says.endswith(
        " The list was cut after the last 999."
    )


@pytest.mark.parametrize("envelope", [False, True], ids=["plain", "enveloped"])
@pytest.mark.parametrize("key", KEYS)
def test_of_a_key_its_messages_are_listed_whatever_the_kind_of_key(key, envelope):
    lab = Lab(
        configured(
            conversation={"key": key, "recycle": usual_recycle(key)}, envelope={"who": envelope}
        )
    )
    client = Client(lab)
    client.execute(send("0xA0", key="N'k'" if TRAITS[key].named else None))
    lab.advance(1)
    ((known,),) = lab.rows("SELECT ConversationKey FROM audit.ConversationLog;")
    if known is None:  # nobody shares a dialog, or everybody does
        assert trace(lab, f"@id = '{place(lab)}'").word == LANDED
        return
    found = trace(lab, f"@key = N'{known}'")
    assert found.word == LANDED and len(found.all("landed")) == 1


def test_of_a_numbered_key_every_number_is_known_by_itself():
    lab = Lab(NUMBERED)
    client = Client(lab)
    client.execute(
        send("0xA0", key="N'k'") + send("0xB0", key="N'other'") + send("0xA1", key="N'k'")
    )
    lab.advance(5)
    lab.rows(READS.format("OFF"))
    client.execute(send("0xA2", key="N'k'"))
    words = [trace(lab, f"@key = N'k', @keySequence = {number}").word for number in (1, 2, 3, 4)]
    assert words == [LANDED, LANDED, QUEUED, "not known here"]
    assert trace(lab, "@key = N'k'").says.startswith(
        "2 landed, 0 on their way, 1 in the target's queue"
    )


@pytest.mark.parametrize(
    "key", ["k'; DROP TABLE audit.Landing; --", "]]", "%", "漢字", " ", "x" * 200]
)
def test_a_hostile_key_is_a_key_like_any_other(key):
    lab = Lab(NUMBERED)
    text = "N'" + key.replace("'", "''") + "'"
    Client(lab).execute(send("0xA0", key=text) + send("0xB0", key="N'other'"))
    lab.advance(1)
    found = trace(lab, f"@key = {text}, @keySequence = 1")
    assert found.word == LANDED and [row["key"] for row in found.all("landed")] == [key]


# ---------------------------------------------------------------------- who asks, and how
def test_an_operator_may_ask_and_an_application_may_not(lab):
    lab.rows(
        "CREATE USER ops WITHOUT LOGIN; ALTER ROLE audit_operator ADD MEMBER ops; "
        "CREATE USER app WITHOUT LOGIN; ALTER ROLE audit_sender ADD MEMBER app;"
    )
    Client(lab).execute(send())
    lab.advance(1)
    asked = f"audit.usp_Trace @id = '{place(lab)}', @sequence = 0;"
    rows = lab.rows(f"EXECUTE AS USER = N'ops'; EXECUTE {asked} REVERT;")
    assert rows[-1][2] == LANDED
    assert Client(lab).fail(f"EXECUTE AS USER = N'app'; EXECUTE {asked}") == 229


def test_wrong_inputs_are_named_together_with_what_is_allowed(lab):
    assert (
        lab.sa.fail("EXECUTE audit.usp_Trace @sequence = -1, @keySequence = 0, @rows = 0;") == 50300
    )
    text = lab.sa.errors[0].text
    for word in (
        "Exactly one of @id",
        "@sequence goes with",
        "0 or more",
        "@keySequence",
        "@rows must be 1 to",
    ):
        assert word in text
    for wrong in (
        "@id = NULL",
        f"@id = '{NOBODY}', @key = N'k'",
        "@key = N''",
        f"@key = N'{'x' * 201}'",
    ):
        assert lab.sa.fail(f"EXECUTE audit.usp_Trace {wrong};") == 50300, wrong


def test_it_waits_for_nobody_and_leaves_a_caller_s_transaction_as_it_was(lab):
    Client(lab).execute(send())
    lab.advance(1)
    conversation = place(lab)
    holder = Client(lab)
    holder.execute(
        "BEGIN TRANSACTION; UPDATE audit.Landing WITH (TABLOCKX) SET MessageSequence = MessageSequence; "
        "UPDATE audit.ConversationLog SET Reason = N'x'; "
        "UPDATE audit.DeadLetter WITH (TABLOCKX) SET Reason = N'x';"
    )
    client = Client(lab)
    asked = batch(f"@id = '{conversation}', @sequence = 0")
    client.execute(f"BEGIN TRANSACTION; {asked}")
    assert answered(client.out.result_sets).word == LANDED
    assert client.value("@@TRANCOUNT") == 1


def test_it_reads_no_queue(lab):
    text = lab.sa.value("OBJECT_DEFINITION(OBJECT_ID(N'audit.usp_Trace'))")
    assert "[audit].[TargetQueue] AS" not in text and "sys.transmission_queue" not in text


# ---------------------------------------------------------------------- two databases
def at(two: Two, database: str, arguments: str) -> Trace:
    two.session.execute(f"USE {quote_name(database)};")
    answer = two.session.execute(batch(arguments))
    assert not answer.errors, answer.errors
    return answered(answer.result_sets)


def test_in_two_databases_each_side_tells_its_part_and_what_the_other_is_to_be_asked():
    two = Two()
    two.depot(READS.format("OFF"))
    two.send("0xA0")
    two.send("0xA1")
    two.instance.advance(1)
    ((conversation,),) = two.run("SELECT DISTINCT ConversationId FROM audit.SentMessage;")
    asked = f"@id = '{conversation}', @sequence = 1"
    here, there = at(two, SHOP, asked), at(two, DEPOT, asked)
    assert here.word == PENDING and "ask the target's side" in here.says
    assert there.word == QUEUED
    two.depot(READS.format("ON"))
    two.instance.advance(5)
    here, there = at(two, SHOP, asked), at(two, DEPOT, asked)
    assert (here.word, here.code) == ("at the target", 2) and "[de]]pot's]" in here.says
    assert there.word == LANDED and there.all("landed")[0]["sequence"] == 1


def test_in_two_databases_a_dead_letter_is_the_target_s_and_its_replay_lands_there():
    two = Two()
    two.depot(BAD)
    two.send("0xBAD0")
    two.instance.advance(5)
    ((conversation,),) = two.run("SELECT ConversationId FROM audit.ConversationLog;")
    asked = f"@id = '{conversation}', @sequence = 0"
    assert at(two, DEPOT, asked).word == DEAD
    two.depot(GOOD)
    two.depot(REPLAY.format(1))
    assert at(two, DEPOT, asked).word == LANDED
    assert at(two, SHOP, asked).word == "at the target"


# ---------------------------------------------------------------------- a day
DAYS: dict[str, Config] = {
    **{
        key: configured(
            conversation={"key": key, "recycle": usual_recycle(key)},
            timer={"after_seconds": 60, "spread_seconds": 20, "retry_seconds": 5},
        )
        for key in KEYS
    },
    "numbered": NUMBERED,
    "exactly once": ONCE,
    "with the index": configured(landing={"order_index": True}, envelope={"who": True}),
}


@pytest.mark.parametrize("kind", DAYS)
def test_after_a_day_with_troubles_of_every_message_the_verdict_is_what_the_tables_say(kind):
    """What landed where, what waits where, each copy and dead letter, and the word for it."""
    day = Day(DAYS[kind], seed=3)
    for _ in range(2):
        day.go_on(90)
        day.asked()
    day.quiet()
    day.asked()
    assert len(day.at) > 60 and day.words[LANDED] > 60
    assert len(day.words) >= 2, "troubles that leave something to tell"
