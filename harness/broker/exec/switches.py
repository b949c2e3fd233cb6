"""The switches of the executor: what no document settles about statements, errors and rights."""

from __future__ import annotations

from harness.broker.engine.switches import declare, value

__all__ = ["value"]

declare("bad_optimizer", (False, True), "F-121",
        "The optimizer scans wherever no hint forbids it: not a fact but a plan nobody can rule "
        "out.", "plan_of_a_small_table")
declare("ownership_chain_over_broker_verbs", (True, False), "F-112",
        "A module's owner who also owns queue and service covers SEND and RECEIVE inside it.")
