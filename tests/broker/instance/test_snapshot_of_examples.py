"""Every construct of evidence/surface is undone by a restore to the last field: nothing that changes
state goes past the journal."""

from __future__ import annotations

from collections import defaultdict

import pytest

from redial_broker.instance.instance import Instance
from redial_lab.pages.coverage.examples import (
    DATABASE,
    Example,
    lists,
    more,
    script,
    setups,
    submit,
    surface,
)

from .graph import picture

BY_SETUP: dict[str, list[Example]] = defaultdict(list)
for _example in (*surface(), *more(), *lists()):
    BY_SETUP[_example.setup].append(_example)


def prepared(setup: str):
    instance = Instance(seed=1)
    session = instance.connect()
    for batch in (f"CREATE DATABASE {DATABASE};", f"USE {DATABASE};", *setups()[setup].batches):
        submit(instance, session, batch)
    return instance, session


@pytest.mark.parametrize("setup", sorted(BY_SETUP), ids=lambda setup: setup or "nothing")
def test_what_an_example_did_is_gone_to_the_last_field(setup):
    instance, session = prepared(setup)
    left = {}
    snapshot = instance.snapshot()
    before = picture(instance)
    for example in BY_SETUP[setup]:
        for batch in script(example):
            submit(instance, session, batch)
        snapshot.restore()
        after = picture(instance)
        if after != before:
            left[example.name] = sorted(
                path for path in before.keys() | after.keys() if before.get(path) != after.get(path)
            )[:3]
            instance, session = prepared(setup)
            snapshot = instance.snapshot()
            before = picture(instance)
    assert left == {}
