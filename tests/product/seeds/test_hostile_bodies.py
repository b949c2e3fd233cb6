"""One message's body is one message's error: its neighbours land, in order, whatever it holds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from redial.config.choices import Processing
from redial.config.variants import EVENT
from redial.render.quoting import literal
from tests.choices import KEYS, TRAITS
from tests.product.combos.lab import Lab

from .hostile_bodies import BODIES, TEXTS, UNKNOWN_ENCODING, ask_for, config_of, good, installed

SHARED = tuple(key for key in KEYS if not TRAITS[key].per_message)
"""Keys by which one caller's messages go out on one dialog, in their order."""
XML = [{"name": EVENT, "validation": "well_formed_xml"}]


def bodies(lab: Lab) -> list[bytes | None]:
    return [row["Body"] for row in lab.landed()]


def dead(lab: Lab) -> list[tuple[bytes | None, int | None]]:
    """Body, as it was sent, and code of each dead letter."""
    return lab.rows(f"SELECT Body, Code FROM {lab.own('DeadLetter')} ORDER BY DeadLetterId;")


def in_order(lab: Lab) -> bool:
    """Whether the good ones stand in Landing as they were sent, dialog by dialog."""
    landed = [body for body in bodies(lab) if body is not None and body.startswith(b"<\0g")]
    return all(int(a[6:-8:2]) < int(b[6:-8:2]) for a, b in pairwise(landed))


def mixed(*more: bytes) -> list[bytes]:
    """A good body, then each bad one, and these, with a good one behind it."""
    found = [good(0)]
    for number, body in enumerate([*BODIES.values(), *more], 1):
        found += [body, good(number)]
    return found


@pytest.mark.parametrize("key", KEYS)
def test_a_body_of_any_bytes_lands_as_it_was_sent(key):
    with installed(config_of(key)) as lab:
        sent = mixed(*TEXTS.values(), UNKNOWN_ENCODING)
        caller = lab.caller()
        caller.send(*sent)
        caller.begin()
        caller.send(*sent)
        caller.commit()
        lab.advance(300)
        assert sorted(bodies(lab)) == sorted(sent * 2)
        assert key not in SHARED or bodies(lab) == sent * 2
        assert (dead(lab), lab.errors()) == ([], [])


# ---------------------------------------------------------------------- the type has a rule
@pytest.mark.parametrize("key", KEYS)
def test_a_body_that_breaks_the_rule_of_its_type_is_refused_before_anything_is_sent(key):
    with installed(config_of(key, message_types=XML)) as lab:
        caller = lab.caller()
        caller.begin()
        caller.send(good(1))
        for body in BODIES.values():
            out = caller.session.execute(
                f"BEGIN TRY {caller.call(body)} END TRY "
                "BEGIN CATCH SELECT ERROR_NUMBER(), ERROR_MESSAGE(), XACT_STATE(); END CATCH;"
            ).ok()
            assert out.rows() == [
                (50100, "@messageBody must be well-formed XML: its message type asks for it.", 1)
            ]
        caller.send(good(2))
        caller.commit()
        lab.rest(300)
        assert bodies(lab) == [good(1), good(2)]


@pytest.mark.parametrize("key", KEYS)
def test_a_batch_names_the_message_that_breaks_the_rule_of_its_type(key):
    with installed(config_of(key, message_types=XML)) as lab:
        config = lab.config
        named = literal("A") if TRAITS[key].named else "NULL"
        values = ", ".join(
            f"({number}, {literal(EVENT)}, 0x{body.hex()}, {named})"
            for number, body in enumerate([good(1), BODIES["not closed"], good(2)], 1)
        )
        out = lab.caller().session.execute(
            f"DECLARE @m {lab.own('MessageBatch')}; INSERT @m (Ordinal, MessageType, MessageBody, "
            f"MessageKey) VALUES {values}; EXECUTE {lab.own('usp_SendBatch')} "
            f"{literal(config.services.initiator)}, {literal(config.services.target)}, "
            f"{literal(config.contract.name)}, @m;"
        )
        assert out.error().number == 50150
        assert "Ordinal 2: MessageBody must be well-formed XML" in out.error().text
        assert "Ordinal 1" not in out.error().text
        lab.rest()
        assert bodies(lab) == []


def test_a_type_without_a_body_refuses_one_and_takes_none():
    types = [{"name": EVENT, "validation": "empty"}]
    with installed(config_of("spid", message_types=types)) as lab:
        caller = lab.caller()
        error = caller.session.execute(caller.call(b"x")).error()
        assert (error.number, error.text) == (
            50100,
            "@messageBody must be NULL: its message type asks for it.",
        )
        caller.session.execute(caller.call(None)).ok()
        caller.session.execute(caller.call(b"")).ok()
        lab.advance(300)
        assert bodies(lab) == [None, None]


