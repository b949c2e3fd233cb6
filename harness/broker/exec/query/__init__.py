"""SELECT: binding of names, access paths, joins, grouping, windows, ordering, results.

Importing the package registers the compiler of SELECT.
"""

from harness.broker.exec.ddl.definition import table_definition
from harness.broker.exec.ddl.shape import TableDefinition
from harness.broker.exec.query.statement import compile_select, explain

__all__ = ["TableDefinition", "compile_select", "explain", "table_definition"]
