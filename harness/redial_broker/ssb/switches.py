"""The switches of Service Broker: what no document settles about conversations and queues.

``value`` is the registry's own, so that a module of this package needs one import.
"""

from __future__ import annotations

from redial_broker.engine.switches import SWITCHES, declare, value

__all__ = ["SWITCHES", "value"]

declare(
    "enqueue_at",
    ("send", "commit"),
    "F-260",
    "A message for a reachable local queue enters it at SEND or when the sender commits.",
    "own_message",
)
declare(
    "broker_names",
    ("binary", "database"),
    "F-376",
    "Collation of the names of services, contracts and message types in catalog views and "
    "queues: Latin1_General_BIN, or the database's.",
)
declare(
    "own_message_visible",
    (True, False),
    "F-260",
    "RECEIVE may take a message its own transaction has sent.",
    "own_message",
)
declare(
    "undone_send_number",
    ("given back", "lost"),
    "F-171",
    "The number of a SEND that ROLLBACK to a savepoint undoes is the next message's again, or "
    "is left out.",
    "number_of_a_copy",
)
declare(
    "error_receiver_state",
    ("ER", "DI"),
    "F-261",
    "State of the endpoint that is told END CONVERSATION WITH ERROR.",
)
declare(
    "state_text",
    ("code", "description"),
    "F-262",
    "Errors 8427, 8429, 8438 and 8458 print DI or DISCONNECTED_INBOUND.",
)
declare(
    "initiator_end_acknowledged",
    ("at once", "never"),
    "F-263",
    "An initiator that ends first in one instance is gone at once, or stays "
    "DISCONNECTED_OUTBOUND until its target has ended too.",
)
declare(
    "fire_and_forget_retention",
    ("30 minutes", "lifetime"),
    "F-106",
    "How long a target's CLOSED row stays when the initiator ended first: security_timestamp "
    "set as usual, or left at 1900 and the row kept until lifetime + 30 minutes.",
)
declare(
    "target_queue_off_status",
    ("engine", "documentation", "undelivered"),
    "F-264",
    "transmission_status for a disabled local queue: message 9617, the text of the "
    "troubleshooting page, or message 28021.",
    "target_queue_off",
)
declare(
    "no_route_status",
    (9750, 9793),
    "F-272",
    "transmission_status when no route matches: the text of message 9750 or of 9793, which "
    "both fit.",
)
declare(
    "retry_delay_s",
    (0, 4),
    "F-264",
    "Seconds between a queue's STATUS = ON and the delivery of what waited for it.",
    "target_queue_off",
)
declare(
    "timer_zero",
    ("error", "now"),
    "F-265",
    "BEGIN CONVERSATION TIMER with TIMEOUT 0 or less: error 8410, or due at once (NULL is an "
    "error anyway).",
)
declare(
    "timer_in_dead_state",
    ("error", "allow"),
    "F-134",
    "BEGIN CONVERSATION TIMER in DI or ER: error 8458, or the timer is set.",
    "timer_on_an_ended_dialog",
)
declare(
    "system_message_sequence",
    (0, -1),
    "F-141",
    "message_sequence_number of DialogTimer and of the broker's own Error rows.",
    "system_message_columns",
)
declare(
    "poison_counts",
    ("queue", "message"),
    "F-118",
    "The five rollbacks in a row are counted per queue or per first message received.",
    "poison_counts",
)
declare(
    "receive_unknown",
    ("error", "empty"),
    "F-266",
    "RECEIVE .. WHERE an unknown handle or group: 8426 and 8436, or an empty set.",
)
declare(
    "get_group_none",
    ("unchanged", "null"),
    "F-267",
    "GET CONVERSATION GROUP without a group leaves its variable or sets it to NULL: text and "
    "examples of its page disagree.",
)
declare("receive_status", (1, 0), "F-268", "Value of the status column in RECEIVE's output.")
declare(
    "receive_order",
    ("oldest", "group"),
    "F-269",
    "RECEIVE without WHERE takes the group whose first message is oldest, or the lowest group "
    "id (the queue's clustered index), which the explorer prefers: it does not depend on the "
    "order in which messages of different conversations arrived.",
)
declare(
    "relaunch",
    ("until empty", "while messages"),
    "F-270",
    "A queue monitor starts the procedure again until a RECEIVE was empty, or only while "
    "there are messages.",
)
declare(
    "new_broker_conversations",
    ("removed", "error"),
    "F-271",
    "NEW_BROKER: two documentation pages disagree; conversations vanish, or each local end is "
    "told by an Error message.",
)
declare(
    "external_activation_timeout_s",
    (5, 60),
    "F-252",
    "How long a queue monitor waits for a RECEIVE before it sends QUEUE_ACTIVATION again; the "
    "page only says that there is a time-out. Decided by the times between the messages that a "
    "notification sends while nobody reads the queue.",
)
declare(
    "notification_after_error",
    ("dropped", "kept"),
    "F-253",
    "An Error message on an event notification's conversation drops the notification, or "
    "leaves it until its next event cannot be sent (17005). Decided by "
    "sys.event_notifications after DROP SERVICE of the target.",
)
declare(
    "certificates_in_instance",
    ("used", "ignored"),
    "F-251",
    "Between two databases of one instance a remote service binding and certificates let a "
    "message in without TRUSTWORTHY, or count for nothing: one page says both.",
)
declare(
    "service_contract_dropped",
    ("unaffected", "error"),
    "F-256",
    "ALTER SERVICE .. DROP CONTRACT leaves conversations on that contract alone, or tells both "
    "ends by an Error message, -8468 and -8469: two sections of its page disagree. Decided by "
    "both queues after the statement.",
)
declare(
    "killed_reader",
    ("stuck", "relaunched"),
    "F-255",
    "An activated task that is killed before its first RECEIVE leaves its queue NOTIFIED like "
    "one whose procedure returns without RECEIVE, or is started again. Decided by "
    "sys.dm_broker_queue_monitors after KILL of such a task.",
)
declare(
    "poisoned_queue_goes_off",
    ("behind readers", "at once"),
    "F-485",
    "Five rollbacks in a row: a background task asks for Sch-M on the queue and waits for every "
    "open RECEIVE and SEND, and later ones wait behind it, or the queue is off at once.",
)
declare(
    "poison_task_without_handling",
    (True, False),
    "F-485",
    "With POISON_MESSAGE_HANDLING OFF that task asks for Sch-M as well and then does nothing, or "
    "there is none.",
    "poisoned_queue_goes_off",
)
declare(
    "send_behind_queue_ddl",
    ("waits", "own queue", "transmits"),
    "F-486",
    "SEND and END while ALTER QUEUE holds Sch-M or waits for it: wait for the queue the message "
    "goes into; only for the queue of the sender's own service, and find another queue busy "
    "(9749, sys.transmission_queue); or never wait.",
)
declare(
    "poison_reset",
    ("commit", "never"),
    "F-118",
    "A transaction that receives and commits sets the count of rollbacks back, or only "
    "altering the queue does.",
    "rollbacks_that_switch_a_queue_off",
)
declare(
    "move_in_dead_state",
    ("allow", "error"),
    "F-134",
    "MOVE CONVERSATION in DI or ER: done, or error 8438.",
)
declare(
    "end_error_code_number",
    (8419, 8424),
    "F-275",
    "Error of END CONVERSATION WITH ERROR = 0 or less; the page only says greater than zero.",
)
declare(
    "end_keeps_pending",
    (True, False),
    "F-108",
    "Plain END lets what still waits in sys.transmission_queue go first, or drops it.",
)
declare(
    "end_over_open_send",
    ("deletes", "waits", "leaves", "fails"),
    "F-455",
    "END CONVERSATION, in any form, of a side whose queue holds rows of another, still open "
    "transaction: does not wait, and they are gone when both have committed; waits for that "
    "transaction (a row lock); leaves them, so that they can be received from a conversation "
    "that is over; or error 1222.",
)
declare(
    "send_over_open_end",
    ("enqueues", "waits", "transmits"),
    "F-456",
    "SEND while the other side's END is not committed: into the queue, where that END deletes "
    "it; waits for that transaction; or into sys.transmission_queue with status 9749.",
)
declare(
    "expiry_waits_for_sender",
    (False, True),
    "F-457",
    "LIFETIME passes while a transaction that has sent on the dialog is open: its Error "
    "messages come at once, or when that transaction has ended.",
)
declare(
    "error_body_bom",
    (True, False),
    "F-276",
    "Bodies of Error messages begin with a byte order mark.",
)
declare(
    "error_text_characters",
    ("as given", "reference"),
    "F-276",
    "A character of END .. DESCRIPTION that XML may not hold (0x01, half a surrogate pair) stands "
    "in the Error message as it was given, or as &#x1; does. Either way it is no XML.",
)
declare(
    "group_lock_timeout",
    ("1222", "waits"),
    "F-277",
    "SET LOCK_TIMEOUT is heeded when a verb waits for a conversation group, or not.",
)
declare(
    "system_queuing_order",
    ("next", "zero"),
    "F-141",
    "queuing_order of DialogTimer and broker Error rows.",
    "system_message_columns",
)
declare(
    "timer_while_off",
    ("waits", "lost"),
    "F-265",
    "A conversation timer that comes due while its queue or broker is off rings when it is on "
    "again, or never.",
)
declare(
    "zero_readers_severity",
    (10, 16),
    "F-278",
    "Message 9648 (activation with MAX_QUEUE_READERS = 0): a warning, or an error; the list "
    "says severity 20, which would end the connection.",
)
declare(
    "missing_activation_procedure",
    ("error", "allow"),
    "F-292",
    "ACTIVATION (PROCEDURE_NAME = ..) of a procedure that is not there: error 9614, or taken "
    "and looked for at each activation. Decided by ALTER QUEUE naming one.",
)
declare(
    "text_outside_of_elements",
    ("refused", "accepted"),
    "F-244",
    "VALIDATION = WELL_FORMED_XML refuses text beside or without elements, or takes it as the "
    "xml type does.",
)
