"""What a message costs is counted, and no count rises without somebody saying so."""

from __future__ import annotations

import json

import pytest

from redial_lab.bench import budget
from redial_lab.bench.budget import DESIGNS, KINDS, MOMENTS, SHIPPED, counts, over


def test_no_count_is_above_its_bound():
    assert over() == [], (
        "next: mend the text; or raise the bound in evidence/cost.json, and say why"
    )


def test_no_bound_is_left_high_above_its_count():
    """A bound nobody is near lets the next rise pass: lower it with the count."""
    kept, now = budget.bounds(), counts(SHIPPED)
    found = {m: {k: pytest.approx(now[m][k], abs=0.001) for k in KINDS} for m in MOMENTS}
    assert found == kept, "next: write the lower counts into evidence/cost.json"


@pytest.mark.parametrize("kind", KINDS)
def test_a_count_that_rises_is_named_with_its_moment(kind, monkeypatch):
    lower = budget.bounds()
    lower[MOMENTS[0]][kind] -= 1
    monkeypatch.setattr(budget, "bounds", lambda: lower)
    (said,) = over()
    assert said.startswith(f"{MOMENTS[0]}: {kind} ")


def test_a_count_without_a_bound_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "KEPT", tmp_path / "cost.json")
    budget.KEPT.write_text(json.dumps({}))
    assert len(over()) == len(MOMENTS) * len(KINDS)
    assert all(line.endswith("no bound") for line in over())


def test_the_same_text_costs_the_same_twice():
    first = counts(SHIPPED)
    assert counts.__wrapped__(SHIPPED) == first


def test_a_dialog_per_message_costs_more_of_everything_at_the_target():
    """What reuse is for: each message brings a dialog, its EndOfStream and its two ends."""
    ours, apart = counts(SHIPPED)[MOMENTS[1]], counts(list(DESIGNS)[2])[MOMENTS[1]]
    assert apart["statements"] > 2 * ours["statements"]
    assert apart["queue rows deleted"] == 3 * ours["queue rows deleted"]
    assert apart["log bytes"] > 3 * ours["log bytes"]


def test_a_send_logs_at_most_500_bytes_beside_the_body_and_its_copy():
    send = counts(SHIPPED)[MOMENTS[0]]
    assert send["bodies stored"] == 2, "in the queue, and the copy"
    assert send["log bytes"] - send["bytes of bodies"] <= 500


def test_a_message_of_a_batch_costs_no_statement_of_its_own():
    """Landing is set-based: a batch twice as large runs as many statements."""
    assert counts(SHIPPED)[MOMENTS[2]]["statements"] == 0


def test_the_page_shows_every_count_beside_its_bound():
    page = budget.text()
    thousand = 1 + len(budget.A_THOUSAND) + 1
    assert page.count("\n| ") == len(MOMENTS) * (len(KINDS) + 1) + thousand
    assert "Nothing here is SQL Server's" in page
