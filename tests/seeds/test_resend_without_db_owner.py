"""Whoever is outside db_owner sees no pending row, so nothing is ended and nothing is lost."""

from __future__ import annotations

import re

import pytest

from harness.config import Config
from harness.proof.audit import small_config

from .lab import BODIES, LIFETIME, Lab


def removed() -> Lab:
    """The member was taken out after the deployment."""
    lab = Lab()
    lab.run("ALTER ROLE db_owner DROP MEMBER audit_module;")
    return lab


def never_added() -> Lab:
    """roles.module_is_db_owner = false."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["roles"]["module_is_db_owner"] = False
    return Lab(Config.model_validate(data))


@pytest.fixture(params=[removed, never_added])
def failed(request) -> Lab:
    """Six messages pend on a dialog whose Error message the activation has taken."""
    lab = request.param()
    lab.target_queue("OFF")
    for body in BODIES:
        lab.send(body)
    lab.advance(LIFETIME)
    return lab


def test_the_dialog_stays_with_all_that_is_pending(failed):
    assert failed.endpoints() == [("initiator", "ERROR")]
    assert failed.pending() == list(enumerate(BODIES))
    assert failed.unaccounted(BODIES) == {}
    failed.at_rest()


def test_the_error_log_says_who_must_become_what_and_what_to_call_then(failed):
    [(number, text)] = failed.errors()
    assert number is None
    assert "user 'audit_module' must be a member of db_owner" in text
    assert f"@handle = '{failed.handles(1)[0]}', @code = -8489" in text


def test_following_the_error_log_to_the_letter_resends_everything(failed):
    [(_, text)] = failed.errors()
    failed.run("ALTER ROLE db_owner ADD MEMBER audit_module;")
    failed.run(re.search(r"then (EXECUTE .*?);", text)[1])
    failed.target_queue("ON")
    failed.advance(2)
    assert failed.landed() == list(BODIES)
    assert failed.endpoints() == [("target", "CLOSED")]


def test_called_by_hand_it_refuses_with_one_error_and_changes_nothing(failed):
    before = failed.pending()
    answer = failed.session.execute(
        f"EXECUTE audit.usp_ResendPending '{failed.handles(1)[0]}', -8489;")
    assert [e.number for e in answer.errors] == [50110]
    assert "Next: ALTER ROLE db_owner ADD MEMBER [audit_module]" in answer.errors[0].text
    assert (failed.pending(), failed.endpoints()) == (before, [("initiator", "ERROR")])


def test_end_leaked_refuses_too(failed):
    answer = failed.session.execute("EXECUTE audit.usp_EndLeaked @WhatIf = 0;")
    assert [e.number for e in answer.errors] == [50131]
    assert failed.endpoints() == [("initiator", "ERROR")]


def test_an_end_dialog_is_refused_as_an_error_is():
    lab = removed()
    lab.target_activation("OFF")
    lab.send(b"delivered")
    lab.target_queue("OFF")
    lab.send(b"pending")
    lab.end_target()
    lab.instance.run()
    assert ("initiator", "DISCONNECTED_INBOUND") in lab.endpoints()
    assert lab.pending() == [(1, b"pending")]


def test_senders_go_on_on_a_new_dialog(failed):
    failed.send(b"later")
    assert failed.unaccounted([*BODIES, b"later"]) == {}
    failed.target_queue("ON")
    assert failed.landed() == [b"later"]
