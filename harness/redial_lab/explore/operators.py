"""What an operator runs as a fault: T-SQL, at any moment of a search."""

from __future__ import annotations

from redial_lab.end_conversation import with_error
from redial_lab.explore.faults import Fault

WITH_ERROR = with_error("a fault")


def queue_off(queue: str, database: str, times: int = 1) -> Fault:
    """A queue is switched off and stays so."""
    return Fault(
        "queue_off", times, sql=f"ALTER QUEUE {queue} WITH STATUS = OFF;", database=database
    )


def queue_on(queue: str, database: str, times: int = 1) -> Fault:
    """A queue is switched on (one that five rollbacks have switched off, say)."""
    return Fault("queue_on", times, sql=f"ALTER QUEUE {queue} WITH STATUS = ON;", database=database)


def queue_off_and_on(queue: str, database: str, times: int = 1) -> Fault:
    """A queue is switched off and, at any later moment, on again."""
    return Fault(
        "queue_off_and_on",
        times,
        database=database,
        sql=f"ALTER QUEUE {queue} WITH STATUS = OFF; ALTER QUEUE {queue} WITH STATUS = ON;",
    )


def target_ends(database: str, queue: str, times: int = 1) -> Fault:
    """The target ends a dialog first: one that has nothing unread in its queue, or END would delete
    it (END CONVERSATION page), whatever the initiator is about to send.

    A polite operator: his look at the queue waits for every sender that has not committed, and he
    gives up when anything is there. So what END does to a message on its way is left out here;
    ``ends_now`` has it.
    """
    return Fault(
        "target_ends", times, sql=_end_of_a_target(queue, ""), database=database, at_once=True
    )


def error_message(database: str, queue: str, times: int = 1) -> Fault:
    """As ``target_ends``, as polite, but with an error: the initiator gets an Error message. What
    an error at any moment does, ``ends_now`` shows.
    """
    return Fault(
        "error_message",
        times,
        sql=_end_of_a_target(queue, WITH_ERROR),
        database=database,
        at_once=True,
    )


def ends_now(kind: str, database: str, *, initiator: bool, how: str = "", times: int = 1) -> Fault:
    """A side of a dialog is ended at any moment, whatever lies in its queue, committed or not: by
    an operator who looks at nothing and waits for nobody but the holder of that side's group.

    how: nothing, ``WITH_ERROR`` or ``end_conversation.WITH_CLEANUP``.
    """
    return Fault(
        kind,
        times,
        database=database,
        at_once=True,
        sql=(
            "DECLARE @h uniqueidentifier = (SELECT TOP (1) e.conversation_handle "
            f"FROM sys.conversation_endpoints AS e WHERE e.is_initiator = {int(initiator)} "
            "AND e.state = 'CO' ORDER BY e.conversation_handle); "
            f"IF @h IS NOT NULL END CONVERSATION @h{how};"
        ),
    )


def stranger_sends(database: str, message_type: str) -> Fault:
    """Somebody else sends on a dialog's initiator, once: a message no sender of ours knows of."""
    return Fault(
        "stranger_sends",
        database=database,
        at_once=True,
        sql=(
            "DECLARE @h uniqueidentifier = (SELECT TOP (1) e.conversation_handle "
            "FROM sys.conversation_endpoints AS e WHERE e.is_initiator = 1 "
            "AND e.state IN ('SO', 'CO') ORDER BY e.conversation_handle); "
            f"IF @h IS NOT NULL SEND ON CONVERSATION @h MESSAGE TYPE [{message_type}];"
        ),
    )


def _end_of_a_target(queue: str, how: str) -> str:
    """Setting a timer takes the conversation group, so the queue is looked at under its lock."""
    return (
        "BEGIN TRANSACTION; DECLARE @h uniqueidentifier = (SELECT TOP (1) "
        "e.conversation_handle FROM sys.conversation_endpoints AS e WHERE e.is_initiator = 0 "
        "AND e.state = 'CO' ORDER BY e.conversation_handle); "
        "IF @h IS NOT NULL BEGIN CONVERSATION TIMER (@h) TIMEOUT = 3600; "
        f"IF @h IS NULL OR EXISTS (SELECT 1 FROM {queue} WHERE conversation_handle = @h) "
        "ROLLBACK TRANSACTION; "
        f"ELSE BEGIN END CONVERSATION @h{how}; COMMIT TRANSACTION; END;"
    )
