"""The probes: one question to a real server each. On the embedded broker the answer must follow the
switch: only a probe that can tell the values apart can settle anything."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from redial.tsql import parse_script, split_batches
from redial_broker.engine.switches import SWITCHES, shown
from redial_broker.instance.instance import Instance
from redial_broker.instance.requests import Batch
from redial_broker.instance.results import Collector
from redial_lab.explore.play import sections
from redial_lab.probe import leftover, probes, run
from redial_lab.probe.model import FOLDER
from redial_lab.probe.ports import EmbeddedPort, embedded
from tests import oracle

FACTS = (FOLDER.parents[1] / "docs" / "facts.md").read_text(encoding="utf-8")
ANSWERS_NOTHING_HERE = {"state_lookup_cost": "reads are not counted here"}
FOLLOWS = [
    (switch.probe, switch.name, value)
    for switch in SWITCHES.values()
    if switch.probe
    for value in switch.values
]


@pytest.mark.parametrize(
    ("probe", "switch", "value"), FOLLOWS, ids=lambda part: shown(part).replace(" ", "_")
)
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
    oracle.fetched()
    scripts = [str(Path(probe.path)) for probe in probes()]
    judged = oracle.judged("--version", grammar, *scripts)
    assert judged.returncode == 0, judged.stdout


# ---------------------------------------------------------------------- in two query windows
END_RACE = (FOLDER / "windows" / "end_race.sql").read_text(encoding="utf-8")
FATES = {
    ("end_over_open_send", "deletes"): {"end": (0, 0, 0)},
    ("end_over_open_send", "waits"): {"end": (1222, 1, 0)},
    ("end_over_open_send", "fails"): {"end": (1222, 1, 0)},
    ("end_over_open_send", "leaves"): {"end": (0, 1, 0)},
    ("expiry_waits_for_sender", True): {"told": 0},
    ("send_over_open_end", "waits"): {"send": (1222, 0)},
    ("send_over_open_end", "transmits"): {"send": (0, 1)},
}
"""By value: of END (error, received, pending), sides told of LIFETIME, of SEND (error, pending)."""


def played(text: str, instance: Instance) -> list[list[tuple]]:
    """The results of WINDOW 2, with WINDOW 1 two seconds ahead, on a virtual clock."""
    parts = sections(text)
    outs = {}

    def script(name: str) -> Collector:
        session = instance.connect()
        out = session.sink = outs[name] = Collector()
        waiting = [batch.sql for batch in split_batches(parts[name])]
        while waiting:
            session.submit(Batch(waiting.pop(0)))
            instance.run()
            while waiting and not out.finished:
                instance.advance(1)
        return out

    def over(out: Collector) -> None:
        while not out.finished:
            instance.advance(1)
        assert not out.errors, out.errors

    over(script("SETUP"))
    first = script("WINDOW 1")
    instance.advance(2)
    second = script("WINDOW 2")
    over(second)
    over(first)
    assert first.result_sets[0].rows[0][1] == 4
    over(script("CLEAN-UP"))
    return [found.rows for found in second.result_sets]


@pytest.mark.parametrize(("switch", "value"), FATES, ids=str)
def test_the_race_of_end_in_two_windows_tells_the_values_apart(switch, value):
    expected = {"end": (0, 0, 0), "told": 2, "send": (0, 0)} | FATES[switch, value]
    results = played(END_RACE, Instance(seed=1, switches={switch: value}))
    [(_, error, ms, pending, _)], dialogs = results
    assert (error, pending) == expected["send"]
    assert (ms >= 3000) == (error == 1222)
    assert [(row[1], row[4], row[5]) for row in dialogs[:3]] == [expected["end"]] * 3
    waited = [row[2] >= 3000 for row in dialogs[:3]]
    assert waited == [value == "waits" and switch == "end_over_open_send"] * 3
    assert dialogs[3][3] == expected["told"]


def test_the_script_for_two_windows_names_its_facts():
    parse_script(END_RACE)
    assert all(f"**{fact}**" in FACTS for fact in re.findall(r"F-\d+", END_RACE))
