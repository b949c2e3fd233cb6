"""Importing this registers every statement compiler."""

import redial_broker.exec.broker
import redial_broker.exec.configuration
import redial_broker.exec.control
import redial_broker.exec.cursors
import redial_broker.exec.dbcc
import redial_broker.exec.ddl
import redial_broker.exec.dml
import redial_broker.exec.execute
import redial_broker.exec.flow
import redial_broker.exec.query
import redial_broker.exec.sequences  # noqa: F401
