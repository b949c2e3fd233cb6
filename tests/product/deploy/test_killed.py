"""A deployment whose client is killed at any statement: the next one, or the way back, makes it good."""

from __future__ import annotations

from random import Random

import pytest

from tests.product.sql.bare import another
from tests.product.sql.catalog import difference
from tests.product.sql.lab import AUDIT, send
from tests.sampling import full

from .killing import Kills, Place, installed

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


def test_an_upgrade_killed_at_any_statement_is_finished_or_taken_back(capsys):
    place = installed()
    before = place.catalog(AUDIT)
    kills = Kills(place, place.deploys(LATER), 331, LATER)
    assert difference(before, kills.wanted)
    # 1. the way back from the whole of it
    assert not place.run(place.deploys(AUDIT, "rollback"))
    assert difference(before, place.catalog(AUDIT)) == []
    # 2. killed
    for _ in kills:
        kills.ends(place.deploys(LATER), kills.wanted, LATER)
        kills.ends(place.deploys(AUDIT, "rollback"), before, AUDIT)
    with capsys.disabled():
        print(f"\nan upgrade of {kills}, each finished, and taken back")
    assert kills.statements > 1_000 and len(kills.cases) > 2


def test_a_first_deployment_killed_at_any_statement_is_finished_or_removed(capsys):
    place = Place()
    empty = place.catalog()
    kills = Kills(place, place.deploys(AUDIT), 499, AUDIT)
    for _ in kills:
        kills.ends(place.deploys(AUDIT), kills.wanted, AUDIT)
        kills.ends(place.removes(AUDIT), empty)
    with capsys.disabled():
        print(f"\na deployment of {kills}, each finished, and removed")
    assert len(kills.cases) > 1


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
        place.run(place.removes(config) if what == "remove" else place.deploys(config, what), after)
    assert not place.run(place.removes(AUDIT))
    assert difference(empty, place.catalog()) == [], told
