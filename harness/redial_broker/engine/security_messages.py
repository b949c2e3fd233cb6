"""Messages about permissions, principals, keys and certificates; ``messages.MESSAGES`` has them.

Numbers and texts are Microsoft's (errors-events pages of the SQL Server documentation).
"""

from __future__ import annotations

SECURITY_MESSAGES: dict[int, tuple[int, str]] = {
    230: (
        14,
        "The %s permission was denied on the column '%s' of the object '%s', database "
        "'%s', schema '%s'.",
    ),
    1020: (
        15,
        "Sub-entity lists (such as column or security expressions) cannot be specified for "
        "entity-level permissions.",
    ),
    2571: (14, "User '%s' does not have permission to run DBCC %s."),
    2732: (
        16,
        "Error number %d is invalid. The number must be from %d through %d and it cannot be 50000.",
    ),
    18054: (
        16,
        "Error %d, severity %d, state %d was raised, but no message with that error number "
        "was found in sys.messages. If error is larger than 50000, make sure the "
        "user-defined message is added using sp_addmessage.",
    ),
    4602: (
        14,
        "Only members of the sysadmin role can grant or revoke the CREATE DATABASE permission.",
    ),
    4604: (16, "There is no such user or group '%s' or you do not have permission."),
    4610: (16, "You can only grant or revoke permissions on objects in the current database."),
    4611: (16, "To revoke or deny grantable privileges, specify the CASCADE option."),
    4615: (16, "Invalid column name '%s'."),
    4617: (16, "Cannot grant, deny or revoke permissions to or from special roles."),
    4618: (16, "You do not have permission to use %s in the AS clause."),
    4619: (16, "CREATE DATABASE permission can only be granted in the master database."),
    4620: (
        16,
        "All permissions in a grant/deny/revoke statement should be at the same scope "
        "(e.g., server or database)",
    ),
    4622: (16, "Permissions at the server scope can only be granted to logins"),
    4623: (
        16,
        "The all permission has been deprecated and is not available for this class of entity",
    ),
    4624: (
        16,
        "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, "
        "information_schema, sys, or yourself.",
    ),
    4627: (
        16,
        "Cannot grant, deny, or revoke the connect database permission to roles and "
        "application roles.",
    ),
    4628: (
        16,
        "The ALL permission is deprecated and maintained only for compatibility. It DOES "
        "NOT imply ALL permissions defined on the entity.",
    ),
    15003: (16, "Only members of the %s role can execute this stored procedure."),
    15014: (16, "The role '%s' does not exist in the current database."),
    15062: (16, "The guest user cannot be mapped to a login name."),
    15081: (16, "Membership of the public role cannot be changed."),
    15109: (16, "Cannot change the owner of the master, model, tempdb or distribution database."),
    15110: (16, "The proposed new database owner is already a user or aliased in the database."),
    15116: (
        16,
        "Password validation failed. The password does not meet the operating system "
        "policy requirements because it is too short.",
    ),
    15118: (
        16,
        "Password validation failed. The password does not meet the operating system "
        "policy requirements because it is not complex enough.",
    ),
    15136: (
        16,
        "The database principal is set as the execution context of one or more "
        "procedures, functions, or event notifications and cannot be dropped.",
    ),
    15141: (16, "The server principal owns one or more %s(s) and cannot be dropped."),
    15021: (16, "Invalid value given for parameter %s. Specify a valid parameter value."),
    15040: (16, "User-defined error messages must have an ID greater than 50000."),
    15041: (16, "User-defined error messages must have a severity level between 1 and 25."),
    15173: (
        16,
        "Server principal '%s' has granted one or more permission(s). Revoke the "
        "permission(s) before dropping the server principal.",
    ),
    15176: (16, "The only valid @parameter value is 'WITH_LOG'."),
    15178: (16, "Cannot drop a message with an ID less than 50,000."),
    15271: (16, "Invalid @with_log parameter value. Valid values are 'true' or 'false'."),
    15277: (16, "The only valid @parameter_value values are 'true' or 'false'."),
    15402: (11, "'%s' is not a fixed server role."),
    15309: (16, "Cannot alter the trustworthy state of the model or tempdb databases."),
    6102: (14, "User does not have permission to use the KILL statement."),
    7955: (16, "Invalid SPID %d specified."),
    15182: (16, "Cannot disable access to the guest user in master or tempdb."),
    15196: (16, 'The current security context is non-revertible. The "Revert" statement failed.'),
    15199: (
        16,
        "The current security context cannot be reverted. Please switch to the original "
        "database where '%s' was called and try it again.",
    ),
    15208: (
        16,
        "The certificate, asymmetric key, or private key file is not valid or does not "
        "exist; or you do not have permissions for it.",
    ),
    15232: (
        16,
        "A certificate with name '%s' already exists or this certificate already has been "
        "added to the database.",
    ),
    15240: (
        16,
        "Cannot write into file '%s'. Verify that you have write permissions, that the "
        "file path is valid, and that the file does not already exist.",
    ),
    15246: (
        16,
        "Cannot dump the private key of certificate '%s' because the private key cannot be found.",
    ),
    15259: (
        16,
        "The DEFAULT_SCHEMA clause cannot be used with principals mapped to certificates "
        "or asymmetric keys.",
    ),
    15282: (
        16,
        "A key with name '%s' or user defined unique identifier already exists or you do "
        "not have permissions to create it.",
    ),
    15284: (
        16,
        "The database principal has granted or denied permissions to objects in the "
        "database and cannot be dropped.",
    ),
    15286: (
        16,
        "Terminating this procedure. The @action '%s' is unrecognized. Try 'REPORT', "
        "'UPDATE_ONE', or 'AUTO_FIX'.",
    ),
    15291: (16, "Terminating this procedure. The %s name '%s' is absent or invalid."),
    15297: (16, "The certificate, asymmetric key, or private key data is invalid."),
    15299: (16, "The signature of the public key is invalid."),
    15313: (16, "The key is not encrypted using the specified decryptor."),
    15315: (16, "The key '%s' is not open. Please open the key before using it."),
    15317: (16, "The master key file does not exist or has invalid format."),
    15334: (
        16,
        "The %s has a private key that is protected by a user defined password. That "
        "password needs to be provided to enable the use of the private key.",
    ),
    15345: (
        16,
        "An entity of type %s cannot be owned by a role, a group, or by principals mapped "
        "to certificates or asymmetric keys.",
    ),
    15352: (
        16,
        "The %s cannot be dropped because one or more entities are either signed or "
        "encrypted using it.",
    ),
    15357: (
        16,
        'The current security context was set by "%s". It cannot be reverted by statement "%s".',
    ),
    15410: (11, "User or role '%s' does not exist in this database."),
    15421: (16, "The database principal owns a database role and cannot be dropped."),
    15433: (16, "Supplied parameter sid is in use."),
    15432: (16, "Stored procedure '%s' can only be executed at the ad hoc level."),
    15465: (16, "The private key password is invalid."),
    15466: (16, "An error occurred during decryption."),
    15474: (16, "Invalid private key. The private key does not match the public key of the %s."),
    15530: (16, 'The %s with name "%s" already exists.'),
    15533: (16, "Invalid data type is supplied in the '%s' statement."),
    15539: (
        16,
        "User '%s' cannot be dropped, it can only be disabled. The user is already "
        "disabled in the current database.",
    ),
    15556: (
        16,
        "Cannot decrypt or encrypt using the specified %s, either because it has no "
        "private key or because the password provided for the private key is incorrect.",
    ),
    15557: (16, "There is already a %s by %s '%s'."),
    15558: (16, "Cannot drop %s by %s '%s'."),
    15559: (16, "Cannot drop %s '%s' because there is a %s mapped to it."),
    15560: (16, "Cannot add or drop a signature on '%s' because only modules can be signed."),
    15578: (
        16,
        "There is already a master key in the database. Please drop it before performing "
        "this statement.",
    ),
    15580: (16, "Cannot drop %s because %s '%s' is encrypted by it."),
    15581: (
        16,
        "Please create a master key in the database or open the master key in the session "
        "before performing this operation.",
    ),
    15583: (
        10,
        "The module being signed is marked to execute as owner. If the owner changes the "
        "signature will not be valid.",
    ),
    15589: (16, "Cannot revert the current security context because the cookie is invalid."),
    15590: (
        16,
        "Can only use the 'No Revert' or 'Cookie' options with the 'Execute As' statement "
        "at the adhoc level.",
    ),
    15591: (
        16,
        "The current security context cannot be reverted using this statement. A cookie "
        "may or may not be needed with 'Revert' statement depending on how the context "
        "was set with 'Execute As' statement.",
    ),
}
