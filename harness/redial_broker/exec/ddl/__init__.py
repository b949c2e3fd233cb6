"""Statements that define things: tables, indexes, types, modules, databases, principals.

Importing the package registers their compilers.
"""

import redial_broker.exec.ddl.alter_table
import redial_broker.exec.ddl.authorization
import redial_broker.exec.ddl.certificates
import redial_broker.exec.ddl.constraints
import redial_broker.exec.ddl.databases
import redial_broker.exec.ddl.dbcc
import redial_broker.exec.ddl.ddl_triggers
import redial_broker.exec.ddl.drop
import redial_broker.exec.ddl.indexes
import redial_broker.exec.ddl.logins
import redial_broker.exec.ddl.master_keys
import redial_broker.exec.ddl.modules
import redial_broker.exec.ddl.permissions
import redial_broker.exec.ddl.principals
import redial_broker.exec.ddl.signatures
import redial_broker.exec.ddl.statistics
import redial_broker.exec.ddl.synonyms
import redial_broker.exec.ddl.tables
import redial_broker.exec.ddl.triggers
import redial_broker.exec.ddl.types
import redial_broker.exec.ddl.xml_schemas  # noqa: F401
