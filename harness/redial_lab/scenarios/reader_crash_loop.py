"""Reader crash loop: activated readers of both queues are killed again and again while at work.

Each crash rolls back one reader's transaction and no more: what it had received is received again,
a dialog whose recycling was cut in two is asked again by its re-armed timer, and no caller is told.
A queue that has stopped because of it is what a DBA has to switch on again; nothing else.
"""

from __future__ import annotations

from redial_lab.scenarios.story import Scenario, Story

CALLERS, SECONDS = 8, 8

STOPPED = """
SELECT q.name
FROM sys.service_queues AS q
WHERE q.is_ms_shipped = 0
  AND (q.is_receive_enabled = 0
       OR EXISTS (SELECT 1
                  FROM sys.dm_broker_queue_monitors AS m
                  WHERE m.database_id = DB_ID()
                    AND m.queue_id = q.object_id
                    AND m.state = N'NOTIFIED')
          AND NOT EXISTS (SELECT 1
                          FROM sys.dm_broker_activated_tasks AS t
                          WHERE t.database_id = DB_ID() AND t.queue_id = q.object_id));
"""
"""Five killed transactions in a row switch a queue off (F-118); a reader killed before its first
RECEIVE may leave its queue waiting for one (F-255)."""


def tell(story: Story) -> None:
    """Every few statements somebody is killed."""
    senders = [story.sender() for _ in range(CALLERS)]
    killed = 0
    for _ in story.rounds(SECONDS):
        for sender in senders:
            sender.starts(4, in_transaction=sender.number % 3)
        for number in range(12):
            story.port.moment()
            readers = story.readers()
            if readers:
                killed += story.kill(readers[number % len(readers)])
        story.all_answered(senders)
        revive(story)
    story.say(f"{killed} readers were killed")
    story.insists(killed > 10, f"only {killed} readers were met alive")


def revive(story: Story) -> None:
    """What a DBA does about queues that do not start readers any more."""
    for (name,) in story.sql(STOPPED):
        side = "target" if name == story.config.queues.target else "initiator"
        story.queue(side, "ACTIVATION (STATUS = OFF)")
        story.queue(side, "STATUS = ON, ACTIVATION (STATUS = ON)")


SCENARIO = Scenario(
    "reader-crash-loop",
    tell,
    mutant="no_rearm",
    changes={
        "timer": {"after_seconds": 1, "spread_seconds": 1, "retry_seconds": 1},
        "initiator": {"readers": 4},
    },
    differs=(
        "whether a queue whose reader was killed before its first RECEIVE starts another is "
        "unknown (F-255): where it does not, the story switches activation off and on",
        "where a reader is when it dies: embedded, after a fixed number of statements; on a "
        "server wherever it has come in 20 ms",
    ),
)
