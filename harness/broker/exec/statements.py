"""Importing this registers every statement compiler."""

import harness.broker.exec.broker
import harness.broker.exec.configuration
import harness.broker.exec.control
import harness.broker.exec.cursors
import harness.broker.exec.dbcc
import harness.broker.exec.ddl
import harness.broker.exec.dml
import harness.broker.exec.execute
import harness.broker.exec.flow
import harness.broker.exec.query
import harness.broker.exec.sequences  # noqa: F401
