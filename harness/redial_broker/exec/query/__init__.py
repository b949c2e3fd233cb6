"""SELECT: binding of names, access paths, joins, grouping, windows, ordering, results.

Importing the package registers the compiler of SELECT.
"""

from redial_broker.exec.ddl.definition import table_definition
from redial_broker.exec.ddl.shape import TableDefinition
from redial_broker.exec.query.statement import compile_select, explain

__all__ = ["TableDefinition", "compile_select", "explain", "table_definition"]
