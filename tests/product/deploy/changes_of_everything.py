"""What somebody does by hand where priorities, notifications and signatures are chosen, too."""

from __future__ import annotations

from tests.product.sql.lab import configured
from tests.product.sql.test_usp_QueueTrouble import ENDED

from .by_hand import FILES, PERSON, UNASKED, Change

EVERYTHING = configured(
    priority={"level": 7},
    operations={"notify_queue_off": True},
    security={"signing": "certificate"},
)
PRIORITY = "ALTER BROKER PRIORITY [redial/audit/target] FOR CONVERSATION SET"
NOTIFICATION = (
    "DROP EVENT NOTIFICATION [redial_audit_trouble] ON QUEUE audit.TargetQueue; "
    "CREATE EVENT NOTIFICATION [redial_audit_trouble] ON QUEUE audit.TargetQueue "
)
CHANGES: dict[str, Change] = {
    "a lower priority": Change(
        FILES,
        f"{PRIORITY} (PRIORITY_LEVEL = 3);",
        "broker priority redial/audit/target: level is 3, not 7",
    ),
    "a priority for every contract": Change(
        FILES,
        f"{PRIORITY} (CONTRACT_NAME = ANY);",
        "broker priority redial/audit/target: contract is ANY, not ",
    ),
    "a priority for every service here": Change(
        FILES,
        f"{PRIORITY} (LOCAL_SERVICE_NAME = ANY);",
        "broker priority redial/audit/target: local service is ANY, not ",
    ),
    "a priority for one service there": Change(
        FILES,
        f"{PRIORITY} (REMOTE_SERVICE_NAME = N'x');",
        "broker priority redial/audit/target: remote service is x, not ",
    ),
    "a priority is gone": Change(
        FILES,
        "DROP BROKER PRIORITY [redial/audit/target];",
        "broker priority redial/audit/target is missing",
    ),
    "nobody knows whose priority it is": Change(
        PERSON,
        "DELETE FROM audit.OwnedObject WHERE Name = N'redial/audit/target';",
        "owned object redial/audit/target of BROKER PRIORITY is missing",
    ),
    "a notification is gone": Change(
        FILES,
        "DROP EVENT NOTIFICATION [redial_audit_trouble] ON QUEUE audit.TargetQueue;",
        "event notification redial_audit_trouble of TargetQueue is missing",
    ),
    "a notification without its conversation": Change(
        FILES, ENDED, "event notification redial_audit_trouble of TargetQueue: conversation is off"
    ),
    "a notification to another service": Change(
        UNASKED,
        f"{NOTIFICATION} FOR BROKER_QUEUE_DISABLED TO SERVICE N'//redial/audit/target', "
        "N'current database';",
        "event notification redial_audit_trouble of TargetQueue: service is //redial/audit/target",
    ),
}
