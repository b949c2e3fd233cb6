"""A rewind brings back the very state, row versions and open snapshots included."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.broker.instance.graph import digests

from .conftest import ALL, Play

STATEMENTS = [
    "IF @@TRANCOUNT = 0 BEGIN TRANSACTION",
    "IF @@TRANCOUNT > 0 COMMIT",
    "IF @@TRANCOUNT > 0 ROLLBACK",
    ALL,
    f"{ALL} WHERE id = 2",
    "UPDATE dbo.shelf SET jars = jars + 1 WHERE id = 1",
    "DELETE dbo.shelf WHERE jars > 20",
    "UPDATE dbo.shelf SET jars = (SELECT MAX(jars) FROM dbo.shelf) WHERE id = 2",
    "INSERT dbo.shelf SELECT MAX(id) + 1, 20 FROM dbo.shelf",
    "TRUNCATE TABLE dbo.shelf",
    "SAVE TRANSACTION half",
    f"{ALL} WITH (UPDLOCK)",
]
STEPS = st.lists(st.tuples(st.integers(0, 2), st.sampled_from(STATEMENTS)), max_size=12)


def play_of_levels():
    """Two sessions under SNAPSHOT, one under READ COMMITTED by versions; none in a transaction."""
    play = Play("ALLOW_SNAPSHOT_ISOLATION ON", "READ_COMMITTED_SNAPSHOT ON")
    sessions = [play.instance.connect("play") for _ in range(3)]
    for session in sessions[:2]:
        session.execute("SET TRANSACTION ISOLATION LEVEL SNAPSHOT").ok()
    return play, sessions


def take(sessions, steps) -> None:
    for who, statement in steps:
        if sessions[who].wait is None:
            sessions[who].engine.journal.save(sessions[who])  # as the explorer does: it submits
            sessions[who].execute(statement)


def past(instance) -> tuple:
    """The row versions and who reads them."""
    versions = instance.engine.transactions.versions
    table = instance.server.database("play").resolve("dbo", "shelf")
    return (
        versions.sequence,
        dict(versions.readers),
        dict(versions.kept),
        dict(versions.altered),
        dict(table.rows.versions),
        dict(table.rows.ghosts),
    )


@settings(max_examples=40, deadline=None)
@given(STEPS, STEPS)
def test_a_rewind_restores_every_hash_with_snapshots_open(before, after):
    play, sessions = play_of_levels()
    journal = play.instance.engine.journal
    journal.recording = True
    sessions[0].execute(f"BEGIN TRANSACTION; {ALL}").ok()
    take(sessions, before)
    mark, hashes, versions = journal.mark(), digests(play.instance), past(play.instance)
    take(sessions, after)
    journal.rewind(mark)
    assert digests(play.instance) == hashes
    assert past(play.instance) == versions


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_nothing_is_kept_once_everybody_is_gone(steps):
    play, sessions = play_of_levels()
    take(sessions, steps)
    for session in sessions:
        session.close()
    assert past(play.instance) == (0, {}, {}, {}, {}, {})
