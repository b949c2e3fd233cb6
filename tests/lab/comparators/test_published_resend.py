"""Seed 004's resend as published, called from seed 000's activated procedure."""

from __future__ import annotations

from tests.product.seeds.lab import RECYCLE_AFTER, Lab

SENT = [b"one", b"\x00\x01\x02", b"x"]
RESTORED = "ALTER DATABASE Redial SET ERROR_BROKER_CONVERSATIONS WITH ROLLBACK IMMEDIATE;"
"""Gives every conversation an Error -9719, one of the four codes the article resends after."""


def after_a_restore() -> Lab:
    """Three messages pend, every conversation fails with -9719, activation has seen it."""
    lab = Lab(mutant="published_resend")
    lab.target_queue("OFF")
    for body in SENT:
        lab.send(body)
    lab.run(RESTORED)
    lab.advance(20)
    return lab


def test_every_resent_body_is_cut_to_its_first_byte():
    """Feature resend of pending on error: RR "Y (buggy)", seed 004's DECLARE @body VARBINARY."""
    lab = after_a_restore()
    assert [body for _, body in lab.pending()] == [body[:1] for body in SENT]
    lab.target_queue("ON")
    assert lab.landed() == [body[:1] for body in SENT]
    assert lab.unaccounted(SENT) != {}


def test_the_dialog_it_resends_on_is_recycled_by_its_timer():
    """Ours, restored: the comment under the article asks where the new conversation comes from."""
    lab = after_a_restore()
    lab.target_queue("ON")
    lab.advance(RECYCLE_AFTER + 10)
    assert lab.endpoints() == [("target", "CLOSED")]


def test_the_shipped_resend_keeps_every_byte_in_the_same_story():
    lab = Lab()
    lab.target_queue("OFF")
    for body in SENT:
        lab.send(body)
    lab.run(RESTORED)
    lab.advance(20)
    lab.target_queue("ON")
    lab.advance(20)
    assert lab.landed() == SENT
    assert lab.unaccounted(SENT) == {}
