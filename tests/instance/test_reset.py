"""What a pool asks for before it hands a connection on."""

import pytest

from harness.broker.instance.instance import PASSWORD
from harness.broker.instance.results import Collector


@pytest.mark.parametrize(("asked", "expected"), [("db", "db"), ("", "master")])
def test_a_reset_session_returns_to_the_database_it_logged_in_to(instance, asked, expected):
    session = instance.login("sa", PASSWORD, asked)
    session.sink = Collector()
    session.execute("USE tempdb")
    session.reset()
    assert session.execute("SELECT DB_NAME()").one() == expected
