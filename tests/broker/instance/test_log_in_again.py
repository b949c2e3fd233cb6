"""A connection that broke and is made again: a session with the same id that knows nothing of before."""

from __future__ import annotations

import pytest

from redial_broker.engine.state import SAVED, fields_of
from redial_broker.instance.instance import Instance
from redial_broker.instance.session import OF_THE_CONNECTION, Session

CHANGES = sorted(name for name, field in fields_of(Session).items() if field.how == SAVED)


def test_what_a_connection_keeps_are_fields_that_can_change():
    assert set(CHANGES) >= OF_THE_CONNECTION


@pytest.mark.parametrize("name", sorted({*CHANGES} - OF_THE_CONNECTION))
def test_a_session_made_again_is_as_a_new_one(name):
    instance = Instance(seed=3)
    session, new = instance.connect(), instance.connect()
    if name == "transaction":
        session.execute("BEGIN TRANSACTION;").ok()
    else:
        setattr(session, name, object())
    session.log_in_again()
    assert getattr(session, name) == getattr(new, name)
