"""A change in two databases whose client is killed at any statement: both are as if it had not been."""

from __future__ import annotations

from tests.product.sql.bare import another
from tests.product.sql.catalog import difference
from tests.product.sql.lab import AUDIT, send

from .killing import Kills, Place, installed
from .test_killed import LATER

DEPOT = "de]pot"
APART, LATER_APART = (another(one, target={"database": DEPOT}) for one in (AUDIT, LATER))


def test_a_change_of_both_killed_at_any_statement_is_finished_or_taken_back(capsys):
    place = installed(APART)
    before = place.catalog(APART)
    kills = Kills(place, place.deploys(LATER_APART), 1_301, LATER_APART)
    differs = difference(before, kills.wanted)
    assert all(any(f" of {one}: " in line for line in differs) for one in place.databases)
    for _ in kills:
        kills.ends(place.deploys(LATER_APART), kills.wanted, LATER_APART)
        kills.ends(place.deploys(APART, "rollback"), before, APART)
    with capsys.disabled():
        print(f"\na change in two databases of {kills}, each finished, and taken back")
    assert kills.statements > 1_000 and len(kills.cases) > 0


def test_an_uninstall_of_both_killed_at_any_statement_is_finished_or_taken_back(capsys):
    """With its data, and with a dialog between them that is drained on the way."""
    place = installed(APART)
    place.bare.sa.execute(send("0x01"))
    before = place.catalog(APART)
    kills = Kills(place, place.removes(APART), 2_111, every=2)
    assert difference(Place(beside=DEPOT).catalog(), kills.wanted) == []
    for _ in kills:
        kills.ends(place.removes(APART), kills.wanted)
        kills.ends(place.deploys(APART), before, APART)
    with capsys.disabled():
        print(f"\nan uninstall of two databases of {kills}, each finished, and taken back")
    assert kills.statements > 1_000 and len(kills.cases) > 0
