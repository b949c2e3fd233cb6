"""A change in two databases whose client is killed at any statement: both are as if it had not been."""

from __future__ import annotations

from tests.product.sql.bare import another
from tests.product.sql.catalog import difference
from tests.product.sql.lab import AUDIT

from .killing import Kills, installed
from .test_killed import LATER

DEPOT = "de]pot"
APART, LATER_APART = (another(one, target={"database": DEPOT}) for one in (AUDIT, LATER))


def test_a_change_of_both_killed_at_any_statement_is_finished_or_taken_back(capsys):
    place = installed(APART)
    before = place.catalog(APART)
    kills = Kills(place, place.deploys(LATER_APART), 701, LATER_APART)
    differs = difference(before, kills.wanted)
    assert all(any(f" of {one}: " in line for line in differs) for one in place.databases)
    for _ in kills:
        kills.ends(place.deploys(LATER_APART), kills.wanted, LATER_APART)
        kills.ends(place.deploys(APART, "rollback"), before, APART)
    with capsys.disabled():
        print(f"\na change in two databases of {kills}, each finished, and taken back")
    assert kills.statements > 1_000 and len(kills.cases) > 2
