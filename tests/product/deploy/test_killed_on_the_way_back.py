"""A way back whose client is killed at any statement: the next one, or a deployment, ends as if it had not
been."""

from __future__ import annotations

from contextlib import closing

from redial.deploy.mending import tried
from tests.product.sql.catalog import difference
from tests.product.sql.lab import AUDIT

from .killing import Kills, installed
from .test_killed import LATER


def test_a_way_back_killed_at_any_statement_is_finished_or_taken_back(capsys):
    place = installed()
    before = place.catalog(AUDIT)
    assert not place.run(place.deploys(LATER))
    later = place.catalog(LATER)
    kills = Kills(place, place.deploys(AUDIT, "rollback"), 331, AUDIT)
    assert difference(before, kills.wanted) == []
    for after in kills:
        # 1. the same way again; what was cut off is called so
        kills.ends(place.deploys(AUDIT, "rollback"), before, AUDIT)
        with closing(place.connect()) as connection:
            told = [(one.what, one.outcome) for one in tried(connection, AUDIT) or ()][2:]
        finished, cut_off = ("rollback", "finished"), ("rollback", "abandoned")
        assert told in ([finished], [cut_off, finished], [cut_off]), after
        # 2. forward to where it came from
        kills.ends(place.deploys(LATER), later, LATER)
    with capsys.disabled():
        print(f"\na way back of {kills}, each finished, and taken back")
    assert kills.statements > 1_000 and len(kills.cases) > 2
