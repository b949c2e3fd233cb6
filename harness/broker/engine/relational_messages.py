"""Messages of MERGE, views, cursors, grouping and windows; ``query_messages`` includes them.

Texts are those of the errors-events pages; %S_MSG parts are written out where only one fits.
"""

from __future__ import annotations

RELATIONAL_MESSAGES: dict[int, tuple[int, str]] = {
    1031: (15, "Percent values must be between 0 and 100."),
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
