"""What the parser raises: the server's numbers and texts, with line and column.

Numbers and texts are those of sys.messages (Database Engine errors and events page); nobody else in
this package spells a text.
"""

from __future__ import annotations

NOT_SUPPORTED = 60001
"""Number of every refusal of what a server accepts, the parser's and the embedded broker's; the text
names construct and position."""

MESSAGES: dict[int, str] = {
    102: "Incorrect syntax near '%s'.",
    103: "The %s that starts with '%s' is too long. Maximum length is %d.",
    105: "Unclosed quotation mark after the character string '%s'.",
    111: "'%s' must be the first statement in a query batch.",
    113: "Missing end comment mark '*/'.",
    117: "The %s name '%s' contains more than the maximum number of prefixes. The maximum is %d.",
    132: "The label '%s' has already been declared. Label names must be unique within a query "
    "batch or stored procedure.",
    133: "A GOTO statement references the label '%s' but the label has not been declared.",
    135: "Cannot use a BREAK statement outside the scope of a WHILE statement.",
    136: "Cannot use a CONTINUE statement outside the scope of a WHILE statement.",
    141: "A SELECT statement that assigns a value to a variable must not be combined with "
    "data-retrieval operations.",
    142: "Incorrect syntax for definition of the '%s' constraint.",
    154: "%s is not allowed in %s.",
    156: "Incorrect syntax near the keyword '%s'.",
    168: "The floating point value '%s' is out of the range of computer representation (%d bytes).",
    178: "A RETURN statement with a return value cannot be used in this context.",
    191: "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up "
    "into smaller queries.",
    195: "'%s' is not a recognized %s.",
    319: "Incorrect syntax near the keyword 'with'. If this statement is a common table "
    "expression, an xmlnamespaces clause or a change tracking context clause, the previous "
    "statement must be terminated with a semicolon.",
    321: '"%s" is not a recognized table hints option. If it is intended as a parameter to a '
    "table-valued function or to the CHANGETABLE function, ensure that your database "
    "compatibility mode is set to 90.",
    324: "The 'ALL' version of the %s operator is not supported.",
    336: "Incorrect syntax near '%s'. If this is intended to be a common table expression, you "
    "need to explicitly terminate the previous statement with a semi-colon.",
    343: "Unknown object type '%s' used in a CREATE, DROP, or ALTER statement.",
    455: "The last statement included within a function must be a return statement.",
    1007: "The number '%s' is out of the range for numeric representation (maximum precision 38).",
    1019: "Invalid column list after object name in GRANT/REVOKE statement.",
    1020: "Sub-entity lists (such as column or security expressions) cannot be specified for "
    "entity-level permissions.",
    1033: "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, "
    "and common table expressions, unless TOP, OFFSET or FOR XML is also specified.",
    1035: "Incorrect syntax near '%s', expected '%s'.",
    1038: "An object or column name is missing or empty. For SELECT INTO statements, verify each "
    'column has a name. For other statements, look for empty alias names. Aliases defined as "" '
    "or [] are not allowed. Change the alias to a valid name.",
    1049: "Mixing old and new syntax to specify cursor options is not allowed.",
    4145: "An expression of non-boolean type specified in a context where a condition is expected, "
    "near '%s'.",
    10710: "An action of type '%s' is not allowed in the 'WHEN NOT MATCHED' clause of a MERGE "
    "statement.",
    10711: "An action of type 'INSERT' is not allowed in the '%s' clause of a MERGE statement.",
    10713: "A MERGE statement must be terminated by a semi-colon (;).",
    NOT_SUPPORTED: "Redial's T-SQL parser does not support %s (line %d, column %d).",
}


class TsqlSyntaxError(Exception):
    """The text is not T-SQL the server would compile.

    number, message: as the server sends them (severity 15); line, column: 1-based, counted from the
    batch's first line.
    """

    def __init__(self, number: int, message: str, line: int, column: int) -> None:
        super().__init__(f"{line}:{column}: Msg {number}: {message}")
        self.number = number
        self.message = message
        self.line = line
        self.column = column


class TsqlNotSupported(TsqlSyntaxError):
    """A server would take the text; this parser says by name that it does not.

    construct: what was refused, for callers with their own refusal message.
    """

    def __init__(self, construct: str, line: int, column: int) -> None:
        text = MESSAGES[NOT_SUPPORTED] % (construct, line, column)
        super().__init__(NOT_SUPPORTED, text, line, column)
        self.construct = construct
