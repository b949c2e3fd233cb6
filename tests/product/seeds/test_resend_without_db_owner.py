"""Nobody has to be in db_owner for a message to be sent again: copies are in a table of ours."""

from __future__ import annotations

import pytest

from redial.config import Config
from redial_lab.proof.audit_setups import small_config

from .lab import BODIES, LIFETIME, Lab


def removed() -> Lab:
    """roles.module_is_db_owner = true, and the member was taken out after the deployment."""
    data = small_config().model_dump(by_alias=True, mode="json")
    data["roles"]["module_is_db_owner"] = True
    lab = Lab(Config.model_validate(data))
    lab.run("ALTER ROLE db_owner DROP MEMBER audit_module;")
    return lab


def never_added() -> Lab:
    """As shipped."""
    return Lab()


@pytest.fixture(params=[removed, never_added])
def failed(request) -> Lab:
    """Six messages were pending when their dialog's lifetime ended."""
    lab = request.param()
    lab.target_queue("OFF")
    for body in BODIES:
        lab.send(body)
    lab.advance(LIFETIME)
    return lab


def test_the_six_wait_on_a_dialog_of_their_own(failed):
    assert failed.endpoints() == [("initiator", "CONVERSING")]
    assert [body for _, body in failed.pending()] == list(BODIES)
    assert failed.unaccounted(BODIES) == {}
    assert failed.errors() == []
    failed.at_rest()


def test_they_land_when_the_queue_is_on_again(failed):
    failed.target_queue("ON")
    failed.advance(2)
    assert failed.landed() == list(BODIES)
    assert failed.endpoints() == [("target", "CLOSED")]


def test_called_by_hand_it_sends_them_again_as_well(failed):
    failed.run(f"EXECUTE audit.usp_ResendPending '{failed.handles(1)[0]}', -8489;")
    failed.target_queue("ON")
    failed.advance(2)
    assert failed.landed() == list(BODIES)


def test_end_leaked_works_too(failed):
    assert (
        failed.session.execute("EXECUTE audit.usp_EndLeaked @reason = N'test', @WhatIf = 0;")
        .ok()
        .rows()
        == []
    )
    assert failed.unaccounted(BODIES) == {}


def test_an_end_dialog_is_accounted_for_as_an_error_is():
    lab = removed()
    lab.target_activation("OFF")
    lab.send(b"delivered")
    lab.target_queue("OFF")
    lab.send(b"pending")
    lab.end_target()
    lab.instance.run()
    assert [body for _, body in lab.pending()] == [b"delivered", b"pending"]


def test_senders_go_on_on_a_new_dialog(failed):
    failed.send(b"later")
    assert failed.unaccounted([*BODIES, b"later"]) == {}
    failed.target_queue("ON")
    failed.advance(2)
    assert sorted(failed.landed(), key=str) == sorted([*BODIES, b"later"], key=str)
