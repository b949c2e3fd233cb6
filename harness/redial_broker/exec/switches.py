"""The switches of the executor: what no document settles about statements, errors and rights."""

from __future__ import annotations

from redial_broker.engine.switches import declare, value

__all__ = ["value"]

declare(
    "bad_optimizer",
    (False, True),
    "F-121",
    "The optimizer scans wherever no hint forbids it, seeks by the least helpful index and "
    "reads backwards what no ORDER BY asks for: not a fact but a plan nobody can rule out.",
    "plan_of_a_small_table",
)
declare(
    "order_by_ties",
    ("as read", "reversed"),
    "F-605",
    "Rows that are equal in ORDER BY come in any order.",
    by_hand="Nothing settles it: a server may give either order each time it runs.",
)
declare(
    "plain_read_locks",
    ("changed rows", "every row"),
    "F-202",
    "A plain read under READ COMMITTED asks for a key lock only where the row is being changed, or "
    "everywhere, as it does where another row of its page is.",
    by_hand="Nothing settles it: which of them happens depends on what else lies on the page.",
)
declare(
    "ownership_chain_over_broker_verbs",
    (True, False),
    "F-112",
    "A module's owner who also owns queue and service covers SEND and RECEIVE inside it.",
)
declare(
    "broker_error_dooms",
    (False, True),
    "F-131",
    "8426, 8427 and 8429 caught with XACT_ABORT OFF leave a transaction that can only roll back.",
    "send_on_a_dead_dialog",
)
declare(
    "xact_abort_counts",
    ("raised", "raised or caught"),
    "F-400",
    "An error raised under XACT_ABORT OFF that leaves its procedure for the CATCH of one that "
    "runs with ON: the transaction can still commit, or it is doomed.",
    "xact_abort_when_caught",
)
declare(
    "broker_error_state",
    (1, 2),
    "F-278",
    "State of the errors of Service Broker verbs where no source has seen one.",
)
declare(
    "rowcount_after_if",
    ("zero", "unchanged"),
    "F-279",
    "@@ROWCOUNT behind the condition of an IF.",
    "rowcount_after_control",
)
declare(
    "rowcount_after_declare",
    ("unchanged", "zero"),
    "F-279",
    "@@ROWCOUNT behind a DECLARE without a value.",
    "rowcount_after_control",
)
declare(
    "implicit_transactions_266",
    (False, True),
    "F-137",
    "A procedure called under IMPLICIT_TRANSACTIONS that leaves the transaction open its first "
    "statement began raises 266.",
    "implicit_transactions",
)
declare(
    "reset_context_info",
    ("cleared", "kept"),
    "F-204",
    "CONTEXT_INFO after sp_reset_connection.",
    by_hand="SET CONTEXT_INFO over a pooled connection, close it, open it again, and read "
    "CONTEXT_INFO(): a reset is asked for by a driver, not by a statement.",
)
declare(
    "activated_set_options",
    ("on", "database defaults"),
    "F-143",
    "ANSI_PADDING, ANSI_WARNINGS and CONCAT_NULL_YIELDS_NULL of an activated session.",
)
declare(
    "endpoint_reads_wait",
    (False, True),
    "F-126",
    "A plain read of sys.conversation_endpoints waits for a dialog another transaction has "
    "begun or ended and not committed.",
)
declare(
    "transmission_reads_wait",
    (False, True),
    "F-136",
    "A plain read of sys.transmission_queue waits for a row another transaction has put there "
    "and not committed.",
)
declare(
    "transmission_queue_shows",
    ("db_owner", "all"),
    "F-113",
    "Who reads rows in sys.transmission_queue.",
    "transmission_queue_visibility",
)
declare(
    "transmission_status_shows",
    ("all", "db_owner"),
    "F-545",
    "Whom GET_TRANSMISSION_STATUS answers: everybody, or members of db_owner, others get ''.",
)
declare(
    "signer_is_member",
    ("counts", "ignored"),
    "F-180",
    "While a signed module runs, the roles of the certificate's user count in IS_MEMBER and "
    "for whom sys.transmission_queue shows its rows, or only the executing user's do.",
)
declare(
    "cursor_status_unassigned",
    (-2, -3),
    "F-213",
    "CURSOR_STATUS of a declared cursor variable that no cursor was assigned to.",
)
declare(
    "empty_grouping_set",
    ("row", "none"),
    "F-211",
    "The set () among other grouping sets yields a total when there is no row at all, or "
    "nothing; GROUP BY () alone yields one in any case.",
)
declare(
    "openjson_too_long",
    ("cut", "null"),
    "F-223",
    "OPENJSON .. WITH: a text longer than its column is cut, or is NULL.",
)
declare(
    "insert_rowversions",
    ("in order", "reversed"),
    "F-365",
    "Rowversions of INSERT .. SELECT .. ORDER BY go up in that order, or in any other.",
    "rowversions_of_one_insert",
)
declare(
    "applock_when_doomed",
    ("granted", "refused"),
    "F-162",
    "sp_getapplock for the session, called in a transaction that can only roll back: a lock or "
    "error 3930.",
)
declare(
    "no_wait_while_others_use_the_database",
    (5070, 5061, "waits"),
    "F-481",
    "ALTER DATABASE .. SET ENABLE_BROKER WITH NO_WAIT while others use the database: error 5070 or "
    "5061, each with 5069 behind it, or it waits all the same.",
    by_hand="USE the database in a second window and leave it idle; in the first run ALTER DATABASE "
    ".. SET ENABLE_BROKER WITH NO_WAIT (the broker off) and note both errors, or that it waits.",
)
declare(
    "new_sessions_behind_alter_database",
    ("wait", "go in"),
    "F-482",
    "Who enters a database (USE, a login) that ALTER DATABASE waits to have alone: waits behind it, "
    "or goes in.",
    by_hand="One window stays in the database, a second runs ALTER DATABASE .. SET ENABLE_BROKER (the "
    "broker off) and waits, a third runs USE and a SELECT: note whether it waits.",
)
declare(
    "server_trouble_dooms",
    (False, True),
    "F-487",
    "701, 1105 and 9002 with XACT_ABORT OFF end their statement, or the batch, and in TRY leave a "
    "transaction that can only roll back.",
    by_hand="On a database whose only data file is at its MAXSIZE: BEGIN TRANSACTION; in TRY an INSERT "
    "that gives 1105; in CATCH note XACT_STATE(). The same with a log file at its MAXSIZE for 9002.",
)
declare(
    "savepoint_over_verbs",
    ("undone", "refused"),
    "F-333",
    "ROLLBACK to a savepoint takes back BEGIN DIALOG, SEND and END CONVERSATION like rows, or is "
    "refused over them and leaves a transaction that can only roll back; RECEIVE it takes back.",
)
