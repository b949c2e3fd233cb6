"""A value that is put away in one place, and used in another step, makes states of its own."""

from redial_lab.explore import Client, Scenario, World, search
from tests.lab.explore.tables import tables

BROKER = """
CREATE QUEUE dbo.q;
CREATE SERVICE s ON QUEUE dbo.q ([DEFAULT]);
CREATE TABLE dbo.Dialog (h uniqueidentifier NOT NULL);
DECLARE @h uniqueidentifier;
BEGIN DIALOG @h FROM SERVICE s TO SERVICE N's' WITH ENCRYPTION = OFF;
INSERT dbo.Dialog VALUES (@h);
"""


def prepared():
    instance = tables("a", 2)
    session = instance.connect("d")
    session.execute(BROKER).ok()
    session.execute("UPDATE dbo.a SET n = 10 WHERE id = 1;").ok()
    session.close()
    return instance


def test_a_timer_that_is_set_and_not_yet_armed():
    """1. T1 reads 20 and sets a timer by it. 2. T2 makes the 20 a 30, which nobody reads any more.
    3. T1 commits, and the timer is armed. The states before step 3 differ by nothing else.
    """
    set_timer = (
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier = (SELECT h FROM dbo.Dialog), "
        "@t int = (SELECT n FROM dbo.a WHERE id = 1); "
        "BEGIN CONVERSATION TIMER (@h) TIMEOUT = @t; "
        "UPDATE dbo.a SET n = n + 1 WHERE id = 2; COMMIT TRANSACTION;"
    )
    change = "UPDATE dbo.a SET n = 20 WHERE id = 1; UPDATE dbo.a SET n = 30 WHERE id = 1;"
    armed: set[float] = set()

    def timers(world: World) -> list[str]:
        armed.update(
            due
            for key, due in world.instance.engine.timers.entries.items()
            if key[0] == "ssb.timer"
        )
        return []

    result = search(
        Scenario(
            "timers",
            prepared,
            (Client("T1", (set_timer,), "d"), Client("T2", (change,), "d")),
            at_the_end=timers,
            firings=0,
        )
    )
    assert result.exhausted
    assert armed == {10.0, 20.0, 30.0}
