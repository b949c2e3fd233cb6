"""Service Broker: dialogs, queues, delivery, activation. Knows no T-SQL."""

from harness.broker.ssb.broker import Broker
from harness.broker.ssb.queue import Activation, Queue

__all__ = ["Activation", "Broker", "Queue"]
