"""Messages of JSON and of the newer functions by number; ``messages.MESSAGES`` includes them.

Texts are those of the errors-events pages.
"""

from __future__ import annotations

FUNCTION_MESSAGES: dict[int, tuple[int, str]] = {
    9818: (16, "The culture parameter '%s' provided in the function call is not supported."),
    9819: (16, "Error converting string value '%s' into data type %s using culture '%s'."),
    9820: (16, "The time zone parameter '%s' provided to AT TIME ZONE clause is invalid."),
    9828: (
        16,
        "The second and third arguments of the TRANSLATE built-in function must contain an "
        "equal number of characters.",
    ),
    9834: (
        16,
        "Invalid bucket width value passed to DATE_BUCKET function. Only positive values "
        "are allowed.",
    ),
    10761: (15, "Invalid data type %s in function %s."),
    13600: (
        16,
        "FOR JSON AUTO requires at least one table for generating JSON objects. Use FOR "
        "JSON PATH or add a FROM clause with a table name.",
    ),
    13601: (
        16,
        "Property '%s' cannot be generated in JSON output due to a conflict with another "
        "column name or alias. Use different names and aliases for each column in SELECT "
        "list.",
    ),
    13602: (16, "The FOR JSON clause is not allowed in a %s statement."),
    13603: (
        16,
        "Property '%s' cannot be generated in JSON output due to invalid character in the "
        "column name or alias. Column name or alias that contains '..', starts or ends "
        "with '.' is not allowed in query that has FOR JSON clause.",
    ),
    13605: (
        16,
        "Column expressions and data sources without names or aliases cannot be formatted "
        "as JSON text using FOR JSON clause. Add alias to the unnamed column or table.",
    ),
    13606: (16, "JSON text that has more than 128 nesting levels cannot be parsed."),
    13607: (
        16,
        "JSON path is not properly formatted. Unexpected character '%s' is found at position %d.",
    ),
    13608: (16, "Property cannot be found on the specified JSON path."),
    13609: (
        16,
        "JSON text is not properly formatted. Unexpected character '%s' is found at position %d.",
    ),
    13610: (16, 'The argument %d of the "%s" must be a string literal.'),
    13611: (
        16,
        "Value referenced by JSON path is not an array or object and cannot be opened with "
        "OPENJSON.",
    ),
    13612: (
        16,
        "Cannot convert a string value found in the JSON text to binary value because it "
        "is not Base64 encoded.",
    ),
    13613: (
        16,
        "Base64 encoded string cannot be converted to binary value. Binary data would be "
        "truncated.",
    ),
    13614: (
        16,
        "TEXT, NTEXT, SQL_VARIANT and IMAGE types cannot be used as column types in "
        "OPENJSON function with explicit schema. These types are not supported in WITH "
        "clause.",
    ),
    13618: (
        16,
        "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.",
    ),
    13619: (16, "Unsupported JSON path found in argument %d of JSON_MODIFY."),
    13620: (
        16,
        "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. "
        "Remove one of these options.",
    ),
    13621: (16, "Array cannot be found in the specified JSON path."),
    13623: (16, "Scalar value cannot be found in the specified JSON path."),
    13624: (16, "Object or array cannot be found in the specified JSON path."),
    13625: (16, "String value in the specified JSON path would be truncated."),
    13638: (16, "User error : Name parameter value in 'json_object' cannot be null"),
}

FUNCTION_ABORTS: dict[int, str] = {
    # As under XACT_ABORT ON, whatever the option says (observed, F-220).
    **dict.fromkeys((13606, 13607, 13608, 13609, 13611, 13621, 13623, 13624, 13625), "batch"),
}
