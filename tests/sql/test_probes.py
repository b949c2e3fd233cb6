"""The probes: one question to a real server each. On the embedded broker the answer must follow the
switch: only a probe that can tell the values apart can settle anything."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.broker.engine.switches import SWITCHES, shown
from harness.broker.instance.instance import Instance
from harness.probe import leftover, probes, run
from harness.probe.model import FOLDER
from harness.probe.ports import EmbeddedPort, embedded
from harness.tsql import parse_script

FACTS = (FOLDER.parents[1] / "docs" / "facts.md").read_text(encoding="utf-8")
ORACLE = FOLDER.parents[1] / "tools" / "tsql_oracle.py"
ANSWERS_NOTHING_HERE = {"state_lookup_cost": "reads are not counted here"}
FOLLOWS = [(switch.probe, switch.name, value)
           for switch in SWITCHES.values() if switch.probe for value in switch.values]


@pytest.mark.parametrize(("probe", "switch", "value"), FOLLOWS,
                         ids=lambda part: shown(part).replace(" ", "_"))
def test_the_answer_follows_the_switch(probe, switch, value):
    finding = run(probes(probe)[0], embedded({switch: value}))
    assert (finding.error, finding.left_behind) == ("", False)
    assert finding.settles.get(switch) == shown(value), finding
    assert finding.status == ("as expected" if value == SWITCHES[switch].default else "differs")


@pytest.mark.parametrize("probe", probes(), ids=lambda probe: probe.name)
def test_a_probe_expects_what_the_embedded_broker_does_by_default(probe):
    instance = Instance(seed=1)
    finding = run(probe, lambda: EmbeddedPort(instance))
    assert finding.observed == ANSWERS_NOTHING_HERE.get(probe.name, finding.expected), finding
    assert not leftover(probe, EmbeddedPort(instance)) and not finding.left_behind


@pytest.mark.parametrize("probe", probes(), ids=lambda probe: probe.name)
def test_a_probe_names_its_fact_and_its_switches(probe):
    parse_script(probe.text)
    assert {probe.fact} == set(re.findall(r"F-\d+", probe.text)) and f"**{probe.fact}**" in FACTS
    head = " ".join(probe.text.split("*/", 1)[0].split())
    for switch in probe.switches:
        values = " | ".join(map(shown, switch.values))
        assert f"{switch.name} = {values}".lower() in head.lower()
    named = set(re.findall(r"([a-z_]\w+)\s+=\s", head.partition("Settles")[2]))
    assert named <= SWITCHES.keys() and (named or "Settles no switch" in head)


def test_every_switch_has_a_probe_or_says_what_to_do_by_hand():
    names = {probe.name for probe in probes()}
    assert {s.name for s in SWITCHES.values() if not s.by_hand and s.probe not in names} == set()


def test_a_database_of_that_name_is_left_alone():
    """By the runner; a script run by hand closes its connection."""
    instance = Instance(seed=1)
    probe = probes("timer_zero")[0]
    port = EmbeddedPort(instance)
    port.execute(f"CREATE DATABASE {probe.database};")
    finding = run(probe, lambda: EmbeddedPort(instance))
    assert finding.status == "failed" and "nothing was done" in finding.error
    by_hand = EmbeddedPort(instance)
    by_hand.session.sink.clear()
    with pytest.raises(Exception, match="the connection is closed"):
        for batch in probe.batches():
            by_hand.execute(batch)
    assert by_hand.session.id not in instance.sessions and leftover(probe, port)


@pytest.mark.oracle
@pytest.mark.parametrize("grammar", ["130", "150"])
def test_microsofts_parser_takes_every_probe(grammar):
    ready = subprocess.run([sys.executable, str(ORACLE), "--bootstrap-only"],
                           capture_output=True, text=True, timeout=240, check=False)
    if ready.returncode:
        pytest.skip(f"the oracle's wheels cannot be had: {ready.stderr.strip()[-300:]}")
    scripts = [str(Path(probe.path)) for probe in probes()]
    judged = subprocess.run([sys.executable, str(ORACLE), "--version", grammar, *scripts],
                            capture_output=True, text=True, timeout=240, check=False)
    assert judged.returncode == 0, judged.stdout
