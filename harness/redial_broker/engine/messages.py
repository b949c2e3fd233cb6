"""Server messages by number: (severity, text). %-placeholders are filled by ``SqlError``.

Numbers and texts are Microsoft's (errors-events pages of the SQL Server documentation); clients and
scripts match on them. ``ABORTS`` lists the errors that end more than their statement.
"""

from __future__ import annotations

from redial_broker.engine.broker_messages import BROKER_MESSAGES
from redial_broker.engine.database_messages import DATABASE_MESSAGES
from redial_broker.engine.ddl_messages import DDL_MESSAGES
from redial_broker.engine.driver_messages import DRIVER_MESSAGES
from redial_broker.engine.function_messages import FUNCTION_ABORTS, FUNCTION_MESSAGES
from redial_broker.engine.language_messages import LANGUAGE_MESSAGES
from redial_broker.engine.query_messages import QUERY_MESSAGES
from redial_broker.engine.relational_messages import RELATIONAL_MESSAGES
from redial_broker.engine.security_messages import SECURITY_MESSAGES
from redial_broker.engine.xml_messages import XML_ABORTS, XML_MESSAGES

MESSAGES: dict[int, tuple[int, str]] = {
    1001: (15, "Line %s: Length or precision specification is invalid."),
    1002: (15, "Line %s: Specified scale is invalid."),
    1007: (
        15,
        "The number '%s' is out of the range for numeric representation (maximum precision 38).",
    ),
    1023: (15, "Invalid parameter %s specified for %s."),
    1026: (15, "GOTO cannot be used to jump into a TRY or CATCH scope."),
    1046: (15, "Subqueries are not allowed in this context. Only scalar expressions are allowed."),
    1088: (
        16,
        'Cannot find the object "%s" because it does not exist or you do not have permissions.',
    ),
    1205: (
        13,
        "Transaction (Process ID %d) was deadlocked on %s resources with another process "
        "and has been chosen as the deadlock victim. Rerun the transaction.",
    ),
    1222: (16, "Lock request time out period exceeded."),
    1223: (
        16,
        "Cannot release the application lock (Database Principal: '%s', Resource: '%s') "
        "because it is not currently held.",
    ),
    1505: (
        16,
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found "
        "for the object name '%s' and the index name '%s'. The duplicate key value is %s.",
    ),
    1754: (
        16,
        "Defaults cannot be created on columns with an IDENTITY attribute. Table '%s', "
        "column '%s'.",
    ),
    1779: (16, "Table '%s' already has a primary key defined on it."),
    1781: (16, "Column already has a DEFAULT bound to it."),
    1801: (16, "Database '%s' already exists. Choose a different database name."),
    1902: (
        16,
        "Cannot create more than one clustered index on table '%s'. Drop the existing "
        "clustered index '%s' before creating another.",
    ),
    1909: (16, "Cannot use duplicate column names in index. Column name listed more than once."),
    1911: (16, "Column name '%s' does not exist in the target table or view."),
    1913: (
        16,
        "The operation failed because an index or statistics with name '%s' already "
        "exists on table '%s'.",
    ),
    1919: (
        16,
        "Column '%s' in table '%s' is of a type that is invalid for use as a key column "
        "in an index.",
    ),
    2010: (16, "Cannot perform alter on '%s' because it is an incompatible object type."),
    2601: (
        14,
        "Cannot insert duplicate key row in object '%s' with unique index '%s'. The "
        "duplicate key value is %s.",
    ),
    2627: (
        14,
        "Violation of %s constraint '%s'. Cannot insert duplicate key in object '%s'. The "
        "duplicate key value is %s.",
    ),
    2628: (
        16,
        "String or binary data would be truncated in table '%s', column '%s'. Truncated "
        "value: '%s'.",
    ),
    2705: (
        16,
        "Column names in each table must be unique. Column name '%s' in table '%s' is "
        "specified more than once.",
    ),
    2714: (16, "There is already an object named '%s' in the database."),
    2715: (16, "Column, parameter, or variable #%d: Cannot find data type %s."),
    2727: (11, "Cannot find index '%s'."),
    2738: (
        16,
        "A table can only have one timestamp column. Because table '%s' already has one, "
        "the column cannot be added.",
    ),
    2744: (
        16,
        "Multiple identity columns specified for table '%s'. Only one identity column per"
        " table is allowed.",
    ),
    2748: (
        16,
        "Cannot specify %s data type (parameter %d) as a substitution parameter.",
    ),
    2749: (
        16,
        "Identity column '%s' must be of data type int, bigint, smallint, tinyint, or "
        "decimal or numeric with a scale of 0, unencrypted, and constrained to be "
        "nonnullable.",
    ),
    2750: (
        16,
        "Column, parameter, or variable #%s: Specified column precision %s is greater "
        "than the maximum precision of %s.",
    ),
    2754: (
        16,
        "Error severity levels greater than 18 can only be specified by members of the "
        "sysadmin role, using the WITH LOG option.",
    ),
    2759: (16, "CREATE SCHEMA failed due to previous errors."),
    2760: (
        16,
        'The specified schema name "%s" either does not exist or you do not have '
        "permission to use it.",
    ),
    2778: (16, "Only System Administrator can specify WITH LOG option for RAISERROR command."),
    2786: (
        16,
        "The data type of substitution parameter %s does not match the expected type of "
        "the format specification.",
    ),
    2787: (16, "Invalid format specification: '%s'."),
    2812: (16, "Could not find stored procedure '%s'."),
    3609: (16, "The transaction ended in the trigger. The batch has been aborted."),
    3616: (
        16,
        "An error was raised during trigger execution. The batch has been aborted and the "
        "user transaction, if any, has been rolled back.",
    ),
    3621: (0, "The statement has been terminated."),
    3623: (16, "An invalid floating point operation occurred."),
    3701: (11, "Cannot %s the %s '%s', because it does not exist or you do not have permission."),
    3702: (16, 'Cannot %s %s "%s" because it is currently in use.'),
    3705: (
        16,
        "Cannot use DROP %s with '%s' because '%s' is another kind of object. Use the "
        "DROP statement of its kind.",
    ),
    3708: (16, "Cannot %s the %s '%s' because it is a system database."),
    3723: (
        16,
        "An explicit DROP INDEX is not allowed on index '%s'. It is being used for %s "
        "constraint enforcement.",
    ),
    3728: (16, "'%s' is not a constraint."),
    3729: (16, "Cannot %s '%s' because it is being referenced by object '%s'."),
    3732: (
        16,
        "Cannot drop type '%s' because it is being referenced by object '%s'. There may "
        "be other objects that reference this type.",
    ),
    3902: (16, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION."),
    3903: (16, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION."),
    3930: (
        16,
        "The current transaction cannot be committed and cannot support operations that "
        "write to the log file. Roll back the transaction.",
    ),
    3931: (
        16,
        "The current transaction cannot be committed and cannot be rolled back to a "
        "savepoint. Roll back the entire transaction.",
    ),
    3951: (
        16,
        "Transaction failed in database '%s' because the statement was run under snapshot "
        "isolation but the transaction did not start in snapshot isolation. You cannot "
        "change the isolation level of the transaction to snapshot after the transaction "
        "has started unless the transaction was originally started under snapshot "
        "isolation level.",
    ),
    3952: (
        16,
        "Snapshot isolation transaction failed accessing database '%s' because snapshot "
        "isolation is not allowed in this database. Use ALTER DATABASE to allow snapshot "
        "isolation.",
    ),
    3960: (
        16,
        "Snapshot isolation transaction aborted due to update conflict. You cannot use "
        "snapshot isolation to access table '%s' directly or indirectly in database '%s' "
        "to update, delete, or insert the row that has been modified or deleted by another "
        "transaction. Retry the transaction or change the isolation level for the "
        "update/delete statement.",
    ),
    3961: (
        16,
        "Snapshot isolation transaction failed in database '%s' because the object accessed "
        "by the statement has been modified by a DDL statement in another concurrent "
        "transaction since the start of this transaction.  It is disallowed because the "
        "metadata is not versioned. A concurrent update to metadata can lead to "
        "inconsistency if mixed with snapshot isolation.",
    ),
    3964: (
        16,
        "Transaction failed because this DDL statement is not allowed inside a snapshot "
        "isolation transaction. Since metadata is not versioned, a metadata change can lead "
        "to inconsistency if mixed within snapshot isolation.",
    ),
    3998: (
        16,
        "Uncommittable transaction is detected at the end of the batch. The transaction is "
        "rolled back.",
    ),
    4060: (11, 'Cannot open database "%s" requested by the login. The login failed.'),
    4104: (16, 'The multi-part identifier "%s" could not be bound.'),
    4108: (15, "Windowed functions can only appear in the SELECT or ORDER BY clauses."),
    4121: (
        16,
        'Cannot find either column "%s" or the user-defined function or aggregate '
        '"%s", or the name is ambiguous.',
    ),
    4151: (
        16,
        "The type of the first argument to NULLIF cannot be the NULL constant because "
        "the type of the first argument has to be known.",
    ),
    4606: (16, "Granted or revoked privilege %s is not compatible with object."),
    4613: (16, "Grantor does not have GRANT permission."),
    4621: (
        16,
        "Permissions at the server scope can only be granted when the current database is master",
    ),
    4901: (
        16,
        "ALTER TABLE only allows columns to be added that can contain nulls, or have a "
        "DEFAULT definition specified, or the column being added is an identity or "
        "timestamp column, or alternatively if none of the previous conditions are "
        "satisfied the table must be empty to allow addition of this column. Column '%s' "
        "cannot be added to non-empty table '%s' because it does not satisfy these "
        "conditions.",
    ),
    4902: (
        16,
        'Cannot find the object "%s" because it does not exist or you do not have permissions.',
    ),
    4922: (16, "ALTER TABLE %s COLUMN %s failed because one or more objects access this column."),
    4923: (
        16,
        "ALTER TABLE DROP COLUMN failed because '%s' is the only data column in table "
        "'%s'. A table must have at least one data column.",
    ),
    4924: (16, "ALTER TABLE %s failed because column '%s' does not exist in table '%s'."),
    4928: (16, "Cannot alter column '%s' because it is '%s'."),
    5011: (
        14,
        "User does not have permission to alter database '%s', the database does not "
        "exist, or the database is not in a state that allows access checks.",
    ),
    5058: (16, "Option '%s' cannot be set in database '%s'."),
    5070: (16, "Database state cannot be changed while other users are using the database '%s'"),
    6104: (16, "Cannot use KILL to kill your own process."),
    6106: (16, "Process ID %d is not an active process ID."),
    6107: (16, "Only user processes can be killed."),
    6354: (16, "Target string size is too small to represent the XML instance"),
    6359: (
        16,
        "Parsing XML with internal subset DTDs not allowed. Use CONVERT with style "
        "option 2 to enable limited internal subset DTD support.",
    ),
    6401: (16, "Cannot roll back %s. No transaction or savepoint of that name was found."),
    8110: (16, "Cannot add multiple PRIMARY KEY constraints to table '%s'."),
    8111: (16, "Cannot define PRIMARY KEY constraint on nullable column in table '%s'."),
    8112: (16, "Cannot add more than one clustered index for constraints on table '%s'."),
    8114: (16, "Error converting data type %s to %s."),
    8115: (16, "Arithmetic overflow error converting %s to data type %s."),
    8116: (16, "Argument data type %s is invalid for argument %s of %s function."),
    8117: (16, "Operand data type %s is invalid for %s operator."),
    8133: (
        16,
        "At least one of the result expressions in a CASE specification must be an "
        "expression other than the NULL constant.",
    ),
    8134: (16, "Divide by zero error encountered."),
    8143: (16, "Parameter '%s' was supplied multiple times."),
    8146: (16, "Procedure %s has no parameters and arguments were supplied."),
    8144: (16, "Procedure or function %s has too many arguments specified."),
    8145: (16, "%s is not a parameter for procedure %s."),
    8147: (16, "Could not create IDENTITY attribute on nullable column '%s', table '%s'."),
    8152: (16, "String or binary data would be truncated."),
    8162: (
        16,
        'The formal parameter "%s" was not declared as an OUTPUT parameter, but the '
        "actual "
        "parameter passed in requested output.",
    ),
    8169: (16, "Conversion failed when converting from a character string to uniqueidentifier."),
    8170: (16, "Insufficient result space to convert uniqueidentifier value to char."),
    8172: (16, 'The argument %s of the XML data type method "%s" must be a string literal.'),
    8178: (16, "The parameterized query '%s' expects the parameter '%s', which was not supplied."),
    8179: (16, "Could not find prepared statement with handle %d."),
    9400: (16, "XML parsing: line %d, character %d, unexpected end of input"),
    9402: (16, "XML parsing: line %d, character %d, unable to switch the encoding"),
    9410: (16, "XML parsing: line %d, character %d, whitespace expected"),
    9411: (16, "XML parsing: line %d, character %d, semicolon expected"),
    9412: (16, "XML parsing: line %d, character %d, '>' expected"),
    9413: (16, "XML parsing: line %d, character %d, A string literal was expected"),
    9414: (16, "XML parsing: line %d, character %d, equal expected"),
    9420: (16, "XML parsing: line %d, character %d, illegal xml character"),
    9422: (16, "XML parsing: line %d, character %d, incorrect document syntax"),
    9436: (16, "XML parsing: line %d, character %d, end tag does not match start tag"),
    9437: (16, "XML parsing: line %d, character %d, duplicate attribute"),
    9448: (16, "XML parsing: line %d, character %d, well formed check: undeclared entity"),
    9455: (16, "XML parsing: line %d, character %d, illegal qualified name character"),
    9459: (16, "XML parsing: line %d, character %d, undeclared prefix"),
    9500: (16, "The data type '%s' used in the VALUE method is invalid."),
    9810: (16, "The datepart %s is not supported by date function %s for data type %s."),
    9812: (16, "The timezone provided to builtin function switchoffset is invalid."),
    10704: (
        15,
        "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert "
        "the THROW statement inside a CATCH block, or add error parameters to the THROW "
        "statement.",
    ),
    10760: (
        16,
        "Scale argument is not valid. Valid expressions for data type %s scale "
        "argument are integer constants and integer constant expressions.",
    ),
    11501: (16, "The batch could not be analyzed because of compile errors."),
    11502: (
        16,
        "The metadata could not be determined because statement '%s' uses an undeclared "
        "parameter in a place where its type cannot be deduced.",
    ),
    11700: (16, "The increment for sequence object '%s' cannot be zero."),
    11701: (
        16,
        "The absolute value of the increment for sequence object '%s' must be less than or equal "
        "to the difference between the minimum and maximum value of the sequence object.",
    ),
    11705: (
        16,
        "The minimum value for sequence object '%s' must be less than its maximum value.",
    ),
    11708: (16, "An invalid value was specified for argument '%s' for the given data type."),
    11702: (
        16,
        "The sequence object '%s' must be of data type int, bigint, smallint, tinyint, "
        "or decimal or numeric with a scale of 0, or any user-defined data type that is "
        "based on one of the above integer data types.",
    ),
    11703: (
        16,
        "The start value for sequence object '%s' must be between the minimum and "
        "maximum value of the sequence object.",
    ),
    15007: (16, "'%s' is not a valid login or you do not have permission."),
    15009: (
        16,
        "The object '%s' does not exist in database '%s' or is invalid for this operation.",
    ),
    15023: (16, "User, group, or role '%s' already exists in the current database."),
    15025: (16, "The server principal '%s' already exists."),
    15043: (16, "You must specify 'REPLACE' to overwrite an existing message."),
    15063: (16, "The login already has an account under a different user name."),
    15134: (16, "No alias exists for the specified user."),
    15135: (
        16,
        "Object is invalid. Extended properties are not permitted on '%s', or the object"
        " does not exist.",
    ),
    15138: (16, "The database principal owns a %s in the database, and cannot be dropped."),
    15144: (16, "The role has members. It must be empty before it can be dropped."),
    15150: (16, "Cannot %s the %s '%s'."),
    15151: (16, "Cannot %s the %s '%s', because it does not exist or you do not have permission."),
    15174: (
        16,
        "Login '%s' owns one or more database(s). Change the owner of the database(s) "
        "before dropping the login.",
    ),
    15179: (16, "The message number %s or specified language version does not exist."),
    15183: (16, "The database principal owns objects in the database and cannot be dropped."),
    15197: (16, "There is no text for object '%s'."),
    15217: (16, "Property cannot be updated or deleted. Property '%s' does not exist for '%s'."),
    15233: (16, "Property cannot be added. Property '%s' already exists for '%s'."),
    15247: (16, "User does not have permission to perform this action."),
    15405: (16, "Cannot use the special principal '%s'."),
    15406: (
        16,
        'Cannot execute as the server principal because the principal "%s" does not '
        "exist, "
        "this type of principal cannot be impersonated, or you do not have permission.",
    ),
    15413: (16, "Cannot make a role a member of itself."),
    15434: (16, "Could not drop login '%s' as the user is currently logged in."),
    15517: (
        16,
        'Cannot execute as the database principal because the principal "%s" does not '
        "exist, this type of principal cannot be impersonated, or you do not have "
        "permission.",
    ),
    15600: (15, "An invalid parameter or option was specified for procedure '%s'."),
    15664: (
        16,
        "Cannot set key '%s' in the session context. The key has been set as read_only "
        "for this session.",
    ),
    15665: (
        16,
        "The value was not set for key '%s' because the total size of keys and values in"
        " the session context would exceed the 1 MB limit.",
    ),
    15666: (
        16,
        "Cannot set key '%s' in the session context. The size of the key cannot exceed 128 bytes.",
    ),
    18456: (14, "Login failed for user '%s'."),
    33016: (
        16,
        "The user cannot be remapped to a login. Remapping can only be done for users that were "
        "mapped to Windows or SQL logins.",
    ),
    35100: (
        16,
        "Error number %s in the THROW statement is outside the valid range. Specify an "
        "error number in the valid range of 50000 to 2147483647.",
    ),
}

MESSAGES.update(LANGUAGE_MESSAGES)
MESSAGES.update(BROKER_MESSAGES)
MESSAGES.update(DATABASE_MESSAGES)
MESSAGES.update(DDL_MESSAGES)
MESSAGES.update(QUERY_MESSAGES)
MESSAGES.update(RELATIONAL_MESSAGES)
MESSAGES.update(DRIVER_MESSAGES)
MESSAGES.update(XML_MESSAGES)
MESSAGES.update(FUNCTION_MESSAGES)
MESSAGES.update(SECURITY_MESSAGES)

STATES: dict[int, int] = {137: 2, 232: 3, 515: 2, 628: 0, 9815: 0}
"""States that are not 1 wherever the error is raised (F-523)."""

ABORTS: dict[int, str] = {
    # Conversion and XML failures end the batch and roll back, XACT_ABORT or not
    # (observed on real servers; a failed CAST AS XML inside RECEIVE is why activation stalls).
    **dict.fromkeys((235, 241, 242, 245, 295, 8114, 8169, 8170), "batch"),
    **dict.fromkeys(range(9400, 9466), "batch"),
    **dict.fromkeys(
        (217, 650, 911, 942, 976, 1205, 2714, 3609, 3616, 3930, 3998, 6359, 8672), "batch"
    ),
    **dict.fromkeys((3951, 3952, 3960, 3961, 3964), "batch"),
    # Of definitions, and of SAVE TRANSACTION without a transaction (F-522).
    **dict.fromkeys((628, 1505, 1750, 1911, 1913, 3727, 4901, 4902, 4922, 4924), "batch"),
    **dict.fromkeys((207, 208), "scope"),
    596: "connection",
    **XML_ABORTS,
    **FUNCTION_ABORTS,
}
