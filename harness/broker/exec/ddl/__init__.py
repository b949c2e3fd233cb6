"""Statements that define things: tables, indexes, types, modules, databases, principals.

Importing the package registers their compilers.
"""

import harness.broker.exec.ddl.alter_table
import harness.broker.exec.ddl.authorization
import harness.broker.exec.ddl.certificates
import harness.broker.exec.ddl.constraints
import harness.broker.exec.ddl.databases
import harness.broker.exec.ddl.dbcc
import harness.broker.exec.ddl.ddl_triggers
import harness.broker.exec.ddl.drop
import harness.broker.exec.ddl.indexes
import harness.broker.exec.ddl.logins
import harness.broker.exec.ddl.master_keys
import harness.broker.exec.ddl.modules
import harness.broker.exec.ddl.permissions
import harness.broker.exec.ddl.principals
import harness.broker.exec.ddl.signatures
import harness.broker.exec.ddl.statistics
import harness.broker.exec.ddl.synonyms
import harness.broker.exec.ddl.tables
import harness.broker.exec.ddl.triggers
import harness.broker.exec.ddl.types
import harness.broker.exec.ddl.xml_schemas  # noqa: F401