# ---------------------------------------------------------------------- the target has another
def refused(lab: Lab, sent: list[bytes], bad: list[bytes], code: int) -> None:
    """The bad ones are dead letters with code and reason, each once; the rest has landed."""
    lab.advance(600)
    assert sorted(dead(lab)) == sorted((body, code) for body in bad)
    assert sorted(bodies(lab)) == sorted(body for body in sent if body not in bad)
    assert lab.pending() == [] and lab.queues_off() == 0
    reasons = lab.rows(f"SELECT DISTINCT LEFT(Reason, 33) FROM {lab.own('DeadLetter')};")
    known = {-9615: "A message of type '//combo/event'", -8430: "The message body failed the confi"}
    assert reasons == [(known[code],)]
    lab.idle()


@pytest.mark.parametrize("open_transaction", [False, True])
@pytest.mark.parametrize("waiting", [False, True])
@pytest.mark.parametrize("key", SHARED)
def test_of_messages_on_one_dialog_only_the_refused_ones_are_dead_letters(
    key, waiting, open_transaction
):
    with installed(config_of(key)) as lab:
        caller = lab.caller()
        caller.send(good(0))
        ask_for(lab, "WELL_FORMED_XML")
        if waiting:
            lab.queue("target", "STATUS = OFF")
        if open_transaction:
            caller.begin()
        caller.send(*mixed()[1:])
        if open_transaction:
            caller.commit()
        if waiting:
            lab.queue("target", "STATUS = ON")
        refused(lab, mixed(), list(BODIES.values()), -9615)
        # Seen at SEND, each refusal ends a dialog: nothing orders those of one transaction.
        assert in_order(lab) or (open_transaction and not waiting)


@pytest.mark.parametrize("name", BODIES)
def test_of_messages_of_a_dialog_each_only_the_refused_one_is_a_dead_letter(name):
    (key,) = set(KEYS) - set(SHARED)
    with installed(config_of(key)) as lab:
        ask_for(lab, "WELL_FORMED_XML")
        lab.queue("target", "STATUS = OFF")
        caller = lab.caller()
        caller.send(good(0), BODIES[name], good(1))
        lab.queue("target", "STATUS = ON")
        refused(lab, [good(0), BODIES[name], good(1)], [BODIES[name]], -9615)


@pytest.mark.parametrize("key", SHARED)
def test_a_target_that_looks_at_bodies_when_the_sender_commits_costs_no_neighbour_either(key):
    with installed(config_of(key), enqueue_at="commit") as lab:
        ask_for(lab, "WELL_FORMED_XML")
        caller = lab.caller()
        caller.begin()
        caller.send(*mixed())
        caller.commit()
        refused(lab, mixed(), list(BODIES.values()), -9615)
        assert in_order(lab)


def test_more_refused_bodies_than_anybody_wants_dialogs_of_are_dead_letters_at_once():
    with installed(config_of("spid")) as lab:
        lab.queue("target", "STATUS = OFF")
        caller = lab.caller()
        caller.send(good(0))
        (handle,) = lab.handles(1)
        ask_for(lab, "WELL_FORMED_XML")
        lab.run(
            f"INSERT {lab.own('SentMessage')} (ConversationId, MessageSequence, MessageType, Body) "
            f"SELECT TOP (1001) sm.ConversationId, n.n, sm.MessageType, 0x00 FROM "
            f"{lab.own('SentMessage')} AS sm CROSS APPLY (SELECT ROW_NUMBER() OVER (ORDER BY "
            "a.object_id) AS n FROM sys.all_columns AS a) AS n;"
            f"EXECUTE {lab.own('usp_ResendPending')} '{handle}', -9615, N'no number';"
        )
        assert dead(lab) == [(b"\0", -9615)] * 1001
        lab.queue("target", "STATUS = ON")
        lab.advance(60)
        assert bodies(lab) == [good(0)]


# ---------------------------------------------------------------------- the hook reads it
HOOKS = {
    "as XML": "DECLARE @x xml = CAST(@body AS xml);",
    "as JSON": "DECLARE @x nvarchar(max) = JSON_VALUE(CONVERT(nvarchar(max), @body), 'strict $.g');",
    "as a number": "DECLARE @x int = CONVERT(int, CONVERT(varchar(20), @body));",
}
TAKEN = {
    "as XML": good,
    "as JSON": lambda n: f'{{"g":"{n}"}}'.encode("utf-16-le"),
    "as a number": lambda n: b"%d" % n,
}


