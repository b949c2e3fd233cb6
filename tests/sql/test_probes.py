"""The probes: one question to a real server each; they parse, name a known fact, and answer."""

import re

import pytest

from harness.render.renderer import SQL
from harness.tsql import parse_script, split_batches

from .lab import Client, Lab

PROBES = sorted((SQL / "probes").glob("*.sql"))
FACTS = (SQL.parent / "docs" / "facts.md").read_text(encoding="utf-8")
ONLY_A_REAL_SERVER = {"state_lookup_cost", "snapshot_caller", "send_on_a_dead_dialog_in_a_trigger"}
"""STATISTICS IO, SNAPSHOT and triggers: the embedded broker refuses them."""


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.stem)
def test_a_probe_parses_and_names_a_fact_of_the_sheet(path):
    text = path.read_text(encoding="utf-8")
    parse_script(text)
    facts = set(re.findall(r"F-\d+", text))
    assert len(facts) == 1 and f"**{facts.pop()}**" in FACTS
    assert "AS Expected" in text and "AS Observed" in text


@pytest.mark.parametrize(
    "path", [p for p in PROBES if p.stem not in ONLY_A_REAL_SERVER], ids=lambda path: path.stem
)
def test_a_probe_answers_and_leaves_nothing_behind(path):
    """On the embedded broker, whose answer settles nothing."""
    lab = Lab()
    before = lab.rows("SELECT COUNT(*) FROM sys.objects;")
    client = Client(lab)
    answers = []
    for batch in split_batches(path.read_text(encoding="utf-8")):
        client.submit(batch.sql)
        lab.advance(40)
        assert client.out.finished, batch.sql
        assert not client.errors, (client.errors, batch.sql)
        answers += [row for rows in client.out.result_sets for row in rows.rows]
    assert len(answers) == 1 and all(answers[0])
    assert lab.rows("SELECT COUNT(*) FROM sys.objects;") == before
