"""Messages of MERGE, views, cursors, grouping and windows; ``query_messages`` includes them.

Texts are those of the errors-events pages; %S_MSG parts are written out where only one fits.
"""

from __future__ import annotations

RELATIONAL_MESSAGES: dict[int, tuple[int, str]] = {
    550: (16, "The attempted insert or update failed because the target view either specifies WITH "
              "CHECK OPTION or spans a view that specifies WITH CHECK OPTION and one or more rows "
              "resulting from the operation did not qualify under the CHECK OPTION constraint."),
    1031: (15, "Percent values must be between 0 and 100."),
    4138: (16, "Conflicting locking hints are specified for table \"%s\". This may be caused by a "
               "conflicting hint specified for a view."),
    4186: (16, "Column '%s.%s' cannot be referenced in the OUTPUT clause because the column "
               "definition contains a subquery or references a function that performs user or "
               "system data access. A function is assumed by default to perform data access if "
               "it is not schemabound. Consider removing the subquery or function from the column "
               "definition or removing the column from the OUTPUT clause."),
    4196: (16, "Column '%s.%s' cannot be referenced in the OUTPUT clause because the column "
               "definition contains an expression using a window function."),
    4403: (16, "Cannot update the view or function '%s' because it contains aggregates, or a "
               "DISTINCT or GROUP BY clause, or PIVOT or UNPIVOT operator."),
    4405: (16, "View or function '%s' is not updatable because the modification affects multiple "
               "base tables."),
    4406: (16, "Update or insert of view or function '%s' failed because it contains a derived or "
               "constant field."),
    4418: (16, "Derived table '%s' is not updatable because it contains aggregates, or a DISTINCT "
               "or GROUP BY clause, or PIVOT or UNPIVOT operator."),
    4420: (16, "Derived table '%s' is not updatable because the modification affects multiple base "
               "tables."),
    4421: (16, "Derived table '%s' is not updatable because a column of the derived table is "
               "derived or constant."),
    4422: (16, "View '%s' has an INSTEAD OF UPDATE trigger and cannot be a target of an UPDATE "
               "FROM statement."),
    4423: (16, "View '%s' has an INSTEAD OF DELETE trigger and cannot be a target of a DELETE FROM "
               "statement."),
    4426: (16, "View '%s' is not updatable because the definition contains a UNION operator."),
    4427: (16, "Cannot update the view \"%s\" because it or a view it references was created with "
               "WITH CHECK OPTION and its definition contains a TOP or OFFSET clause."),
    8171: (16, "Hint '%s' on object '%s' is invalid."),
    5316: (16, "The target '%s' of the MERGE statement has an INSTEAD OF trigger on some, but not "
               "all, of the actions specified in the MERGE statement. In a MERGE statement, if "
               "any action has an enabled INSTEAD OF trigger on the target, then all actions must "
               "have enabled INSTEAD OF triggers."),
    5318: (16, "In a MERGE statement, the source and target cannot have the same name or alias. "
               "Use different aliases for the source and target to ensure that they have unique "
               "names in the MERGE statement."),
    5319: (16, "Aggregates are not allowed in a WHEN clause of a MERGE statement."),
    5324: (15, "In a MERGE statement, a '%s' clause with a search condition cannot appear after a "
               "'%s' clause with no search condition."),
    5333: (16, "The identifier '%s' cannot be bound. Only source columns and columns in the clause "
               "scope are allowed in the 'WHEN NOT MATCHED' clause of a MERGE statement."),
    5334: (16, "The identifier '%s' cannot be bound. Only target columns and columns in the clause "
               "scope are allowed in the 'WHEN NOT MATCHED BY SOURCE' clause of a MERGE "
               "statement."),
    10714: (15, "An action of type '%s' cannot appear more than once in a '%s' clause of a MERGE "
                "statement."),
    10742: (15, "The offset specified in a OFFSET clause may not be negative."),
    10744: (15, "The number of rows provided for a FETCH clause must be greater then zero."),
    10723: (15, "In a MERGE statement, a variable cannot be set to a column and expression in the "
                "same assignment in the SET clause of an UPDATE action. Assignments of the form "
                "'SET @variable = column = expression' are not valid in the SET clause of an "
                "UPDATE action in a MERGE statement. Modify the SET clause to only specify "
                "assignments of the form 'SET @variable = column' or 'SET @variable = "
                "expression'."),
}
