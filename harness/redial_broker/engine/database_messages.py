"""Messages about the state of a database, the server's product, and what the server lacks.

Numbers and texts: errors-events pages. 40508 and 40510: the list of Azure SQL Database's errors.
"""

from __future__ import annotations

DATABASE_MESSAGES: dict[int, tuple[int, str]] = {
    319: (
        15,
        "Incorrect syntax near the keyword 'with'. If this statement is a common table "
        "expression, an xmlnamespaces clause or a change tracking context clause, the previous "
        "statement must be terminated with a semicolon.",
    ),
    652: (
        16,
        'The index "" for table "%s" (RowsetId 0) resides on a read-only filegroup ("FG"), which '
        "cannot be modified.",
    ),
    942: (14, "Database '%s' cannot be opened because it is offline."),
    976: (
        14,
        "The target database, '%s', is participating in an availability group and is currently "
        "not accessible for queries. Either data movement is suspended or the availability "
        "replica is not enabled for read access. To allow read-only access to this and other "
        "databases in the availability group, enable read access to one or more secondary "
        "availability replicas in the group.  For more information, see the ALTER AVAILABILITY "
        "GROUP statement in SQL Server Books Online.",
    ),
    1105: (
        17,
        "Could not allocate space for object '%s' in database '%s' because the 'PRIMARY' filegroup "
        "is full. Create disk space by deleting unneeded files, dropping objects in the filegroup, "
        "adding additional files to the filegroup, or setting autogrowth on for existing files in "
        "the filegroup.",
    ),
    1468: (
        16,
        'The operation cannot be performed on database "%s" because it is involved in a database '
        "mirroring session or an availability group. Some operations are not allowed on a database "
        "that is participating in a database mirroring session or in an availability group.",
    ),
    3908: (
        16,
        "Could not run BEGIN TRANSACTION in database '%s' because the database is in emergency "
        "mode or is damaged and must be restarted.",
    ),
    5008: (
        16,
        "This ALTER DATABASE statement is not supported. Correct the syntax and execute the "
        "statement again.",
    ),
    5060: (
        10,
        "Nonqualified transactions are being rolled back. Estimated rollback completion: %d%%.",
    ),
    5061: (
        16,
        "ALTER DATABASE failed because a lock could not be placed on database '%s'. Try again "
        "later.",
    ),
    5064: (
        16,
        "Changes to the state or options of database '%s' cannot be made at this time. The "
        "database is in single-user mode, and a user is currently connected to it.",
    ),
    5068: (
        10,
        "Failed to restart the current database. The current database is switched to master.",
    ),
    5069: (16, "ALTER DATABASE statement failed."),
    9002: (
        17,
        "The transaction log for database '%s' is full due to 'ACTIVE_TRANSACTION'.",
    ),
    40508: (
        16,
        "USE statement is not supported to switch between databases. Use a new connection to "
        "connect to a different database.",
    ),
    40510: (15, "Statement '%s' is not supported in this version of SQL Server."),
}
