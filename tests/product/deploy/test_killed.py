"""A deployment whose client is killed at any statement: the next one, or the way back, makes it good."""

from __future__ import annotations

from random import Random

import pytest

from redial.deploy import DeployError
from redial.deploy.apply import NOT_HERE
from tests.product.sql import catalog
from tests.product.sql.bare import another
from tests.product.sql.lab import AUDIT, send
from tests.sampling import Cases, crash_stride, full

from .killing import Place

V1 = AUDIT.contract.name
LATER = another(
    AUDIT,
    contract={"name": f"{V1}/2", "previous": [V1]},
    queues={"target": "TargetQueue2"},
    target={"readers": 3},
    retention={"landing_days": 30},
)
"""A later revision: a new version of the contract, a new queue, other readers, another procedure."""


LATEST = another(
    LATER,
    contract={"name": f"{V1}/3", "previous": [f"{V1}/2"]},
    services={"initiator": "//redial/audit/from", "target": "//redial/audit/to"},
    conversation={"key": "application", "delivery": "exactly_once"},
    operations={"notify_queue_off": True},
)
"""One more: other services, another key, an inbox, notifications."""


def installed() -> Place:
    place = Place()
    assert not place.run(place.deploys(AUDIT))
    return place


def same(one: catalog.Snapshot, other: catalog.Snapshot) -> list[str]:
    return catalog.difference(one, other)


def test_an_upgrade_killed_at_any_statement_is_finished_or_taken_back(capsys):
    place = installed()
    before = place.catalog()
    start = place.moment()
    assert not place.run(place.deploys(LATER))
    wanted, statements = place.catalog(), place.ran
    assert same(before, wanted)
    # 1. the way back from the whole of it
    assert not place.run(place.deploys(AUDIT, "rollback"))
    assert same(before, place.catalog()) == []
    # 2. killed
    stride, cases = crash_stride(331), Cases()
    for after in range(0, statements, stride):
        start()
        assert place.run(place.deploys(LATER), after)
        if not cases.new(place.bare.left()):
            continue
        cut = place.moment()
        assert not place.run(place.deploys(LATER))
        assert same(wanted, place.catalog()) == [], after
        cut()
        assert not place.run(place.deploys(AUDIT, "rollback"))
        assert same(before, place.catalog()) == [], after
    with capsys.disabled():
        print(
            f"\nan upgrade of {statements} statements, killed after every {stride}: "
            f"{len(cases)} states were left, each finished, and taken back"
        )
    assert statements > 1_000 and len(cases) > 2


def test_a_first_deployment_killed_at_any_statement_is_finished_or_removed(capsys):
    place = Place()
    empty, start = place.catalog(), place.moment()
    assert not place.run(place.deploys(AUDIT))
    wanted, statements = place.catalog(), place.ran
    stride, cases = crash_stride(499), Cases()
    for after in range(0, statements, stride):
        start()
        assert place.run(place.deploys(AUDIT), after)
        if not cases.new(place.bare.left()):
            continue
        cut = place.moment()
        assert not place.run(place.deploys(AUDIT))
        assert same(wanted, place.catalog()) == [], after
        cut()
        if same(empty, place.catalog()):
            assert not place.run(place.removes(AUDIT))
            assert same(empty, place.catalog()) == [], after
    with capsys.disabled():
        print(
            f"\na deployment of {statements} statements, killed after every {stride}: "
            f"{len(cases)} states were left, each finished, and removed"
        )
    assert len(cases) > 1


WAYS = 40 if full() else 3
"""Mixtures that are tried."""


@pytest.mark.parametrize("seed", range(WAYS))
def test_after_any_mixture_of_killed_ways_a_purge_leaves_an_empty_database(seed):
    """Deployments of three revisions, ways back and removals, each killed somewhere or not."""
    random = Random(seed)
    place = Place()
    empty = place.catalog()
    configs = [AUDIT, LATER, LATEST]
    told = []
    assert not place.run(place.deploys(AUDIT))
    for _ in range(random.randint(3, 6)):
        config = random.choice(configs)
        what = random.choice(["deploy", "rollback", "remove"])
        after = random.choice([None, *(random.randint(1, 900) for _ in range(3))])
        told.append((what, configs.index(config), after))
        if random.random() < 0.3:
            place.bare.sa.submit(send(f"0x{random.randint(1, 255):02x}"))
        work = place.removes(config) if what == "remove" else place.deploys(config, what)
        try:
            place.run(work, after)
        except DeployError as error:
            assert error.number == NOT_HERE, (told, str(error))
    if same(empty, place.catalog()):
        place.run(place.removes(AUDIT))
    assert same(empty, place.catalog()) == [], told
