"""Messages of queries, data changes and cursors by number; ``messages.MESSAGES`` includes them.

Texts are those of the errors-events pages.
"""

from __future__ import annotations

QUERY_MESSAGES: dict[int, tuple[int, str]] = {
    104: (
        15,
        "ORDER BY items must appear in the select list if the statement contains a UNION, "
        "INTERSECT or EXCEPT operator.",
    ),
    286: (16, "The logical tables INSERTED and DELETED cannot be updated."),
    313: (
        16,
        "An insufficient number of arguments were supplied for the procedure or function %s.",
    ),
    443: (16, "Invalid use of a side-effecting operator '%s' within a function."),
    444: (16, "Select statements included within a function cannot return data to a client."),
    455: (16, "The last statement included within a function must be a return statement."),
    557: (
        16,
        "Only functions and some extended stored procedures can be executed from within a "
        "function.",
    ),
    11719: (
        15,
        "NEXT VALUE FOR function is not allowed in check constraints, default objects, "
        "computed columns, views, user-defined functions, user-defined aggregates, "
        "user-defined table types, sub-queries, common table expressions, derived "
        "tables or return statements.",
    ),
    11720: (
        15,
        "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, "
        "HAVING, or ORDER BY clauses.",
    ),
    11721: (
        15,
        "NEXT VALUE FOR function cannot be used directly in a statement that uses a DISTINCT, "
        "UNION, UNION ALL, EXCEPT or INTERSECT operator.",
    ),
    11723: (
        15,
        "NEXT VALUE FOR function cannot be used directly in a statement that contains an "
        "ORDER BY clause unless the OVER clause is specified.",
    ),
    11741: (
        15,
        "NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, IIF, ISNULL and "
        "NULLIF.",
    ),
    11728: (
        16,
        "The sequence object '%s' has reached its minimum or maximum value. Restart the "
        "sequence object to allow new values to be generated.",
    ),
    331: (16, "The target table '%s' of the OUTPUT INTO clause cannot have any enabled triggers."),
    2103: (
        15,
        "Cannot %s trigger '%s' because its schema is different from the schema of the "
        "target table or view.",
    ),
    2108: (16, "Cannot create trigger on '%s' as the target is not in the current database."),
    2111: (
        16,
        "Cannot %s trigger '%s' on %s '%s' because an INSTEAD OF %s trigger already exists "
        "on this object.",
    ),
    8197: (16, "The object '%s' does not exist or is invalid for this operation."),
    107: (
        15,
        "The column prefix '%s' does not match with a table name or alias name used in the query.",
    ),
    108: (
        15,
        "The ORDER BY position number %d is out of range of the number of items in the "
        "select list.",
    ),
    109: (
        15,
        "There are more columns in the INSERT statement than values specified in the VALUES "
        "clause. The number of values in the VALUES clause must match the number of columns "
        "specified in the INSERT statement.",
    ),
    110: (
        15,
        "There are fewer columns in the INSERT statement than values specified in the VALUES "
        "clause. The number of values in the VALUES clause must match the number of columns "
        "specified in the INSERT statement.",
    ),
    120: (
        15,
        "The select list for the INSERT statement contains fewer items than the insert list. "
        "The number of SELECT values must match the number of INSERT columns.",
    ),
    121: (
        15,
        "The select list for the INSERT statement contains more items than the insert list. "
        "The number of SELECT values must match the number of INSERT columns.",
    ),
    130: (
        16,
        "Cannot perform an aggregate function on an expression containing an aggregate or a "
        "subquery.",
    ),
    141: (
        15,
        "A SELECT statement that assigns a value to a variable must not be combined with "
        "data-retrieval operations.",
    ),
    127: (15, "A TOP N or FETCH rowcount value may not be negative."),
    144: (
        15,
        "Cannot use an aggregate or a subquery in an expression used for the group by list of a "
        "GROUP BY clause.",
    ),
    169: (
        15,
        "A column has been specified more than once in the order by list. Columns in the order by "
        "list must be unique.",
    ),
    306: (
        16,
        "The text, ntext, and image data types cannot be compared or sorted, except when using IS "
        "NULL or LIKE operator.",
    ),
    421: (16, "The %s data type cannot be selected as DISTINCT because it is not comparable."),
    1008: (
        15,
        "The SELECT item identified by the ORDER BY number %d contains a variable as part of the "
        "expression identifying a column position. Variables are only allowed when ordering by "
        "an expression referencing a column name.",
    ),
    1014: (15, "A TOP or FETCH clause contains an invalid value."),
    162: (15, "Invalid expression in a TOP or OFFSET clause."),
    4115: (
        15,
        'The reference to column "%s" is not allowed in an argument to a TOP, OFFSET, or FETCH '
        "clause. Only references to columns at an outer scope or standalone expressions and "
        "subqueries are allowed here.",
    ),
    279: (
        16,
        "The text, ntext, and image data types are invalid in this subquery or aggregate "
        "expression.",
    ),
    507: (16, "Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer."),
    4148: (16, "XML methods are not allowed in a GROUP BY clause."),
    5335: (
        16,
        "The data type %s cannot be used as an operand to the UNION, INTERSECT or EXCEPT operators "
        "because it is not comparable.",
    ),
    8121: (
        16,
        "Column '%s' is invalid in the HAVING clause because it is not contained in either an "
        "aggregate function or the GROUP BY clause.",
    ),
    8127: (
        16,
        'Column "%s" is invalid in the ORDER BY clause because it is not contained in either an '
        "aggregate function or the GROUP BY clause.",
    ),
    10743: (15, "The number of rows provided for a OFFSET clause must be an integer."),
    145: (15, "ORDER BY items must appear in the select list if SELECT DISTINCT is specified."),
    164: (
        15,
        "Each GROUP BY expression must contain at least one column that is not an outer reference.",
    ),
    205: (
        16,
        "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal "
        "number of expressions in their target lists.",
    ),
    240: (
        16,
        'Types don\'t match between the anchor and the recursive part in column "%s" of '
        'recursive query "%s".',
    ),
    246: (16, 'No anchor member was specified for recursive query "%s".'),
    247: (16, 'An anchor member was found in the recursive part of recursive query "%s".'),
    252: (
        16,
        "Recursive common table expression '%s' does not contain a top-level UNION ALL operator.",
    ),
    253: (
        16,
        "Recursive member of a common table expression '%s' has multiple recursive references.",
    ),
    310: (
        15,
        "The value %d specified for the MAXRECURSION option exceeds the allowed maximum of %d.",
    ),
    346: (
        15,
        'The parameter "%s" can not be declared READONLY since it is not a table-valued parameter.',
    ),
    347: (16, 'The table-valued parameter "%s" cannot be declared as an OUTPUT parameter.'),
    348: (
        16,
        'The table variable "%s" can not be passed to a stored procedure with the OUTPUT option.',
    ),
    352: (
        15,
        'The table-valued parameter "%s" must be declared with the READONLY option.',
    ),
    10700: (16, 'The table-valued parameter "%s" is READONLY and cannot be modified.'),
    460: (
        16,
        "DISTINCT operator is not allowed in the recursive part of a recursive common table "
        "expression '%s'.",
    ),
    461: (
        16,
        "The TOP or OFFSET operator is not allowed in the recursive part of a recursive common "
        "table expression '%s'.",
    ),
    462: (
        16,
        "Outer join is not allowed in the recursive part of a recursive common table "
        "expression '%s'.",
    ),
    465: (16, "Recursive references are not allowed in subqueries."),
    466: (
        16,
        "UNION operator is not allowed in the recursive part of a recursive common table "
        "expression '%s'.",
    ),
    467: (
        16,
        "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a "
        "recursive common table expression '%s'.",
    ),
    4150: (
        16,
        "Hints are not allowed on recursive common table expression (CTE) references. Consider "
        "removing hint from recursive CTE reference '%s'.",
    ),
    4190: (
        16,
        "PIVOT operator is not allowed in the recursive part of a recursive common table "
        "expression '%s'.",
    ),
    239: (16, "Duplicate common table expression name '%s' was specified."),
    263: (16, "Must specify table to select from."),
    264: (
        16,
        "The column name '%s' is specified more than once in the SET clause or column list "
        "of an INSERT. A column cannot be assigned more than one value in the same clause.",
    ),
    272: (16, "Cannot update a timestamp column."),
    273: (
        16,
        "Cannot insert an explicit value into a timestamp column. Use INSERT with a column "
        "list to exclude the timestamp column, or insert a DEFAULT into the timestamp "
        "column.",
    ),
    307: (16, "Index ID %d on table '%s' (specified in the FROM clause) does not exist."),
    308: (16, "Index '%s' on table '%s' (specified in the FROM clause) does not exist."),
    408: (16, "A constant expression was encountered in the ORDER BY list, position %d."),
    530: (
        16,
        "The statement terminated. The maximum recursion %d has been exhausted before "
        "statement completion.",
    ),
    545: (
        16,
        "Explicit value must be specified for identity column in table '%s' either when "
        "IDENTITY_INSERT is set to ON or when a replication user is inserting into a NOT FOR "
        "REPLICATION identity column.",
    ),
    1011: (16, "The correlation name '%s' is specified multiple times in a FROM clause."),
    1013: (
        16,
        'The objects "%s" and "%s" in the FROM clause have the same exposed names. Use '
        "correlation names to distinguish them.",
    ),
    1047: (15, "Conflicting locking hints specified."),
    1048: (15, "Conflicting cursor options %s and %s."),
    1060: (
        15,
        "The number of rows provided for a TOP or FETCH clauses row count parameter must be "
        "an integer.",
    ),
    1062: (
        16,
        "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.",
    ),
    1065: (
        15,
        "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of "
        "INSERT, UPDATE, DELETE or MERGE statements.",
    ),
    1069: (16, "Index hints are only allowed in a FROM or OPTION clause."),
    1087: (15, 'Must declare the table variable "%s".'),
    3915: (16, "Cannot use the ROLLBACK statement within an INSERT-EXEC statement."),
    4102: (
        15,
        "The READPAST lock hint is only allowed on target tables of UPDATE and DELETE and "
        "on tables specified in an explicit FROM clause.",
    ),
    4112: (16, "The function '%s' must have an OVER clause with ORDER BY."),
    4140: (
        16,
        "The READCOMMITTEDLOCK lock hint is not allowed on the target table of an INSERT "
        "statement.",
    ),
    6809: (
        16,
        "Unnamed tables cannot be used as XML identifiers as well as unnamed columns cannot "
        "be used for attribute names. Name unnamed columns/tables using AS in the SELECT "
        "statement.",
    ),
    6852: (
        16,
        "Attribute-centric column '%s' must not come after a non-attribute-centric sibling "
        "in XML hierarchy in FOR XML PATH.",
    ),
    6864: (
        16,
        "Row tag omission (empty row tag name) cannot be used with attribute-centric FOR "
        "XML serialization.",
    ),
    8101: (
        16,
        "An explicit value for the identity column in table '%s' can only be specified when "
        "a column list is used and IDENTITY_INSERT is ON.",
    ),
    8102: (16, "Cannot update identity column '%s'."),
    8106: (16, "Table '%s' does not have the identity property. Cannot perform SET operation."),
    8107: (
        16,
        "IDENTITY_INSERT is already ON for table '%s.%s.%s'. Cannot perform SET operation "
        "for table '%s'.",
    ),
    8120: (
        16,
        "Column '%s' is invalid in the select list because it is not contained in either an "
        "aggregate function or the GROUP BY clause.",
    ),
    8124: (
        16,
        "Multiple columns are specified in an aggregated expression containing an outer reference. If an "
        "expression being aggregated contains an outer reference, then that outer reference must be the "
        "only column referenced in the expression.",
    ),
    8154: (15, "The table '%s' is ambiguous."),
    8155: (16, "No column name was specified for column %d of '%s'."),
    8158: (16, "'%s' has more columns than were specified in the column list."),
    8159: (16, "'%s' has fewer columns than were specified in the column list."),
    8164: (16, "An INSERT EXEC statement cannot be nested."),
    8153: (10, "Warning: Null value is eliminated by an aggregate or other SET operation."),
    8622: (
        16,
        "Query processor could not produce a query plan because of the hints defined in "
        "this query. Resubmit the query without specifying any hints and without using SET "
        "FORCEPLAN.",
    ),
    8625: (
        10,
        "Warning: The join order has been enforced because a local join hint is used.",
    ),
    8672: (
        16,
        "The MERGE statement attempted to UPDATE or DELETE the same row more than once. "
        "This happens when a target row matches more than one source row. A MERGE statement "
        "cannot UPDATE/DELETE the same row of the target table multiple times. Refine the "
        "ON clause to ensure a target row matches at most one source row, or use the GROUP "
        "BY clause to group the source rows.",
    ),
    9829: (
        16,
        "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to "
        "avoid result truncation.",
    ),
    10709: (
        16,
        "The number of columns for each row in a table value constructor must be the same.",
    ),
    10741: (15, "A TOP can not be used in the same query or sub-query as a OFFSET."),
    10752: (15, "The function '%s' may not have a window frame."),
    16905: (16, "The cursor is already open."),
    16911: (16, "%s: The fetch type %s cannot be used with forward only cursors."),
    16915: (16, "A cursor with the name '%s' already exists."),
    16916: (16, "A cursor with the name '%s' does not exist."),
    16917: (16, "Cursor is not open."),
    16924: (
        16,
        "Cursorfetch: The number of variables declared in the INTO list must match that of "
        "selected columns.",
    ),
    16925: (16, "The fetch type %s cannot be used with dynamic cursors."),
    16950: (16, "The variable '%s' does not currently have a cursor allocated to it."),
}
