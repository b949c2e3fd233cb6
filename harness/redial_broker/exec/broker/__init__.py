"""Service Broker statements, compiled to calls of ``redial_broker.ssb``.

Importing the package registers their compilers.
"""

import redial_broker.exec.broker.conversations
import redial_broker.exec.broker.definitions
import redial_broker.exec.broker.endpoints
import redial_broker.exec.broker.notifications
import redial_broker.exec.broker.queues
import redial_broker.exec.broker.receive
import redial_broker.exec.broker.routes  # noqa: F401
