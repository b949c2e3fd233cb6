"""Messages below 1000: syntax, names, types, conversions; ``messages.MESSAGES`` includes them.

Numbers and texts are Microsoft's (errors-events pages of the SQL Server documentation).
"""

from __future__ import annotations

LANGUAGE_MESSAGES: dict[int, tuple[int, str]] = {
    102: (15, "Incorrect syntax near '%s'."),
    103: (15, "The %s that starts with '%s' is too long. Maximum length is %d."),
    105: (15, "Unclosed quotation mark after the character string '%s'."),
    111: (15, "'%s' must be the first statement in a query batch."),
    112: (15, "Variables are not allowed in the %s statement."),
    116: (
        16,
        "Only one expression can be specified in the select list when the subquery is "
        "not introduced with EXISTS.",
    ),
    119: (
        15,
        "Must pass parameter number %d and subsequent parameters as '@name = value'. After "
        "the form '@name = value' has been used, all subsequent parameters must be passed in "
        "the form '@name = value'.",
    ),
    131: (
        15,
        "The size (%s) given to the type '%s' exceeds the maximum allowed for any data type (%s).",
    ),
    132: (
        15,
        "The label '%s' has already been declared. Label names must be unique within a "
        "query batch or stored procedure.",
    ),
    133: (15, "A GOTO statement references the label '%s' but the label has not been declared."),
    134: (
        15,
        "The variable name '%s' has already been declared. Variable names must be unique "
        "within a query batch or stored procedure.",
    ),
    135: (15, "Cannot use a BREAK statement outside the scope of a WHILE statement."),
    136: (15, "Cannot use a CONTINUE statement outside the scope of a WHILE statement."),
    137: (15, 'Must declare the scalar variable "%s".'),
    147: (
        15,
        "An aggregate may not appear in the WHERE clause unless it is in a subquery "
        "contained in a HAVING clause or a select list, and the column being aggregated "
        "is an outer reference.",
    ),
    148: (15, "Incorrect time syntax in time string '%s' used with WAITFOR."),
    155: (15, "'%s' is not a recognized %s option."),
    156: (15, "Incorrect syntax near the keyword '%s'."),
    166: (15, "'%s' does not allow specifying the database name as a prefix to the object name."),
    174: (15, "The %s function requires %s argument(s)."),
    180: (15, "There are too many parameters in this module: %d. The maximum number is %d."),
    183: (15, "The scale (%s) must be less than or equal to the precision."),
    189: (15, "The %s function requires %s to %s arguments."),
    195: (15, "'%s' is not a recognized built-in function name."),
    201: (16, "Procedure or function '%s' expects parameter '%s', which was not supplied."),
    206: (16, "Operand type clash: %s is incompatible with %s"),
    207: (16, "Invalid column name '%s'."),
    208: (16, "Invalid object name '%s'."),
    209: (16, "Ambiguous column name '%s'."),
    210: (16, "Conversion failed when converting datetime from binary/varbinary string."),
    213: (16, "Column name or number of supplied values does not match table definition."),
    217: (
        16,
        "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit 32).",
    ),
    218: (
        16,
        "Could not find the type '%s'. Either it does not exist or you do not have the "
        "necessary permission.",
    ),
    219: (16, "The type '%s' already exists, or you do not have permission to create it."),
    220: (16, "Arithmetic overflow error for data type %s, value = %s."),
    226: (16, "%s statement not allowed within multi-statement transaction."),
    227: (15, "%s is not a valid function, property, or field."),
    229: (14, "The %s permission was denied on the object '%s', database '%s', schema '%s'."),
    232: (16, "Arithmetic overflow error for type %s, value = %s."),
    234: (16, "There is insufficient result space to convert a %s value to %s."),
    235: (16, "Cannot convert a char value to money. The char value has incorrect syntax."),
    241: (16, "Conversion failed when converting date and/or time from character string."),
    242: (
        16,
        "The conversion of a %s data type to a %s data type resulted in an out-of-range value.",
    ),
    243: (16, "Type %s is not a defined system type."),
    244: (
        16,
        "The conversion of the %s value '%s' overflowed an %s column. Use a larger integer column.",
    ),
    245: (16, "Conversion failed when converting the %s value '%s' to data type %s."),
    248: (16, "The conversion of the %s value '%s' overflowed an int column."),
    257: (
        16,
        "Implicit conversion from data type %s to %s is not allowed. Use the CONVERT "
        "function to run this query.",
    ),
    258: (15, "Cannot call methods on %s."),
    262: (14, "%s permission denied in database '%s'."),
    266: (
        16,
        "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT "
        "statements. Previous count = %d, current count = %d.",
    ),
    289: (
        16,
        "Cannot construct data type %s, some of the arguments have values which are not valid.",
    ),
    295: (16, "Conversion failed when converting character string to smalldatetime data type."),
    297: (16, "The user does not have permission to perform this action."),
    300: (14, "%s permission was denied on object '%s', database '%s'."),
    302: (
        16,
        "The newsequentialid() built-in function can only be used in a DEFAULT "
        "expression for a column of type 'uniqueidentifier' in a CREATE TABLE or ALTER "
        "TABLE statement. It cannot be combined with other operators to form a complex "
        "scalar expression.",
    ),
    305: (
        16,
        "The XML data type cannot be compared or sorted, except when using the IS NULL operator.",
    ),
    334: (
        16,
        "The target table '%s' of the DML statement cannot have any enabled triggers if the "
        "statement contains an OUTPUT clause without INTO clause.",
    ),
    402: (16, "The data types %s and %s are incompatible in the %s operator."),
    447: (16, "Expression type %s is invalid for COLLATE clause."),
    452: (16, "COLLATE clause cannot be used on expressions containing a text in this context."),
    468: (16, 'Cannot resolve the collation conflict between "%s" and "%s" in the %s operation.'),
    493: (
        16,
        "The column '%s' that was returned from the nodes() method cannot be used "
        "directly. It can only be used with one of the four XML data type methods, "
        "exist(), nodes(), query(), and value(), or in IS NULL and IS NOT NULL checks.",
    ),
    506: (16, 'The invalid escape character "%s" was specified in a %s predicate.'),
    512: (
        16,
        "Subquery returned more than 1 value. This is not permitted when the subquery "
        "follows =, !=, <, <= , >, >= or when the subquery is used as an expression.",
    ),
    515: (
        16,
        "Cannot insert the value NULL into column '%s', table '%s'; column does not allow "
        "nulls. %s fails.",
    ),
    517: (16, "Adding a value to a '%s' column caused an overflow."),
    529: (16, "Explicit conversion from data type %s to %s is not allowed."),
    535: (
        16,
        "The datediff function resulted in an overflow. The number of dateparts "
        "separating two date/time instances is too large. Try to use datediff with a "
        "less precise datepart.",
    ),
    536: (16, "Invalid length parameter passed to the %s function."),
    537: (16, "Invalid length parameter passed to the LEFT or SUBSTRING function."),
    544: (
        16,
        "Cannot insert explicit value for identity column in table '%s' when "
        "IDENTITY_INSERT is set to OFF.",
    ),
    547: (
        16,
        'The %s statement conflicted with the %s constraint "%s". The conflict occurred in '
        'database "%s", table "%s"%s.',
    ),
    596: (21, "Cannot continue the execution because the session is in the kill state."),
    627: (16, "Cannot use SAVE TRANSACTION within a distributed transaction."),
    196: (
        15,
        "SELECT INTO must be the first query in a statement containing a UNION, INTERSECT or "
        "EXCEPT operator.",
    ),
    282: (
        10,
        "The '%s' procedure attempted to return a status of NULL, which is not allowed. "
        "A status of 0 will be returned instead.",
    ),
    339: (16, "DEFAULT or NULL are not allowed as explicit identity values."),
    8148: (16, "More than one column %s constraint specified for column '%s', table '%s'."),
    9815: (16, "Waitfor delay and waitfor time cannot be of type %s."),
    15625: (10, "Option '%s' not recognized for '%s' parameter."),
    15626: (
        10,
        "You attempted to acquire a transactional application lock without an active transaction.",
    ),
    3918: (
        16,
        "The statement or function must be executed in the context of a user transaction.",
    ),
    628: (16, "Cannot issue SAVE TRANSACTION when there is no active transaction."),
    701: (17, "There is insufficient system memory in resource pool '%s' to run this query."),
    650: (
        16,
        "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ "
        "isolation levels.",
    ),
    911: (16, "Database '%s' does not exist. Make sure that the name is entered correctly."),
    916: (
        14,
        'The server principal "%s" is not able to access the database "%s" under the '
        "current security context.",
    ),
    924: (14, "Database '%s' is already open and can only have one user at a time."),
}
