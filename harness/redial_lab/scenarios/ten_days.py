"""Ten days: the target's queue is never empty when its reader looks, and no reader grows old.

A reader that always finds a message would be one session for ever, and what counts inside it would
count to its end: an identity of a table variable never starts over. So a reader leaves after ten
minutes and is started again. The tables' own identities are set to the end of an int before the
first message, where careless code breaks.
"""

from __future__ import annotations

from redial.render.quoting import literal
from redial_lab.scenarios.story import Scenario, Story

CALLERS, DAYS, MINUTES = 3, 10, 5
"""MINUTES between two messages of a caller: less than a reader waits for one."""
INT_LIMIT = 2**31 - 1
SEEDED = INT_LIMIT - 100
"""Where every identity begins: a hundred rows before an int is full."""

IDENTITIES = """
SELECT t.name
FROM sys.tables AS t
INNER JOIN sys.identity_columns AS c ON c.object_id = t.object_id
WHERE t.schema_id = SCHEMA_ID({schema})
ORDER BY t.name;
"""
READERS = """
SELECT s.session_id, CONVERT(nvarchar(30), s.login_time, 126)
FROM sys.dm_broker_activated_tasks AS bt
INNER JOIN sys.dm_exec_sessions AS s ON s.session_id = bt.spid
WHERE bt.database_id = DB_ID() AND bt.queue_id = OBJECT_ID({queue});
"""


def tell(story: Story, days: int = DAYS) -> None:
    """A message of everybody every few minutes, for so many days, and a look at who reads."""
    schema, queue = story.config.schema_name, story.config.queues.target
    for (table,) in story.sql(IDENTITIES.format(schema=literal(schema))):
        story.sql(f"DBCC CHECKIDENT ({literal(f'{schema}.{table}')}, RESEED, {SEEDED});")
    look = READERS.format(queue=literal(f"{schema}.{queue}"))
    senders = [story.sender() for _ in range(CALLERS)]
    seen: set[tuple[int, str]] = set()
    for day in range(days):
        for _ in range(24 * 60 // MINUTES):
            story.together(senders, 1)
            story.wait(MINUTES * 60)
            readers = story.sql(look)
            story.insists(len(readers) == 1, f"{len(readers)} readers at work on day {day + 1}")
            seen |= set(readers)
        story.closes_the_books()
        story.say(f"day {day + 1}: {len(seen)} readers so far")
    expected = days * 24 * 60 // (4 * MINUTES)
    story.insists(len(seen) >= expected, f"only {len(seen)} readers in {days} days")
    errors = story.count("ErrorLog")
    story.insists(errors == 0, f"{errors} rows of ErrorLog, though nothing was wrong")


SCENARIO = Scenario(
    "ten-days",
    tell,
    mutant="reader_never_leaves",
    changes={
        "conversation": {"delivery": "exactly_once"},
        "target": {"readers": 1, "receive_wait_ms": 600_000},
    },
    differs=("a server takes ten days",),
)
