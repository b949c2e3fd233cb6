"""What no document settles and this package must decide: each a named option of the engine.

``value(engine, name)`` reads one; ``SWITCHES`` lists them for the coverage page and for the
explorer, which varies them. A probe on a real server settles them one day.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.broker.engine.kernel import Engine


@dataclass(frozen=True, slots=True)
class Switch:
    """One undecided fact. values[0] is the default; question: number in the list of open ones."""

    name: str
    values: tuple[Any, ...]
    question: int
    meaning: str


_ALL = (
    Switch("enqueue_at", ("send", "commit"), 5,
           "A message for a reachable local queue enters it at SEND or when the sender commits."),
    Switch("own_message_visible", (True, False), 5,
           "RECEIVE may take a message its own transaction has sent."),
    Switch("error_receiver_state", ("ER", "DI"), 1,
           "State of the endpoint that is told END CONVERSATION WITH ERROR."),
    Switch("state_text", ("code", "description"), 2,
           "Errors 8427, 8429, 8438 and 8458 print DI or DISCONNECTED_INBOUND."),
    Switch("initiator_end_acknowledged", ("at once", "never"), 3,
           "An initiator that ends first in one instance is gone at once, or stays "
           "DISCONNECTED_OUTBOUND until its target has ended too."),
    Switch("fire_and_forget_retention", ("30 minutes", "lifetime"), 3,
           "How long a target's CLOSED row stays when the initiator ended first: security_"
           "timestamp set as usual, or left at 1900 and the row kept until lifetime + 30 minutes."),
    Switch("target_queue_off_status", ("engine", "documentation"), 4,
           "transmission_status for a disabled local queue: message 9617, or the text of the "
           "troubleshooting page."),
    Switch("no_route_status", (9750, 9793), 0,
           "transmission_status when no route matches: the text of message 9750 or of 9793, which "
           "both fit. Decided by reading sys.transmission_queue after a SEND to an unknown service "
           "in a database without AutoCreatedLocal."),
    Switch("retry_delay_s", (0, 4), 4,
           "Seconds between a queue's STATUS = ON and the delivery of what waited for it."),
    Switch("timer_zero", ("error", "now"), 6,
           "BEGIN CONVERSATION TIMER with TIMEOUT 0 or less, or NULL: error 8410, or due at once "
           "(NULL is an error anyway)."),
    Switch("timer_in_dead_state", ("error", "allow"), 6,
           "BEGIN CONVERSATION TIMER in DI or ER: error 8458, or the timer is set."),
    Switch("system_message_sequence", (0, -1), 7,
           "message_sequence_number of DialogTimer and of the broker's own Error rows."),
    Switch("poison_counts", ("queue", "message"), 8,
           "The five rollbacks in a row are counted per queue or per first message received."),
    Switch("receive_unknown", ("error", "empty"), 10,
           "RECEIVE .. WHERE an unknown handle or group: 8426 and 8436, or an empty set."),
    Switch("get_group_none", ("unchanged", "null"), 0,
           "GET CONVERSATION GROUP without a group leaves its variable or sets it to NULL: text "
           "and examples of its page disagree."),
    Switch("receive_status", (1, 0), 14, "Value of the status column in RECEIVE's output."),
    Switch("receive_order", ("oldest", "group"), 0,
           "RECEIVE without WHERE takes the group whose first message is oldest, or the lowest "
           "group id (the queue's clustered index), which the explorer prefers: it does not depend "
           "on the order in which messages of different conversations arrived."),
    Switch("relaunch", ("until empty", "while messages"), 0,
           "A queue monitor starts the procedure again until a RECEIVE was empty, or only while "
           "there are messages."),
    Switch("new_broker_conversations", ("removed", "error"), 0,
           "NEW_BROKER: two documentation pages disagree; conversations vanish, or each local end "
           "is told by an Error message."),
)

SWITCHES: dict[str, Switch] = {switch.name: switch for switch in _ALL}


def value(engine: Engine, name: str) -> Any:
    """The value of a switch: as the instance was given it, else the default."""
    return engine.switches.get(name, SWITCHES[name].values[0])
