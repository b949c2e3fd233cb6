"""What a pool asks for before it hands a connection on."""

import pytest

from redial_broker.instance.instance import PASSWORD, Instance
from redial_broker.instance.results import Collector


@pytest.mark.parametrize(("asked", "expected"), [("db", "db"), ("", "master")])
def test_a_reset_session_returns_to_the_database_it_logged_in_to(instance, asked, expected):
    session = instance.login("sa", PASSWORD, asked)
    session.sink = Collector()
    session.execute("USE tempdb")
    session.reset()
    assert session.execute("SELECT DB_NAME()").one() == expected


@pytest.mark.parametrize(("choice", "left"), [("cleared", None), ("kept", 1)])
def test_context_info_after_a_reset_is_what_the_switch_says(choice, left):
    session = Instance(switches={"reset_context_info": choice}).connect()
    session.login, session.initial_database = session.instance.server.logins["sa"], "master"
    session.execute("SET CONTEXT_INFO 0x01")
    session.reset()
    first = session.execute("SELECT CONVERT(int, SUBSTRING(CONTEXT_INFO(), 1, 1))").one()
    assert first == left
