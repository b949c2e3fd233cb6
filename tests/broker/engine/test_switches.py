"""The registry of switches: declared per room, checked by name and value, written as text."""

from __future__ import annotations

import re

import pytest

from redial.paths import DOCS
from redial_broker.engine import switches
from redial_broker.engine.kernel import Engine
from redial_broker.engine.switches import SWITCHES, SwitchError, declare, parse, shown, value
from redial_broker.instance.instance import Instance

FACTS = set(re.findall(r"^\*\*(F-\d{3})\*\*", (DOCS / "facts.md").read_text("utf-8"), re.M))


@pytest.mark.parametrize("switch", SWITCHES.values(), ids=lambda switch: switch.name)
def test_every_switch_has_a_default_a_meaning_and_a_fact_of_the_sheet(switch):
    assert value(Engine(), switch.name) == switch.default == switch.values[0]
    assert len(switch.values) == len({shown(v) for v in switch.values}) > 1
    assert switch.meaning.endswith(".") and switch.fact in FACTS


def test_an_instance_is_given_other_values():
    engine = Instance(switches={"receive_status": 0, "relaunch": "while messages"}).engine
    assert value(engine, "receive_status") == 0
    assert value(engine, "relaunch") == "while messages"
    assert value(engine, "state_text") == "code"


def test_an_unknown_name_is_answered_with_all_names():
    with pytest.raises(SwitchError, match=r"recieve_status.*enqueue_at.*receive_status"):
        Instance(switches={"recieve_status": 0})


@pytest.mark.parametrize("given", [2, "0", True, None])
def test_an_unknown_value_is_answered_with_the_values(given):
    with pytest.raises(SwitchError, match=f"receive_status: {given!r} is none of its values: 1, 0"):
        Instance(switches={"receive_status": given})


def test_a_command_line_writes_values_as_text():
    assert parse(["receive_status=0", "own_message_visible = FALSE", "relaunch=until empty"]) == {
        "receive_status": 0,
        "own_message_visible": False,
        "relaunch": "until empty",
    }


@pytest.mark.parametrize("text", ["receive_status", "receive_status=7", "nobody=1", "=1"])
def test_a_command_line_that_is_wrong_says_what_is_right(text):
    with pytest.raises(SwitchError, match=r"name=value|is none of its values|the switches are"):
        parse([text])


def test_a_switch_is_declared_once(monkeypatch):
    monkeypatch.setattr(switches, "SWITCHES", {})
    declare("once", (1, 2), "F-101", "Something.")
    with pytest.raises(ValueError, match="twice"):
        declare("once", (1, 2), "F-101", "Something.")
