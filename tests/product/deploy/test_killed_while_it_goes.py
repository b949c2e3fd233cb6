"""An uninstall whose client is killed at any statement: the next one, or a deployment, ends as if it had not
been."""

from __future__ import annotations

import pytest

from tests.product.sql.bare import data_of
from tests.product.sql.catalog import difference
from tests.product.sql.lab import AUDIT, send

from .killing import Kills, installed


@pytest.mark.parametrize("purge", [False, True], ids=["tables stay", "purge"])
def test_an_uninstall_killed_at_any_statement_is_finished_or_taken_back(purge, capsys):
    """With a dialog that is drained on the way; what it has landed stays until a purge."""
    place = installed()
    place.bare.sa.execute(send("0x01"))
    before = place.catalog(AUDIT)
    kills = Kills(place, place.removes(AUDIT, purge), 601)
    assert difference(before, kills.wanted)
    for after in kills:
        # 1. the same again: it takes no more rows than its plan names, and no reader logs an error
        kills.ends(place.removes(AUDIT, purge), kills.wanted)
        data = data_of(place.rows, "audit")
        assert purge or (len(data["Landing"]), data["ErrorLog"]) == (2, []), after
        # 2. back
        kills.ends(place.deploys(AUDIT), before, AUDIT)
    with capsys.disabled():
        print(f"\nan uninstall of {kills}, each finished, and taken back")
    assert kills.statements > 1_000 and len(kills.cases) > 1
