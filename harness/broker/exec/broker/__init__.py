"""Service Broker statements, compiled to calls of ``harness.broker.ssb``.

Importing the package registers their compilers.
"""

import harness.broker.exec.broker.conversations
import harness.broker.exec.broker.definitions
import harness.broker.exec.broker.endpoints
import harness.broker.exec.broker.notifications
import harness.broker.exec.broker.queues
import harness.broker.exec.broker.receive
import harness.broker.exec.broker.routes  # noqa: F401
