"""A deployment that undoes, replaces or drops what somebody has left, killed at any statement: the next with
the same words ends as if it had not been."""

from __future__ import annotations

import pytest

from tests.installed import rendered
from tests.product.sql.bare import another
from tests.product.sql.catalog import difference
from tests.product.sql.lab import AUDIT

from .by_hand import spelled
from .killing import Kills, Place, installed
from .test_hand_changes import CHANGES

UNDONE = (
    # statements that no file has, unasked
    "retention",
    "poison handling",
    "lock escalation",
    "an index is gone",
    "another default",
    "a key is gone",
    "a column is gone",
    "page locks",
    "a trigger is switched off",
    "an owner of its own for a table",
    "an owner of its own for a module",
    "an owner of its own for a queue",
    "the owner of a service",
    "the owner of a contract",
    "a choice nobody knows",
    # and with --undo
    "activation",
    "SELECT to public",
    "a right denied",
    "a right to be passed on",
    "a right to be passed on, of somebody's",
    "a role that is renamed",
    "a trigger on our table",
    "an index of somebody's",
    "a key whose rows are in another order",
    "a column that may be NULL",
    "a synonym in a view's place",
    "a view in a table's place",
)
MORE = (
    # of the same tables, and of what others may use
    "a column that is renamed",
    "an index that is renamed",
    "a key that is none",
    "an index that swallows what is there already",
    "a narrower column",
    "a check of somebody's",
    "statistics of somebody's",
    "a default of another name",
    "a table type is gone",
    "a mark of another configuration",
    "the owner of the schema",
    "CONTROL of the schema",
    "a role of the module user",
    "EXECUTE denied to everybody",
    "SEND to public",
    "everybody's route leads elsewhere",
    "a binding for our service",
    "a service with a contract of others",
    "a service on another queue",
    "an event notification of others",
    "a priority for all dialogs",
    "a choice changed by hand",
    "a second gate",
    "a queue that takes nothing",
)
REPLACED = (
    "a hotfix with our comment kept",
    "a view in a procedure's place",
    "a function of another kind",
    "a trigger is dropped",
)


def changed(*names: str) -> Place:
    """An installation after changes by hand."""
    place = installed()
    for name in names:
        place.bare.sa.execute(spelled(rendered(AUDIT), CHANGES[name].sql))
    place.bare.instance.disconnect(place.bare.sa.session)
    return place


@pytest.mark.parametrize(
    ("names", "words", "usual"),
    [
        (UNDONE, {"undo": True}, 263),
        (MORE, {"undo": True}, 401),
        (REPLACED, {"overwrite": True}, 79),
    ],
    ids=["undo", "undo more", "overwrite"],
)
def test_repairs_killed_at_any_statement_are_made_by_the_next(names, words, usual, capsys):
    place = changed(*names)
    kills = Kills(place, place.deploys(AUDIT, **words), usual, AUDIT)
    assert kills.wanted["findings"] == []
    for _ in kills:
        kills.ends(place.deploys(AUDIT, **words), kills.wanted, AUDIT)
    with capsys.disabled():
        print(f"\n{', '.join(words)} of {len(names)} changes by hand, {kills}, each finished")
    assert len(kills.cases) > 2


def test_a_table_that_is_dropped_with_its_rows_killed_at_any_statement_is_gone_after_the_next(
    capsys,
):
    place = installed(another(AUDIT, conversation={"delivery": "exactly_once"}))
    place.bare.sa.execute(
        "INSERT INTO audit.Inbox (MessageId, ReceivedUtc) VALUES (NEWID(), SYSUTCDATETIME()), "
        "(NEWID(), SYSUTCDATETIME());"
    )
    before = place.catalog()
    work = place.deploys(AUDIT, losses={"Inbox": 2})
    kills = Kills(place, work, 331, AUDIT)
    assert any("'Inbox'" in line for line in difference(before, kills.wanted))
    for _ in kills:
        kills.ends(work, kills.wanted, AUDIT)
    with capsys.disabled():
        print(f"\na loss of two rows, {kills}, each finished")
    assert len(kills.cases) > 2
