"""The databases the plays take place in: one per combination of the two options."""

from .conftest import ALL, START, Play

OPTIONS = (
    "SELECT is_read_committed_snapshot_on, snapshot_isolation_state, "
    "snapshot_isolation_state_desc FROM sys.databases WHERE name = 'play'"
)


def test_three_databases_differ_by_their_options_and_hold_the_same_rows(
    locking, versioned, snapshots
):
    for play, shown in (
        (locking, (0, 0, "OFF")),
        (versioned, (1, 0, "OFF")),
        (snapshots, (0, 1, "ON")),
    ):
        someone = play.actor()
        someone.sees(OPTIONS, [shown])
        someone.sees(ALL, START)


def test_turning_snapshots_on_waits_for_the_transactions_that_are_open():
    play = Play()
    writer, admin = play.actor(), play.actor()
    writer.does("BEGIN TRAN; UPDATE dbo.shelf SET jars = 11 WHERE id = 1")
    waiting = admin.session.execute("ALTER DATABASE play SET ALLOW_SNAPSHOT_ISOLATION ON")
    play.instance.advance(5)
    assert not waiting.finished
    writer.does("COMMIT")
    play.instance.advance(1)
    assert waiting.ok().finished
