"""What only a reader can say of an open fact without a switch: why the text does not rest on it, or
what a server is to be asked.

"Follows" is a conclusion about our own text: what it names is what it rests on, and the searches
try to break it.
"""

from __future__ import annotations

WHY: dict[str, str] = {
    # ------------------------------------------------------------------ installation
    "F-102": "10_broker issues the statement only where the edition has it; the number is the stand-in's",
    "F-480": "05_preflight refuses an older version or level before any of it is compiled",
    "F-483": "a job that cannot tell goes on, and fails where it cannot work",
    "F-491": "05_preflight refuses SINGLE_USER, whether activation counts as a session or not",
    "F-493": "a client cannot tell THROW from RAISERROR: both are one ERROR token with number and state",
    "F-504": "verify compares behind the first words, and trees instead of texts",
    "F-581": "what the ODBC sqlcmd does at the end of a file: a client's habit, not the server's",
    "F-584": "where tools nobody read cut a script: clients' habits; else it is not rendered",
    "F-593": "a warning of 05_preflight and a list of who is in the way: nothing is decided by either",
    # ------------------------------------------------------------------ conversations and messages
    "F-105": "follows from two pages: each target side has its own group, RECEIVE reads one group",
    "F-111": "-9720 is sent again or dead-lettered: accounted for either way",
    "F-607": "a reader that is killed is searched with its count kept: what is forgotten can only help",
    "F-145": "follows from F-118; F-162 and F-488 say what is done about more readers",
    "F-147": "follows from F-109 and F-122: who has R has K",
    "F-148": "follows from F-122 and documented locks; searched with a drain beside senders",
    "F-150": "follows from F-109 and F-128; F-131 is the switch in it",
    "F-151": "a number proposes a slot, which is locked like any other",
    "F-152": "follows from F-151: who holds the R that is waited for waits for no R",
    "F-153": "sought or scanned is a matter of speed; the order of locks follows from F-109",
    "F-154": "both answers are accounted for",
    "F-161": "not relied on: rows are copied into the table type",
    "F-172": "our views read functions that run as the module user",
    "F-452": "copies are counted by the sender, and none goes for its number alone (F-461)",
    # ------------------------------------------------------------------ locks
    "F-123": "why UPDLOCK and a transaction are there: the text has both",
    "F-127": "follows from F-109, F-120, F-121, F-122 and F-129; every search looks for the cycle (S1)",
    "F-128": "follows from F-109, F-120 and F-122; every search looks for the message behind it (S2)",
    "F-129": "the worse reading is taken: the target touches no row of a sender's caller",
    "F-410": "follows from F-127: it waits holding nothing",
    # ------------------------------------------------------------------ copies
    "F-460": "follows from documented transactions; every search counts each message (S3)",
    "F-461": "a copy that a sender may be writing is met by its whole key only",
    "F-465": "both were tried: dialogs are replaced early, or expire and are sent again (F-460)",
    "F-466": "follows from F-147: number and reason are written in one transaction",
    # ------------------------------------------------------------------ landing
    "F-366": "the sender's side accounts for the message either way",
    "F-367": "follows from F-118 at its worst: every rollback counts",
    "F-473": "follows from F-118 at its worst; F-487 is the switch in it",
    "F-604": "follows from F-118 at its worst; F-277 has the switches in it",
    "F-343": "the worse reading is taken: every rollback counts towards the five",
    "F-342": "a matter of seconds: no promise has a time in it",
    # ------------------------------------------------------------------ upgrades and removal
    "F-190": "our scripts take their own marks away first",
    "F-191": "the return code is asked (F-361): a name that cannot be marked stops the deployment",
    "F-192": "no script of ours issues ALTER AUTHORIZATION",
    "F-193": "a contract is dropped only when no endpoint uses it",
    "F-195": "each table is asked for in an IF of its own",
    "F-360": "an activation is looked up before it is dropped",
    "F-335": "nothing of ours rolls back to a savepoint in there",
    # ------------------------------------------------------------------ operations
    "F-174": "0 and NULL are both a job that never ran, and no outcome of it is asked",
    "F-373": "a matter of size: usp_Resend is bounded by operations.resend_limit",
    "F-489": "an alert that cannot be dropped is named, and the rest is uninstalled",
    "F-500": "how long a reorganize takes: an operator gives it a limit and can stop it",
    "F-501": "where the rights do not reach usp_Health says that this part was not seen",
    "F-502": "follows from F-109 and F-126; tried beside another configuration and a stranger",
    "F-503": "who sends is a service of dbo, who needs no grant; usp_Health names a queue that is off",
    "F-240": "what only the server knows is asked as the caller; master and tempdb are not asked as a user",
    "F-546": "the worse reading is taken: no user of ours is in db_owner but a certificate's",
    "F-391": "purge_data reads what its caller set in the same session, before any transaction",
    "F-293": "every name in our text has its schema",
    "F-253": "usp_QueueTrouble asks the catalog, keeps the body as text and reads nothing in it; it ends no "
    "conversation but one that is over",
    "F-271": "NEW_BROKER is an administrator's; copies are rows of ours and are sent again (F-463)",
    "F-272": "a text that usp_Health shows as it is",
    "F-274": "U and X both let one writer in: a row of LandingAcknowledged",
    "F-275": "the codes of ours are greater than zero",
    # ------------------------------------------------------------------ Spark
    "F-431": "follows from what the pages of rowversion and MIN_ACTIVE_ROWVERSION document",
    "F-470": "docs/callers passes no None",
    # ------------------------------------------------------------------ the stand-in alone
    "F-256": "a service loses a contract only when no endpoint is on it (F-193)",
    "F-257": "a choice of the stand-in: a database in read-only mode",
    "F-280": "a choice of the stand-in: answers to a bulk load that was not announced",
    "F-520": "the stand-in's number; 8144 is a caller's mistake, and the worse reading is taken",
    "F-522": "errors of definitions: a deployment stops at each and takes its transaction back",
    "F-525": "no text of ours reads @@TRANCOUNT inside a data change",
}
"""Why no shipped text rests on it."""

ABSENT: dict[str, str] = {
    "F-117": "WITH LOG",
    "F-204": "CONTEXT_INFO",
    "F-211": "GROUPING SETS",
    "F-213": "CURSOR_STATUS",
    "F-221": "VALID_XML",
    "F-224": "CHECKSUM",
    "F-252": "QUEUE_ACTIVATION",
    "F-267": "GET CONVERSATION GROUP",
    "move_in_dead_state": "MOVE CONVERSATION",
    "snapshot_truncate": "TRUNCATE TABLE",
    "zero_readers_severity": "MAX_QUEUE_READERS = 0",
}
"""Words without which nothing can rest on a fact or a switch; in none of the rendered scripts, or the
reason does not count."""

ASKED: dict[str, str] = {
    "F-333": "does ROLLBACK to a savepoint take back SEND, BEGIN DIALOG and END CONVERSATION?",
}
"""What a server is to be asked of a fact that has no switch yet: the text rests on the answer, or nobody
has shown that it does not."""

TAKES: dict[str, str] = {
    "F-251": "a target in a database of its own lands nothing, and the sender's copies stay "
    "(test_two_databases)",
}
"""What another answer takes away, where it is no promise of a cell."""
