"""A way back whose client is killed at any statement: the next one, or a deployment, ends as if it had not
been."""

from __future__ import annotations

from contextlib import closing

from redial.deploy.mending import tried
from tests.product.sql.lab import AUDIT
from tests.sampling import Cases, crash_stride

from .test_killed import LATER, installed, same


def test_a_way_back_killed_at_any_statement_is_finished_or_taken_back(capsys):
    place = installed()
    before = place.catalog()
    assert not place.run(place.deploys(LATER))
    later = place.catalog()
    start = place.moment()
    assert not place.run(place.deploys(AUDIT, "rollback"))
    assert same(before, place.catalog()) == []
    statements = place.ran
    stride, cases = crash_stride(331), Cases()
    for after in range(0, statements, stride):
        start()
        assert place.run(place.deploys(AUDIT, "rollback"), after)
        if not cases.new(place.bare.left()):
            continue
        cut = place.moment()
        # 1. the same way again; what was cut off is called so
        assert not place.run(place.deploys(AUDIT, "rollback"))
        assert same(before, place.catalog()) == [], after
        with closing(place.connect()) as connection:
            told = [(one.what, one.outcome) for one in tried(connection, AUDIT) or ()][2:]
        finished, cut_off = ("rollback", "finished"), ("rollback", "abandoned")
        assert told in ([finished], [cut_off, finished], [cut_off]), after
        # 2. forward to where it came from
        cut()
        assert not place.run(place.deploys(LATER))
        assert same(later, place.catalog()) == [], after
    with capsys.disabled():
        print(
            f"\na way back of {statements} statements, killed after every {stride}: "
            f"{len(cases)} states were left, each finished, and taken back"
        )
    assert statements > 1_000 and len(cases) > 2
