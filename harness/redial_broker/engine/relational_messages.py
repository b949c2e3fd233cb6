"""Messages of MERGE, views, cursors, grouping and windows; ``query_messages`` includes them.

Texts are those of the errors-events pages; %S_MSG parts are written out where only one fits.
"""

from __future__ import annotations

RELATIONAL_MESSAGES: dict[int, tuple[int, str]] = {
    355: (
        16,
        "The target table '%s' of the INSERT statement cannot have any enabled triggers when "
        "the FROM clause contains a nested INSERT, UPDATE, DELETE, or MERGE statement.",
    ),
    550: (
        16,
        "The attempted insert or update failed because the target view either specifies WITH "
        "CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows "
        "resulting from the operation did not qualify under the CHECK OPTION constraint.",
    ),
    1031: (15, "Percent values must be between 0 and 100."),
    3916: (
        16,
        "Cannot use the COMMIT statement within an INSERT-EXEC statement unless BEGIN "
        "TRANSACTION is used first.",
    ),
    4109: (
        15,
        "Windowed functions cannot be used in the context of another windowed function or "
        "aggregate.",
    ),
    4113: (
        16,
        "The function '%s' is not a valid windowing function, and cannot be used with the "
        "OVER clause.",
    ),
    4138: (
        16,
        'Conflicting locking hints are specified for table "%s". This may be caused by a '
        "conflicting hint specified for a view.",
    ),
    4186: (
        16,
        "Column '%s.%s' cannot be referenced in the OUTPUT clause because the column "
        "definition contains a subquery or references a function that performs user or "
        "system data access. A function is assumed by default to perform data access if "
        "it is not schemabound. Consider removing the subquery or function from the column "
        "definition or removing the column from the OUTPUT clause.",
    ),
    4193: (16, "'%s' is not a valid window frame and cannot be used with the OVER clause."),
    4194: (15, "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters."),
    4195: (
        16,
        'The reference to column "%s" is not allowed in an argument to the NTILE '
        "function. Only references to columns at an outer scope or standalone expressions "
        "and subqueries are allowed here.",
    ),
    4199: (16, "Argument value %d is invalid for argument %d of %s function."),
    4196: (
        16,
        "Column '%s.%s' cannot be referenced in the OUTPUT clause because the column "
        "definition contains an expression using a window function.",
    ),
    4403: (
        16,
        "Cannot update the view or function '%s' because it contains aggregates, or a "
        "DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator.",
    ),
    4405: (
        16,
        "View or function '%s' is not updatable because the modification affects multiple "
        "base tables.",
    ),
    4406: (
        16,
        "Update or insert of view or function '%s' failed because it contains a derived or "
        "constant field.",
    ),
    4413: (16, "Could not use view or function '%s' because of binding errors."),
    15165: (16, "Could not find object '%s' or you do not have permission."),
    4418: (
        16,
        "Derived table '%s' is not updatable because it contains aggregates, or a DISTINCT "
        "or GROUP BY clause, or PIVOT or UNPIVOT operator.",
    ),
    4420: (
        16,
        "Derived table '%s' is not updatable because the modification affects multiple base "
        "tables.",
    ),
    4421: (
        16,
        "Derived table '%s' is not updatable because a column of the derived table is "
        "derived or constant.",
    ),
    4422: (
        16,
        "View '%s' has an INSTEAD OF UPDATE trigger and cannot be a target of an UPDATE "
        "FROM statement.",
    ),
    4423: (
        16,
        "View '%s' has an INSTEAD OF DELETE trigger and cannot be a target of a DELETE FROM "
        "statement.",
    ),
    4426: (16, "View '%s' is not updatable because the definition contains a UNION operator."),
    4427: (
        16,
        'Cannot update the view "%s" because it or a view it references was created with '
        "WITH CHECK OPTION and its definition contains a TOP or OFFSET clause.",
    ),
    177: (
        15,
        "The IDENTITY function can only be used when the SELECT statement has an INTO clause.",
    ),
    8108: (
        16,
        "Cannot add identity column, using the SELECT INTO statement, to table '%s', which "
        "already has column '%s' that inherits the identity property.",
    ),
    265: (
        16,
        'The column name "%s" specified in the %s operator conflicts with the existing '
        "column name in the %s argument.",
    ),
    8156: (16, "The column '%s' was specified multiple times for '%s'."),
    8161: (
        16,
        "Argument %d of the %s function does not match any of the expressions in the GROUP "
        "BY clause.",
    ),
    8167: (
        16,
        'The type of column "%s" conflicts with the type of other columns specified in '
        "the UNPIVOT list.",
    ),
    16931: (16, "There are no rows in the current fetch buffer."),
    16932: (
        16,
        "The cursor has a FOR UPDATE list and the requested column to be updated is not in "
        "this list.",
    ),
    16933: (
        16,
        "The cursor does not include the table being modified or the table is not "
        "updatable through the cursor.",
    ),
    16943: (
        16,
        "Could not complete cursor operation because the table schema changed after the "
        "cursor was declared.",
    ),
    16947: (16, "No rows were updated or deleted."),
    16949: (
        16,
        "The variable '%s' is a cursor variable, but it is used in a place where a cursor "
        "variable is not valid.",
    ),
    16951: (
        16,
        "The variable '%s' cannot be used as a parameter because a CURSOR OUTPUT parameter "
        "must not have a cursor allocated to it before execution of the procedure.",
    ),
    16957: (16, "FOR UPDATE cannot be specified on a READ ONLY cursor."),
    10703: (15, "Too many grouping sets. The maximum number is %d."),
    8171: (16, "Hint '%s' on object '%s' is invalid."),
    1054: (16, "Syntax '%s' is not allowed in schema-bound objects."),
    4429: (
        16,
        "View or function '%s' contains a self-reference. Views or functions cannot "
        "reference themselves directly or indirectly.",
    ),
    4502: (16, "View or function '%s' has more column names specified than columns defined."),
    4506: (
        16,
        "Column names in each view or function must be unique. Column name '%s' in view or "
        "function '%s' is specified more than once.",
    ),
    4508: (
        16,
        "Views or functions are not allowed on temporary tables. Table names that begin "
        "with '#' denote temporary tables.",
    ),
    4511: (
        16,
        "Create View or Function failed because no column name was specified for column %d.",
    ),
    4514: (
        16,
        "CREATE FUNCTION failed because a column name is not specified for column %d.",
    ),
    4512: (
        16,
        "Cannot schema bind %s '%s' because name '%s' is invalid for schema binding. Names "
        "must be in two-part format and an object cannot reference itself.",
    ),
    4513: (16, "Cannot schema bind %s '%s'. '%s' is not schema bound."),
    5308: (
        16,
        "Windowed functions, aggregates and NEXT VALUE FOR functions do not support integer "
        "indices as ORDER BY clause expressions.",
    ),
    5309: (
        16,
        "Windowed functions, aggregates and NEXT VALUE FOR functions do not support "
        "constants as ORDER BY clause expressions.",
    ),
    5316: (
        16,
        "The target '%s' of the MERGE statement has an INSTEAD OF trigger on some, but not "
        "all, of the actions specified in the MERGE statement. In a MERGE statement, if "
        "any action has an enabled INSTEAD OF trigger on the target, then all actions must "
        "have enabled INSTEAD OF triggers.",
    ),
    5318: (
        16,
        "In a MERGE statement, the source and target cannot have the same name or alias. "
        "Use different aliases for the source and target to ensure that they have unique "
        "names in the MERGE statement.",
    ),
    5319: (16, "Aggregates are not allowed in a WHEN clause of a MERGE statement."),
    5324: (
        15,
        "In a MERGE statement, a '%s' clause with a search condition cannot appear after a "
        "'%s' clause with no search condition.",
    ),
    5333: (
        16,
        "The identifier '%s' cannot be bound. Only source columns and columns in the clause "
        "scope are allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement.",
    ),
    5334: (
        16,
        "The identifier '%s' cannot be bound. Only target columns and columns in the clause "
        "scope are allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE "
        "statement.",
    ),
    10705: (15, "Subqueries are not allowed in the OUTPUT clause."),
    10714: (
        15,
        "An action of type '%s' cannot appear more than once in a '%s' clause of a MERGE "
        "statement.",
    ),
    8730: (16, "Offset parameter for Lag and Lead functions cannot be a negative value."),
    10751: (
        15,
        "The ORDER BY in WITHIN GROUP clause of '%s' function must have exactly one expression.",
    ),
    10753: (15, "The function '%s' must have an OVER clause."),
    10754: (15, "The function '%s' must have a WITHIN GROUP clause."),
    10755: (15, "The function '%s' takes between %d and %d arguments."),
    10756: (15, "Window frame with ROWS or RANGE must have an ORDER BY clause."),
    10757: (15, "The function '%s' may not have a WITHIN GROUP clause."),
    10758: (15, "The function '%s' may not have ORDER BY in OVER clause."),
    10759: (15, "Use of DISTINCT is not allowed with the OVER clause."),
    10742: (15, "The offset specified in a OFFSET clause may not be negative."),
    10744: (15, "The number of rows provided for a FETCH clause must be greater then zero."),
    10715: (15, "'%s' is not a valid hint."),
    10724: (
        15,
        "The FORCESEEK hint is not allowed for target tables of INSERT, UPDATE, or DELETE "
        "statements.",
    ),
    10745: (
        15,
        "The FORCESCAN hint is not allowed for target tables of INSERT, UPDATE, or DELETE "
        "statements.",
    ),
    10746: (
        15,
        "The FORCESCAN hint is specified simultaneously with the FORCESEEK hint. Remove "
        "one of the hints and resubmit the query.",
    ),
    10747: (
        15,
        "The parameterized FORCESEEK hint cannot be simultaneously used with INDEX hints "
        "or a non-parameterized FORCESEEK hint on the same object. Use either INDEX hints "
        "and a non-parameterized FORCESEEK hint or use a parameterized FORCESEEK hint "
        "without INDEX hints for each table or view.",
    ),
    10748: (
        15,
        "There are multiple FORCESEEK hints specified on the same table or view. Remove "
        "the extra FORCESEEK hints and resubmit the query.",
    ),
    10716: (15, "A nested INSERT, UPDATE, DELETE, or MERGE statement must have an OUTPUT clause."),
    10718: (
        15,
        "Query hints are not allowed in nested INSERT, UPDATE, DELETE, or MERGE statements.",
    ),
    10720: (
        15,
        "An OUTPUT INTO clause is not allowed in a nested INSERT, UPDATE, DELETE, or MERGE "
        "statement.",
    ),
    10721: (
        15,
        "The WHERE CURRENT OF clause is not allowed in a nested INSERT, UPDATE, DELETE, or "
        "MERGE statement.",
    ),
    10727: (
        15,
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side "
        "of a JOIN or APPLY operator.",
    ),
    10729: (
        15,
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in a SELECT "
        "statement that is not the immediate source of rows for an INSERT statement.",
    ),
    10732: (
        15,
        "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed on either side "
        "of a UNION, INTERSECT, or EXCEPT operator.",
    ),
    10734: (
        16,
        "Variable assignment is not allowed in a statement containing a top level UNION, "
        "INTERSECT or EXCEPT operator.",
    ),
    10738: (
        15,
        "The number of row value expressions in the INSERT statement exceeds the maximum "
        "allowed number of %d row values.",
    ),
    10723: (
        15,
        "In a MERGE statement, a variable cannot be set to a column and expression in the "
        "same assignment in the SET clause of an UPDATE action. Assignments of the form "
        "'SET @variable = column = expression' are not valid in the SET clause of an "
        "UPDATE action in a MERGE statement. Modify the SET clause to only specify "
        "assignments of the form 'SET @variable = column' or 'SET @variable = "
        "expression'.",
    ),
}
