"""Server messages by number: (severity, text). %-placeholders are filled by ``SqlError``.

Numbers and texts are Microsoft's (errors-events pages of the SQL Server documentation); clients and
scripts match on them. ``ABORTS`` lists the errors that end more than their statement.
"""

from __future__ import annotations

MESSAGES: dict[int, tuple[int, str]] = {
    102: (15, "Incorrect syntax near '%s'."),
    105: (15, "Unclosed quotation mark after the character string '%s'."),
    111: (15, "'%s' must be the first statement in a query batch."),
    134: (15, "The variable name '%s' has already been declared. Variable names must be unique "
              "within a query batch or stored procedure."),
    137: (15, "Must declare the scalar variable \"%s\"."),
    156: (15, "Incorrect syntax near the keyword '%s'."),
    201: (16, "Procedure or function '%s' expects parameter '%s', which was not supplied."),
    206: (16, "Operand type clash: %s is incompatible with %s"),
    207: (16, "Invalid column name '%s'."),
    208: (16, "Invalid object name '%s'."),
    213: (16, "Column name or number of supplied values does not match table definition."),
    217: (16, "Maximum stored procedure, function, trigger, or view nesting level exceeded "
              "(limit 32)."),
    220: (16, "Arithmetic overflow error for data type %s, value = %s."),
    229: (14, "The %s permission was denied on the object '%s', database '%s', schema '%s'."),
    235: (16, "Cannot convert a char value to money. The char value has incorrect syntax."),
    241: (16, "Conversion failed when converting date and/or time from character string."),
    242: (16, "The conversion of a %s data type to a %s data type resulted in an out-of-range "
              "value."),
    245: (16, "Conversion failed when converting the %s value '%s' to data type %s."),
    257: (16, "Implicit conversion from data type %s to %s is not allowed. Use the CONVERT "
              "function to run this query."),
    266: (16, "Transaction count after EXECUTE indicates a mismatching number of BEGIN and COMMIT "
              "statements. Previous count = %d, current count = %d."),
    295: (16, "Conversion failed when converting character string to smalldatetime data type."),
    297: (16, "The user does not have permission to perform this action."),
    334: (16, "The target table '%s' of the DML statement cannot have any enabled triggers if the "
              "statement contains an OUTPUT clause without INTO clause."),
    512: (16, "Subquery returned more than 1 value. This is not permitted when the subquery "
              "follows =, !=, <, <= , >, >= or when the subquery is used as an expression."),
    515: (16, "Cannot insert the value NULL into column '%s', table '%s'; column does not allow "
              "nulls. %s fails."),
    529: (16, "Explicit conversion from data type %s to %s is not allowed."),
    544: (16, "Cannot insert explicit value for identity column in table '%s' when "
              "IDENTITY_INSERT is set to OFF."),
    547: (16, "The %s statement conflicted with the %s constraint \"%s\". The conflict occurred in "
              "database \"%s\", table \"%s\"%s."),
    596: (21, "Cannot continue the execution because the session is in the kill state."),
    628: (16, "Cannot issue SAVE TRANSACTION when there is no active transaction."),
    650: (16, "You can only specify the READPAST lock in the READ COMMITTED or REPEATABLE READ "
              "isolation levels."),
    911: (16, "Database '%s' does not exist. Make sure that the name is entered correctly."),
    916: (14, "The server principal \"%s\" is not able to access the database \"%s\" under the "
              "current security context."),
    1205: (13, "Transaction (Process ID %d) was deadlocked on %s resources with another process "
               "and has been chosen as the deadlock victim. Rerun the transaction."),
    1222: (16, "Lock request time out period exceeded."),
    2601: (14, "Cannot insert duplicate key row in object '%s' with unique index '%s'. The "
               "duplicate key value is %s."),
    2627: (14, "Violation of %s constraint '%s'. Cannot insert duplicate key in object '%s'. The "
               "duplicate key value is %s."),
    2628: (16, "String or binary data would be truncated in table '%s', column '%s'. Truncated "
               "value: '%s'."),
    2714: (16, "There is already an object named '%s' in the database."),
    2778: (16, "Only System Administrator can specify WITH LOG option for RAISERROR command."),
    2812: (16, "Could not find stored procedure '%s'."),
    3609: (16, "The transaction ended in the trigger. The batch has been aborted."),
    3616: (16, "An error was raised during trigger execution. The batch has been aborted and the "
               "user transaction, if any, has been rolled back."),
    3621: (0, "The statement has been terminated."),
    3701: (11, "Cannot %s the %s '%s', because it does not exist or you do not have permission."),
    3902: (16, "The COMMIT TRANSACTION request has no corresponding BEGIN TRANSACTION."),
    3903: (16, "The ROLLBACK TRANSACTION request has no corresponding BEGIN TRANSACTION."),
    3930: (16, "The current transaction cannot be committed and cannot support operations that "
               "write to the log file. Roll back the transaction."),
    3931: (16, "The current transaction cannot be committed and cannot be rolled back to a "
               "savepoint. Roll back the entire transaction."),
    3998: (16, "Uncommittable transaction is detected at the end of the batch. The transaction is "
               "rolled back."),
    4060: (11, "Cannot open database \"%s\" requested by the login. The login failed."),
    6401: (16, "Cannot roll back %s. No transaction or savepoint of that name was found."),
    8114: (16, "Error converting data type %s to %s."),
    8115: (16, "Arithmetic overflow error converting %s to data type %s."),
    8134: (16, "Divide by zero error encountered."),
    8144: (16, "Procedure or function %s has too many arguments specified."),
    8145: (16, "%s is not a parameter for procedure %s."),
    8152: (16, "String or binary data would be truncated."),
    8169: (16, "Conversion failed when converting from a character string to uniqueidentifier."),
    8179: (16, "Could not find prepared statement with handle %d."),
    9420: (16, "XML parsing: line %d, character %d, illegal xml character"),
    15151: (16, "Cannot %s the %s '%s', because it does not exist or you do not have permission."),
    18456: (14, "Login failed for user '%s'."),
}

ABORTS: dict[int, str] = {
    # Conversion and XML failures end the batch and roll back, XACT_ABORT or not
    # (observed on real servers; a failed CAST AS XML inside RECEIVE is why activation stalls).
    **dict.fromkeys((235, 241, 242, 245, 295, 8114, 8169, 8170), "batch"),
    **dict.fromkeys(range(9400, 9466), "batch"),
    **dict.fromkeys((217, 650, 911, 1205, 2714, 3609, 3616, 3930, 3960, 3998, 6359, 8672), "batch"),
    **dict.fromkeys((207, 208), "scope"),
    596: "connection",
}
