"""Which switches of the engine a search asks for."""

from __future__ import annotations

import pytest

from redial_broker.engine.switches import SwitchError, given
from redial_broker.instance.instance import Instance


def test_an_instance_takes_the_values_given_around_it_unless_told_otherwise():
    with given({"relaunch": "while messages", "poison_counts": "message"}):
        instance = Instance(switches={"relaunch": "until empty"})
    assert instance.engine.switches == {"relaunch": "until empty", "poison_counts": "message"}
    assert Instance().engine.switches == {}


def test_what_is_asked_for_is_noted_also_later_and_also_when_a_text_is_compiled():
    read: set[str] = set()
    with given({}, read):
        session = Instance().connect()
    assert "bad_optimizer" not in read
    session.execute("SELECT 1 FROM sys.objects;").ok()
    assert {"send_wait_log", "bad_optimizer"} <= read


def test_a_value_there_is_none_of_is_refused():
    with pytest.raises(SwitchError, match="its values"), given({"relaunch": "never"}):
        pass
