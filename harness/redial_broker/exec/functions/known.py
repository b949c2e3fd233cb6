"""Built-in functions of the server that nobody has needed here yet: refused by name, not with 195.

A function that is registered (``registry.function``) is found first, so nothing need be taken out.
"""

KNOWN = frozenset(
    {
        "ACOS",
        "APPROX_PERCENTILE_CONT",
        "APPROX_PERCENTILE_DISC",
        "ASIN",
        "ATN2",
        "BASE64_DECODE",
        "BASE64_ENCODE",
        "COT",
        "CURRENT_DATE",
        "CURRENT_TIMEZONE_ID",
        "DATABASEPROPERTY",
        "EDIT_DISTANCE",
        "FILEGROUPPROPERTY",
        "FILEPROPERTYEX",
        "FILE_IDEX",
        "GET_FILESTREAM_TRANSACTION_CONTEXT",
        "JARO_WINKLER_SIMILARITY",
        "JSON_ARRAYAGG",
        "JSON_CONTAINS",
        "JSON_OBJECTAGG",
        "PRODUCT",
        "PUBLISHINGSERVERNAME",
        "REGEXP_COUNT",
        "REGEXP_INSTR",
        "REGEXP_LIKE",
        "REGEXP_REPLACE",
        "REGEXP_SUBSTR",
        "SESSIONPROPERTY",
        "TERTIARY_WEIGHTS",
        "UNISTR",
        "VECTOR_DISTANCE",
    }
)
"""Upper-case names (functions page of the T-SQL reference)."""
