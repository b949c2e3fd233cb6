"""Each known-bad variant of the resend breaks what the tests of the shipped scripts assert."""

from __future__ import annotations

from .lab import BODIES, LIFETIME, Lab

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
    lab = after_the_lifetime("resend_one_byte", BODIES)
    assert lab.landed() == [body and body[:1] for body in BODIES]


def test_another_order_is_seen():
    assert after_the_lifetime("resend_out_of_order").landed() == THREE[::-1]


def test_end_before_the_resend_is_seen():
    lab = after_the_lifetime("end_before_resend")
    assert lab.unaccounted(THREE) == dict.fromkeys(THREE, 1)


def test_ending_without_seeing_the_transmission_queue_is_seen():
    lab = after_the_lifetime("end_blindly")
    assert lab.unaccounted(THREE) == dict.fromkeys(THREE, 1)


def test_an_error_message_that_ends_nothing_is_seen():
    assert ("initiator", "ERROR") in after_the_lifetime("error_not_ended").endpoints()


def test_a_row_that_leads_to_a_dead_dialog_is_seen():
    lab = Lab(mutant="row_kept")
    lab.target_activation("OFF")
    lab.send(b"x")
    lab.end_target()
    lab.instance.run()
    assert (lab.endpoints(), len(lab.table("SessionConversations"))) == ([("target", "CLOSED")], 1)
