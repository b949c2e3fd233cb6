"""Service Broker: dialogs, queues, delivery, activation. Knows no T-SQL."""

from redial_broker.ssb.broker import Broker
from redial_broker.ssb.queue import Activation, Queue

__all__ = ["Activation", "Broker", "Queue"]
