"""Each known-bad variant of the resend breaks what the tests of the shipped scripts assert."""

from __future__ import annotations

from collections import Counter

from redial_lab.proof.audit_setups import send

from .lab import BODIES, LIFETIME, RECYCLE_AFTER, Lab

THREE = [b"one", b"two", b"three"]


def after_the_lifetime(mutant: str | None, bodies=THREE) -> Lab:
    """Messages pend, the lifetime ends, the queue comes back, time passes."""
    lab = Lab(mutant=mutant)
    lab.target_queue("OFF")
    for body in bodies:
        lab.send(body)
    if mutant == "end_blindly":
        lab.run("ALTER ROLE db_owner DROP MEMBER audit_module;")
    lab.advance(LIFETIME)
    lab.target_queue("ON")
    lab.advance(2)
    return lab


def test_the_shipped_scripts_lose_nothing_in_this_scenario():
    lab = after_the_lifetime(None)
    assert (lab.landed(), lab.endpoints()) == (THREE, [("target", "CLOSED")])
    lab.at_rest()


def test_a_body_variable_without_length_is_seen():
    """What lands is not what was sent, so the copies stay, and all of it is sent again."""
    lab = after_the_lifetime("resend_one_byte", BODIES)
    assert set(lab.landed()) == {body and body[:1] for body in BODIES}


def test_another_order_is_seen():
    assert after_the_lifetime("resend_out_of_order").landed() == THREE[::-1]


def test_end_before_the_resend_is_seen():
    lab = after_the_lifetime("end_before_resend")
    assert lab.unaccounted(THREE) == dict.fromkeys(THREE, 1)


def test_ending_without_seeing_the_transmission_queue_is_seen():
    lab = after_the_lifetime("end_blindly")
    assert lab.unaccounted(THREE) == dict.fromkeys(THREE, 1)


def test_an_error_message_that_is_not_heeded_is_seen():
    """usp_ResendStranded finds the dialog all the same, and does not know why it ended."""
    for mutant, code in ((None, -8489), ("error_not_ended", 0)):
        lab = after_the_lifetime(mutant)
        assert lab.table("ConversationLog", "Code", "BegunUtc")[0] == (code,)
        assert len(lab.dead()) == (mutant is not None), "the Error message itself"


def test_a_row_that_leads_to_a_dead_dialog_is_seen():
    for mutant, rows in ((None, 0), ("row_kept", 1)):
        lab = Lab(mutant=mutant)
        lab.target_activation("OFF")
        lab.send(b"x")
        lab.end_target()
        lab.instance.run()
        assert len(lab.table("SessionConversations")) == rows


# ---------------------------------------------------------------------- of the copies
def test_copies_that_stay_when_their_messages_have_landed_are_seen():
    """The recycled dialog ends, and all of it is sent again; and again when that dialog ends."""
    for mutant, times in ((None, 1), ("copies_left", 2)):
        lab = Lab(mutant=mutant)
        lab.send(b"x")
        lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
        [handle] = lab.handles(1)
        lab.run(f"EXECUTE audit.usp_ResendPending '{handle}', -8489;")
        lab.instance.run()
        assert lab.landed() == [b"x"] * times


def test_a_target_that_is_not_ended_before_its_messages_are_sent_again_is_seen():
    """1. A message lies unread at the target. 2. The sender's side fails. 3. It is sent again."""
    for mutant, times in ((None, 1), ("target_not_ended", 2)):
        lab = Lab(mutant=mutant)
        lab.target_activation("OFF")
        lab.send(b"x")
        lab.run(f"EXECUTE audit.usp_ResendPending '{lab.handles(1)[0]}', -8489;")
        lab.target_activation("ON")
        lab.advance(2)
        assert lab.landed() == [b"x"] * times


def test_copies_of_a_dialog_that_was_removed_by_hand_are_found_by_the_next_timer():
    for mutant, left in ((None, {}), ("stranded_not_looked_for", {b"x": 1})):
        lab = Lab(mutant=mutant)
        lab.target_activation("OFF")
        lab.send(b"x")
        for handle in [*lab.handles(0), *lab.handles(1)]:
            lab.run(f"END CONVERSATION '{handle}' WITH CLEANUP;")
        lab.target_activation("ON")
        lab.send(b"y")
        lab.advance(2 * RECYCLE_AFTER)
        wanted = {body: 1 for body in (b"x", b"y") if body not in left}
        assert Counter(lab.landed()) == wanted
        assert lab.unaccounted([b"x", b"y"]) == {}, "it is kept, but nobody sends it"


def let_end(lab: Lab, handle: str) -> None:
    """The LIFETIME of one side is over now."""
    timers = lab.instance.engine.timers
    [entry] = [key for key in timers.entries if key[0] == "ssb.lifetime" and key[1][1] == handle]
    timers.entries[entry] = lab.instance.clock.seconds
    timers.forget_order()
    lab.advance(1)


def test_a_target_that_ends_a_failed_dialog_at_once_waits_for_its_senders():
    """Where END waits for what an open transaction has sent (F-462), so does the reader, group and
    all, and any other reader that would land what lies behind.

    1. A sender sends and does not commit. 2. The target's side fails. 3. Its reader is started.
    """
    for mutant, waits in ((None, False), ("target_ends_at_once", True)):
        lab = Lab(mutant=mutant)
        lab.instance.engine.switches["end_over_open_send"] = "waits"
        sender = lab.connect()
        lab.send(b"x", sender)
        sender.execute(f"BEGIN TRANSACTION; {send('02')}").ok()
        lab.run("ALTER QUEUE audit.InitiatorQueue WITH ACTIVATION (STATUS = OFF);")
        let_end(lab, lab.handles(0)[0])
        assert (
            any(
                session.background and session.wait is not None and session.wait.kind == "lock"
                for session in lab.instance.sessions.values()
            )
            is waits
        )
