"""The journal: what is undone, by a transaction or by a rewind, is as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from redial_broker.engine.columns import Column
from redial_broker.engine.errors import SqlError, Wait
from redial_broker.engine.journal import Journal, Part
from redial_broker.engine.kernel import Engine
from redial_broker.engine.state import journaled, state
from redial_broker.engine.storage import Index, Table
from redial_broker.engine.transactions import Transaction
from redial_broker.engine.types import INT

from .conftest import Owner


def _sorted(items: dict[int, int]) -> list[tuple[int, int]]:
    return sorted(items.items())


class Shelf(Part):
    """A part with a dictionary and an attribute."""

    __slots__ = ("items", "label")
    STATE = state(journaled("items", show=_sorted), journaled("label"))

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[int, int] = {}
        self.label = 0


CHANGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9)), max_size=30)


@given(CHANGES, CHANGES)
def test_a_rewind_restores_content_and_hash_whatever_happened_since(before, after):
    journal, shelf = Journal(), Shelf()
    for key, value in before:
        journal.put(None, shelf, shelf.items, key, value)
    journal.recording = True
    mark, digest, content = journal.mark(), shelf.hash(), shelf.content()
    for key, value in after:
        journal.put(None, shelf, shelf.items, key, value)
        journal.assign(None, shelf, "label", value)
        shelf.hash()
    journal.rewind(mark)
    assert (shelf.content(), shelf.digest or shelf.hash()) == (content, digest)


@given(CHANGES, CHANGES)
def test_a_rollback_is_itself_rewound(kept, undone):
    engine = Engine()
    journal, shelf = engine.journal, Shelf()
    journal.recording = True
    transaction = Transaction(Owner(51), 1)
    for key, value in kept:
        journal.put(transaction, shelf, shelf.items, key, value)
    mark, content = journal.mark(), shelf.content()
    for key, value in undone:
        journal.put(transaction, shelf, shelf.items, key, value)
    engine.transactions.rollback(transaction)
    assert shelf.items == {}
    journal.rewind(mark)
    assert shelf.content() == content
    assert len(transaction.undo) == len(kept)


def table(engine: Engine) -> Table:
    columns = [Column("k", INT, False), Column("h", INT, False)]
    made = Table(engine.journal, "t", columns, object_id=1)
    made.add_index(Index(made, "pk", [0], unique=True, clustered=True, hobt_id=1))
    made.add_index(Index(made, "n", [1], unique=True, hobt_id=2))
    return made


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["insert", "delete", "commit", "rollback"]),
        st.integers(0, 3),
    ),
    max_size=25,
)


@given(STEPS)
def test_two_indexes_never_disagree_and_a_rewind_brings_rows_and_locks_back(steps):
    engine = Engine()
    rows = table(engine)
    engine.journal.recording = True
    mark, digest = engine.journal.mark(), (rows.hash(), engine.locks.hash())
    open_: dict[int, Transaction] = {}
    for who, what, key in steps:
        transaction = open_.setdefault(who, Transaction(Owner(51 + who), 1))
        if transaction.owner.wait is not None:
            continue
        try:
            if what == "insert":
                engine.access.insert(transaction, rows, (key, 10 + key))
            elif what == "delete":
                if (key,) in rows.rows.entries:
                    engine.access.delete(transaction, rows, (key,))
            else:
                getattr(engine.transactions, what)(open_.pop(who))
        except (SqlError, Wait):
            pass
        assert sorted(rows.rows.entries) == sorted(rows.indexes[0].entries.values())
    engine.journal.rewind(mark)
    assert (rows.hash(), engine.locks.hash()) == digest
    assert rows.rows.writers == {}
