"""INSERT, UPDATE, DELETE, TRUNCATE TABLE, MERGE and table variables.

Importing the package registers their compilers.
"""

from redial_broker.exec.dml.bulk import PendingBulk, compile_insert_bulk
from redial_broker.exec.dml.delete import compile_delete, compile_truncate
from redial_broker.exec.dml.insert import compile_insert, compile_set_identity_insert
from redial_broker.exec.dml.insert_exec import Capture
from redial_broker.exec.dml.merge import compile_merge
from redial_broker.exec.dml.update import compile_update

__all__ = [
    "Capture",
    "PendingBulk",
    "compile_delete",
    "compile_insert",
    "compile_insert_bulk",
    "compile_merge",
    "compile_set_identity_insert",
    "compile_truncate",
    "compile_update",
]
