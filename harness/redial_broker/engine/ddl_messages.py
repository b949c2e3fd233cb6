"""Messages of definitions: tables, constraints, indexes, modules, databases, SET options."""

from __future__ import annotations

DDL_MESSAGES: dict[int, tuple[int, str]] = {
    128: (
        15,
        'The name "%s" is not permitted in this context. Valid expressions are constants, constant '
        "expressions, and (in some contexts) variables. Column names are not permitted.",
    ),
    175: (15, "An aggregate may not appear in a computed column expression or check constraint."),
    511: (
        16,
        "Cannot create a row of size %d which is greater than the allowable maximum row size "
        "of %d.",
    ),
    1701: (
        16,
        "Creating or altering table '%s' failed because the minimum row size would be %d, "
        "including %d bytes of internal overhead. This exceeds the maximum allowable table row "
        "size of %d bytes.",
    ),
    1934: (
        16,
        "%s failed because the following SET options have incorrect settings: '%s'. Verify that "
        "SET options are correct for use with indexed views and/or indexes on computed columns "
        "and/or filtered indexes and/or query notifications and/or XML data type methods and/or "
        "spatial index operations.",
    ),
    6110: (16, "The distributed transaction with UOW %s does not exist."),
    9837: (
        16,
        "An invalid date value was encountered: The date value is less than the minimum date value "
        "allowed for the data type.",
    ),
    15213: (
        10,
        "Warning: The certificate you created has an invalid validity period; its expiration date "
        "precedes its start date.",
    ),
    15214: (10, "Warning: The certificate you created is expired."),
    15215: (
        10,
        "Warning: The certificate you created is not yet valid; its start date is in the future.",
    ),
    10735: (15, "Incorrect WHERE clause for filtered index '%s' on table '%s'."),
    2752: (16, "Identity column '%s' contains invalid SEED."),
    2753: (16, "Identity column '%s' contains invalid INCREMENT."),
    8141: (
        16,
        "Column %s constraint for column '%s' references another column, table '%s'.",
    ),
    271: (
        16,
        'The column "%s" cannot be modified because it is either a computed column or is '
        "the result of a UNION operator.",
    ),
    129: (15, "Fillfactor %d is not a valid percentage; fillfactor must be between 1 and 100."),
    332: (
        16,
        "The target table '%s' of the OUTPUT INTO clause cannot be on either side of a "
        "(primary key, foreign key) relationship. Found reference constraint '%s'.",
    ),
    333: (
        16,
        "The target table '%s' of the OUTPUT INTO clause cannot have any enabled check "
        "constraints or any enabled rules. Found check constraint or rule '%s'.",
    ),
    1731: (
        16,
        "Cannot create the sparse column '%s' in the table '%s' because an option or data "
        "type specified is not valid. A sparse column must be nullable and cannot have the "
        "ROWGUIDCOL, IDENTITY, or FILESTREAM properties. A sparse column cannot be of the "
        "following data types: text, ntext, image, geometry, geography, or user-defined "
        "type.",
    ),
    448: (16, "Invalid collation '%s'."),
    923: (
        14,
        "Database '%s' is in restricted mode. Only the database owner and members of the "
        "dbcreator and sysadmin roles can access it.",
    ),
    574: (16, "%s statement cannot be used inside a user transaction."),
    1054: (15, "Syntax '%s' is not allowed in schema-bound objects."),
    1750: (16, "Could not create constraint or index. See previous errors."),
    1753: (
        16,
        "Column '%s.%s' is not the same length or scale as referencing column '%s.%s' in "
        "foreign key '%s'. Columns participating in a foreign key relationship must be "
        "defined with the same length and scale.",
    ),
    1756: (
        10,
        "Skipping FOREIGN KEY constraint '%s' definition for temporary table. FOREIGN KEY "
        "constraints are not enforced on local or global temporary tables.",
    ),
    1757: (
        16,
        "Column '%s.%s' is not of same collation as referencing column '%s.%s' in foreign "
        "key '%s'.",
    ),
    1759: (
        16,
        "Computed column '%s' in table '%s' is not allowed to be used in another "
        "computed-column definition.",
    ),
    1761: (
        16,
        'Cannot create the foreign key "%s" with the SET NULL referential action, because '
        "one or more referencing columns are not nullable.",
    ),
    1762: (
        16,
        'Cannot create the foreign key "%s" with the SET DEFAULT referential action, '
        "because one or more referencing not-nullable columns lack a default constraint.",
    ),
    1763: (16, "Cross-database foreign key references are not supported. Foreign key '%s'."),
    1766: (16, "Foreign key references to temporary tables are not supported. Foreign key '%s'."),
    1767: (16, "Foreign key '%s' references invalid table '%s'."),
    1769: (16, "Foreign key '%s' references invalid column '%s' in referencing table '%s'."),
    1770: (16, "Foreign key '%s' references invalid column '%s' in referenced table '%s'."),
    1773: (
        16,
        "Foreign key '%s' has implicit reference to object '%s' which does not have a "
        "primary key defined on it.",
    ),
    1774: (
        16,
        "The number of columns in the referencing column list for foreign key '%s' does not "
        "match those of the primary key in the referenced table '%s'.",
    ),
    1776: (
        16,
        "There are no primary or candidate keys in the referenced table '%s' that match the "
        "referencing column list in the foreign key '%s'.",
    ),
    1778: (
        16,
        "Column '%s.%s' is not the same data type as referencing column '%s.%s' in foreign "
        "key '%s'.",
    ),
    1785: (
        16,
        "Introducing FOREIGN KEY constraint '%s' on table '%s' may cause cycles or multiple "
        "cascade paths. Specify ON DELETE NO ACTION or ON UPDATE NO ACTION, or modify other "
        "FOREIGN KEY constraints.",
    ),
    1973: (
        16,
        "Cannot perform the specified operation on disabled index '%s' on table '%s'.",
    ),
    1787: (
        16,
        "Cannot define foreign key constraint '%s' with cascaded DELETE or UPDATE on table "
        "'%s' because the table has an INSTEAD OF DELETE or UPDATE TRIGGER defined on it.",
    ),
    315: (
        16,
        'Index "%s" on table "%s" (specified in the FROM clause) is disabled or resides '
        "in a filegroup which is not online.",
    ),
    1907: (
        16,
        "Cannot recreate index '%s'. The new index definition does not match the constraint "
        "being enforced by the existing index.",
    ),
    1916: (16, "CREATE INDEX options nonunique and ignore_dup_key are mutually exclusive."),
    1999: (
        16,
        "Column '%s' in table '%s' is of a type that is invalid for use as included column in an "
        "index.",
    ),
    2739: (16, "The text, ntext, and image data types are invalid for local variables."),
    1927: (16, "There are already statistics on table '%s' named '%s'."),
    1944: (
        16,
        "Index '%s' was not created. This index has a key length of at least %d bytes. The "
        "maximum permissible key length is %d bytes.",
    ),
    1946: (
        16,
        "Operation failed. The index entry of length %d bytes for the index '%s' exceeds "
        "the maximum length of %d bytes for %s indexes.",
    ),
    2113: (
        16,
        "Cannot %s INSTEAD OF DELETE or INSTEAD OF UPDATE TRIGGER '%s' on table '%s'. This "
        "is because the table has a FOREIGN KEY with cascading DELETE or UPDATE.",
    ),
    2740: (
        16,
        "SET LANGUAGE failed because '%s' is not an official language name or a language "
        "alias on this SQL Server.",
    ),
    2741: (16, "SET DATEFORMAT date order '%s' is invalid."),
    2742: (16, "SET DATEFIRST %s is out of range."),
    2501: (16, 'Cannot find a table or object with the name "%s". Check the system catalog.'),
    2571: (14, "User '%s' does not have permission to run DBCC %s."),
    2560: (16, "Parameter %d is incorrect for this DBCC statement."),
    2583: (16, "An incorrect number of parameters was given to the DBCC statement."),
    2706: (11, "Table '%s' does not exist."),
    2767: (16, "Could not locate statistics '%s' in the system catalogs."),
    2761: (16, "The ROWGUIDCOL property can only be specified on the uniqueidentifier data type."),
    3604: (10, "Duplicate key was ignored."),
    3725: (
        16,
        "The constraint '%s' is being referenced by table '%s', foreign key constraint '%s'.",
    ),
    3726: (16, "Could not drop object '%s' because it is referenced by a FOREIGN KEY constraint."),
    3727: (16, "Could not drop constraint. See previous errors."),
    3906: (16, 'Failed to update database "%s" because the database is read-only.'),
    4512: (
        16,
        "Cannot schema bind %s '%s' because name '%s' is invalid for schema binding. Names "
        "must be in two-part format and an object cannot reference itself.",
    ),
    4617: (16, "Cannot grant, deny or revoke permissions to or from special roles."),
    4624: (
        16,
        "Cannot grant, deny, or revoke permissions to sa, dbo, entity owner, "
        "information_schema, sys, or yourself.",
    ),
    4916: (16, "Could not enable or disable the constraint. See previous errors."),
    4917: (16, "Constraint '%s' does not exist."),
    4936: (
        16,
        "Computed column '%s' in table '%s' cannot be persisted because the column is "
        "non-deterministic.",
    ),
    5030: (16, "The database could not be exclusively locked to perform the operation."),
    5074: (16, "The %s '%s' is dependent on %s '%s'."),
    11415: (
        16,
        "Object '%s' cannot be disabled or enabled. This action applies only to foreign "
        "key and check constraints.",
    ),
    7999: (16, "Could not find any index named '%s' for table '%s'."),
    5313: (16, "Synonym '%s' refers to an invalid object."),
    15223: (11, "Error: The input parameter '%s' is not allowed to be null."),
    15225: (
        11,
        "No item by the name of '%s' could be found in the current database '%s', given "
        "that @itemtype was input as '%s'.",
    ),
    15249: (11, "Error: Explicit @objtype '%s' is unrecognized."),
    15252: (16, "The primary or foreign key table name must be given."),
    15335: (
        11,
        "Error: The new name '%s' is already in use as a %s name and would cause a "
        "duplicate that is not permitted.",
    ),
    15336: (
        16,
        "Object '%s' cannot be renamed because the object participates in enforced dependencies.",
    ),
    15347: (16, "Cannot transfer an object that is owned by a parent object."),
    5812: (14, "You do not have permission to run the RECONFIGURE statement."),
    7997: (16, "'%s' does not contain an identity column."),
    15048: (16, "Valid values of the database compatibility level are %s."),
    15123: (16, "The configuration option '%s' does not exist, or it may be an advanced option."),
    15125: (16, "Trigger '%s' is not a trigger for '%s'."),
    15129: (16, "'%d' is not a valid value for configuration option '%s'."),
    15130: (16, "There already exists a '%s' trigger for '%s'."),
    15133: (16, "INSTEAD OF trigger '%s' cannot be associated with an order."),
    8139: (
        16,
        "Number of referencing columns in foreign key differs from number of referenced "
        "columns, table '%s'.",
    ),
    8196: (16, "Duplicate column specified as ROWGUIDCOL."),
    3739: (11, "Cannot %s the index '%s' because it is not a statistics collection."),
    4712: (
        16,
        "Cannot truncate table '%s' because it is being referenced by a FOREIGN KEY constraint.",
    ),
}