@pytest.mark.parametrize("reads", HOOKS)
@pytest.mark.parametrize("key", KEYS)
def test_a_body_the_hook_cannot_read_is_one_dead_letter(key, reads):
    processing = {"processing": Processing.HOOK.value, "receive_batch": 100}
    with installed(config_of(key, target=processing)) as lab:
        text = lab.rows(
            f"SELECT OBJECT_DEFINITION(OBJECT_ID({literal(lab.own('usp_ProcessMessage'))}));"
        )[0][0]
        lab.run(
            text.replace("CREATE PROCEDURE", "ALTER PROCEDURE").replace(
                "SET NOCOUNT ON;", "SET NOCOUNT ON; " + HOOKS[reads]
            )
        )
        sent = [TAKEN[reads](0)]
        for number, body in enumerate(BODIES.values(), 1):
            sent += [body, TAKEN[reads](number)]
        lab.queue("target", "ACTIVATION (STATUS = OFF)")
        lab.caller().send(*sent)
        lab.queue("target", "ACTIVATION (STATUS = ON)")
        lab.advance(900)
        assert sorted(body for body, _ in dead(lab)) == sorted(BODIES.values())
        assert bodies(lab) == sent[::2]
        assert lab.queues_off() == 0
        lab.idle()


def test_a_body_under_a_type_that_must_have_none_is_one_dead_letter():
    with installed(config_of("spid")) as lab:
        lab.queue("target", "STATUS = OFF")
        caller = lab.caller()
        caller.send(None, b"body", None)
        ask_for(lab, "EMPTY")
        lab.queue("target", "STATUS = ON")
        lab.advance(600)
        assert dead(lab) == [(b"body", -8430)]
        assert bodies(lab) == [None, None]


@pytest.mark.parametrize("outside", ["refused", "accepted"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_body_that_only_the_target_finds_wrong_is_told_by_its_number(name, outside):
    bad = TEXTS[name]
    with installed(config_of("spid"), text_outside_of_elements=outside) as lab:
        caller = lab.caller()
        caller.send(good(0))
        ask_for(lab, "WELL_FORMED_XML")
        lab.queue("target", "STATUS = OFF")
        sent = [good(1), bad, good(2), bad, good(3)]
        caller.send(*sent)
        lab.queue("target", "STATUS = ON")
        lab.advance(600)
        assert [body for body, _ in dead(lab)] == [bad] * (2 if outside == "refused" else 0)
        # Seen at SEND, the second refusal ends a dialog too: nothing orders those of one transaction.
        assert in_order(lab) or outside == "refused"
        assert sorted(bodies(lab) + [body for body, _ in dead(lab)]) == sorted([good(0), *sent])


def test_a_body_that_only_the_target_finds_right_is_not_taken_for_the_refused_one():
    with installed(config_of("spid")) as lab:
        lab.queue("target", "STATUS = OFF")
        caller = lab.caller()
        sent = [good(0), UNKNOWN_ENCODING, BODIES["not closed"], good(1)]
        caller.send(*sent)
        ask_for(lab, "WELL_FORMED_XML")
        lab.queue("target", "STATUS = ON")
        refused(lab, sent, [BODIES["not closed"]], -9615)


@pytest.mark.parametrize("validated_at", ["send", "commit"])
def test_a_refusal_that_names_no_message_is_searched_in_halves(validated_at):
    """A text in another language, say, of a target whose rule we do not know."""
    with installed(config_of("spid"), enqueue_at=validated_at) as lab:
        lab.queue("target", "STATUS = OFF")
        caller = lab.caller()
        caller.send(*(good(number) for number in range(9)))
        (handle,) = lab.handles(1)
        lab.run(f"EXECUTE {lab.own('usp_ResendPending')} '{handle}', -9615, N'no number';")
        assert dead(lab) == []
        lab.queue("target", "STATUS = ON")
        lab.advance(60)
        assert bodies(lab) == [good(number) for number in range(9)]
        resent = f"SELECT Messages FROM {lab.own('ConversationLog')} WHERE ResendOf IS NOT NULL;"
        assert sorted(lab.rows(resent)) == [(4,), (5,)]


def test_the_last_of_a_refused_dialog_is_a_dead_letter_whatever_the_error_says():
    with installed(config_of("spid")) as lab:
        lab.queue("target", "STATUS = OFF")
        lab.caller().send(good(1))
        (handle,) = lab.handles(1)
        lab.run(f"EXECUTE {lab.own('usp_ResendPending')} '{handle}', -9615, N'no number';")
        assert dead(lab) == [(good(1), -9615)]
