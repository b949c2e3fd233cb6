"""What somebody does by hand to a table or a table type: how it is mended, the statement, the finding."""

from __future__ import annotations

from .by_hand import ALLOWED, FILES, NOBODY, PERSON, TAKEN, UNASKED, Change


def exchanged(one: str, other: str, table: str = "") -> str:
    """Statements that exchange two names, of columns where a table is told."""
    kind = ", N'COLUMN'" if table else ""
    return "".join(
        f"EXECUTE sp_rename N'audit.{table}{old}', N'{new}'{kind}; "
        for old, new in ((one, "tmp"), (other, one), ("tmp", other))
    )


CHANGES: dict[str, Change] = {
    "a table of somebody's": Change(
        PERSON,
        "CREATE TABLE audit.Mine (A int NOT NULL);",
        "table Mine is there, and no file",
    ),
    "a table of ours is gone": Change(
        FILES,
        "DROP TABLE audit.ErrorLog;",
        "table ErrorLog is missing",
    ),
    "lock escalation": Change(
        UNASKED,
        "ALTER TABLE audit.SentMessage SET (LOCK_ESCALATION = TABLE);",
        "table SentMessage: lock escalation is table, not disable",
    ),
    "one more column": Change(
        PERSON,
        "ALTER TABLE audit.DeadLetter ADD Extra int NULL;",
        "column Extra of DeadLetter is there, and no file",
    ),
    "a column is gone": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP COLUMN SenderHost;",
        "column SenderHost of Landing is missing",
    ),
    "a narrower column": Change(
        UNASKED,
        "ALTER TABLE audit.Landing ALTER COLUMN ConversationKey nvarchar(100) NULL;",
        "column ConversationKey of Landing: type is nvarchar(100), not nvarchar(200)",
    ),
    "a column of a finer time": Change(
        ALLOWED,
        "ALTER TABLE audit.ConversationLog ALTER COLUMN EndedUtc datetime2(7) NULL;",
        "column EndedUtc of ConversationLog: type is datetime2(7), not datetime2(3)",
    ),
    "a column that may be NULL": Change(
        UNASKED,
        "ALTER TABLE audit.Landing ALTER COLUMN MessageType nvarchar(256) NULL;",
        "column MessageType of Landing: nullable is on, not off",
    ),
    "a column of another collation": Change(
        UNASKED,
        "ALTER TABLE audit.Landing ALTER COLUMN ConversationKey nvarchar(200) COLLATE "
        "Latin1_General_BIN2 NULL;",
        "column ConversationKey of Landing: collation is Latin1_General_BIN2",
    ),
    "a default is gone": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc;",
        "column LandedUtc of Landing: default is nothing, not SYSUTCDATETIME(). Who",
    ),
    "another default": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; ALTER TABLE "
        "audit.Landing ADD CONSTRAINT DF_Landing_LandedUtc DEFAULT (GETDATE()) FOR LandedUtc;",
        "column LandedUtc of Landing: default is (getdate()), not SYSUTCDATETIME(). Who",
    ),
    "a default of another name": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; ALTER TABLE "
        "audit.Landing ADD CONSTRAINT DF_x DEFAULT (SYSUTCDATETIME()) FOR LandedUtc;",
        "column LandedUtc of Landing: default's name is DF_x",
    ),
    "a check of somebody's": Change(
        ALLOWED,
        "ALTER TABLE audit.Landing ADD CONSTRAINT CK_x CHECK (MessageSequence >= 0);",
        "check CK_x of Landing is there, and no file",
    ),
    "a foreign key from our table": Change(
        ALLOWED,
        "CREATE TABLE dbo.Theirs (Handle uniqueidentifier NOT NULL PRIMARY KEY); ALTER TABLE "
        "audit.ConversationLog WITH NOCHECK ADD CONSTRAINT FK_x FOREIGN KEY (Handle) REFERENCES "
        "dbo.Theirs (Handle);",
        "foreign key FK_x of ConversationLog is there, and no file",
    ),
    "an index is gone": Change(
        UNASKED,
        "DROP INDEX UX_SessionConversations_Handle ON audit.SessionConversations;",
        "index UX_SessionConversations_Handle of SessionConversations is missing",
    ),
    "an index of somebody's": Change(
        ALLOWED,
        "CREATE INDEX IX_x ON audit.Landing (LandedUtc);",
        "index IX_x of Landing is there, and no file",
    ),
    "an index on other columns": Change(
        UNASKED,
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; CREATE INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc DESC, JobId) INCLUDE (SentBy) WHERE "
        "JobId IS NOT NULL;",
        "index IX_SendLedger_SentUtc of SendLedger: columns is SentUtc descending, JobId, not "
        "SentUtc",
    ),
    "an index that is unique": Change(
        UNASKED,
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; CREATE UNIQUE INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc) WITH (IGNORE_DUP_KEY = ON);",
        "index IX_SendLedger_SentUtc of SendLedger: unique is on, not off",
    ),
    "page locks": Change(
        UNASKED,
        "ALTER INDEX PK_SessionConversations ON audit.SessionConversations SET (ALLOW_PAGE_LOCKS "
        "= ON);",
        "index PK_SessionConversations of SessionConversations: page locks is on, not off",
    ),
    "an index is switched off": Change(
        UNASKED,
        "ALTER INDEX UX_SessionConversations_Handle ON audit.SessionConversations DISABLE;",
        "index UX_SessionConversations_Handle of SessionConversations: in use is off, not on",
    ),
    "an index is switched off, and locks pages": Change(
        UNASKED,
        "ALTER INDEX UX_SessionConversations_Handle ON audit.SessionConversations SET (ALLOW_PAGE_LOCKS "
        "= ON, IGNORE_DUP_KEY = ON); ALTER INDEX UX_SessionConversations_Handle ON "
        "audit.SessionConversations DISABLE;",
        "index UX_SessionConversations_Handle of SessionConversations: page locks is on, not off",
    ),
    "a compressed index is switched off": Change(
        UNASKED,
        "ALTER INDEX IX_SendLedger_SentUtc ON audit.SendLedger REBUILD WITH (DATA_COMPRESSION = PAGE, "
        "FILLFACTOR = 50); ALTER INDEX IX_SendLedger_SentUtc ON audit.SendLedger SET "
        "(OPTIMIZE_FOR_SEQUENTIAL_KEY = ON); ALTER INDEX IX_SendLedger_SentUtc ON audit.SendLedger DISABLE;",
        "index IX_SendLedger_SentUtc of SendLedger: sequential is on, not off",
    ),
    "an index on other columns is switched off": Change(
        UNASKED,
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; CREATE INDEX IX_SendLedger_SentUtc ON "
        "audit.SendLedger (SentUtc, JobId) WITH (PAD_INDEX = ON, FILLFACTOR = 50); ALTER INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger DISABLE;",
        "index IX_SendLedger_SentUtc of SendLedger: columns is SentUtc, JobId, not SentUtc",
    ),
    "an owner of its own for a table": Change(
        UNASKED,
        "ALTER AUTHORIZATION ON OBJECT::audit.Landing TO dbo;",
        "table Landing: owner is dbo, not nothing",
    ),
    "statistics of somebody's": Change(
        ALLOWED,
        "CREATE STATISTICS theirs ON audit.Landing (LandedUtc);",
        "statistics theirs of Landing is there, and no file",
    ),
    "a mark of another configuration": Change(
        ALLOWED,
        "EXECUTE sys.sp_updateextendedproperty N'Redial.made', N'other', N'SCHEMA', N'audit', "
        "N'TABLE', N'Landing';",
        "mark TABLE of Landing: configuration is other, not audit",
    ),
    "a table without its mark": Change(
        PERSON,
        "EXECUTE sys.sp_dropextendedproperty N'Redial.made', N'SCHEMA', N'audit', N'TABLE', "
        "N'Landing';",
        "mark TABLE of Landing is missing",
    ),
    "a column that verification itself reads is gone": Change(
        UNASKED,
        "ALTER TABLE audit.Gate DROP COLUMN Reason;",
        "column Reason of Gate is missing",
    ),
    "a column that is renamed": Change(
        ALLOWED,
        "EXECUTE sp_rename N'audit.Landing.SenderHost', N'Host', N'COLUMN';",
        "column SenderHost of Landing is missing, and Host there is like it",
    ),
    "a column with a default that is renamed": Change(
        ALLOWED,
        "EXECUTE sp_rename N'audit.Landing.LandedUtc', N'Since', N'COLUMN';",
        "column LandedUtc of Landing is missing, and Since there is like it",
    ),
    "an index that is renamed": Change(
        ALLOWED,
        "EXECUTE sp_rename N'audit.SendLedger.IX_SendLedger_SentUtc', N'IX_y', N'INDEX';",
        "index IX_y of SendLedger is there, and no file",
    ),
    "a key that is renamed": Change(
        UNASKED,
        "EXECUTE sp_rename N'audit.PK_ErrorLog', N'PK_theirs';",
        "index PK_ErrorLog of ErrorLog is missing, and PK_theirs there is like it",
    ),
    "a column that takes no NULL": Change(
        UNASKED,
        "ALTER TABLE audit.Landing ALTER COLUMN SenderHost nvarchar(128) NOT NULL;",
        "column SenderHost of Landing: nullable is off, not on",
    ),
    "a default where there is none": Change(
        UNASKED,
        "ALTER TABLE audit.Landing ADD CONSTRAINT DF_x DEFAULT (N'x') FOR SenderHost;",
        "column SenderHost of Landing: default is (N'x'), not nothing",
    ),
    "a computed column": Change(
        NOBODY,
        "ALTER TABLE audit.Landing DROP COLUMN SenderHost; ALTER TABLE audit.Landing ADD "
        "SenderHost AS CONVERT(nvarchar(128), SenderApp);",
        "column SenderHost of Landing: computed is (CONVERT(nvarchar(128), SenderApp)), not nothing",
    ),
    "an index with more columns": Change(
        UNASKED,
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; CREATE INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc) INCLUDE (SentBy);",
        "index IX_SendLedger_SentUtc of SendLedger: included is SentBy, not nothing",
    ),
    "an index of some rows": Change(
        UNASKED,
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; CREATE INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc) WHERE SentBy IS NOT NULL;",
        "index IX_SendLedger_SentUtc of SendLedger: filter is (SentBy IS NOT NULL), not nothing",
    ),
    "a unique index": Change(
        UNASKED,
        "DROP INDEX IX_SendLedger_SentUtc ON audit.SendLedger; CREATE UNIQUE INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger (SentUtc);",
        "index IX_SendLedger_SentUtc of SendLedger: unique is on, not off",
    ),
    "a key whose rows are in another order": Change(
        ALLOWED,
        "ALTER TABLE audit.SendLedger DROP CONSTRAINT PK_SendLedger; DROP INDEX "
        "IX_SendLedger_SentUtc ON audit.SendLedger; CREATE CLUSTERED INDEX IX_SendLedger_SentUtc "
        "ON audit.SendLedger (SentUtc); ALTER TABLE audit.SendLedger ADD CONSTRAINT "
        "PK_SendLedger PRIMARY KEY NONCLUSTERED (JobId, BatchId, PartitionId, Chunk);",
        "index PK_SendLedger of SendLedger: clustered is off, not on",
    ),
    "a key that is none": Change(
        ALLOWED,
        "ALTER TABLE audit.ErrorLog DROP CONSTRAINT PK_ErrorLog; ALTER TABLE audit.ErrorLog ADD "
        "CONSTRAINT PK_ErrorLog UNIQUE CLUSTERED (ErrorLogId);",
        "index PK_ErrorLog of ErrorLog: role is unique constraint, not primary key",
    ),
    "a key is gone": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT PK_Landing;",
        "index PK_Landing of Landing is missing",
    ),
    "an index with room": Change(
        ALLOWED,
        "ALTER INDEX IX_SendLedger_SentUtc ON audit.SendLedger REBUILD WITH (FILLFACTOR = 50);",
        "index IX_SendLedger_SentUtc of SendLedger: fill factor is 50, not 0",
    ),
    "an index with room above": Change(
        ALLOWED,
        "ALTER INDEX IX_SendLedger_SentUtc ON audit.SendLedger REBUILD WITH (PAD_INDEX = ON);",
        "index IX_SendLedger_SentUtc of SendLedger: padded is on, not off",
    ),
    "a compressed index": Change(
        ALLOWED,
        "ALTER INDEX IX_SendLedger_SentUtc ON audit.SendLedger REBUILD WITH (DATA_COMPRESSION = "
        "PAGE);",
        "index IX_SendLedger_SentUtc of SendLedger: compression is page, not none",
    ),
    "writers who do not take turns": Change(
        UNASKED,
        "ALTER INDEX PK_Landing ON audit.Landing SET (OPTIMIZE_FOR_SEQUENTIAL_KEY = OFF);",
        "index PK_Landing of Landing: sequential is off, not on",
    ),
    "an index that swallows what is there already": Change(
        UNASKED,
        "DROP INDEX UX_SessionConversations_Handle ON audit.SessionConversations; CREATE UNIQUE "
        "INDEX UX_SessionConversations_Handle ON audit.SessionConversations (Handle) WITH "
        "(ALLOW_PAGE_LOCKS = OFF, IGNORE_DUP_KEY = ON);",
        "index UX_SessionConversations_Handle of SessionConversations: ignores duplicates is on, "
        "not off",
    ),
    "a table type is gone": Change(
        FILES,
        "DROP PROCEDURE audit.usp_SendBatch, audit.usp_SendMessages, audit.usp_CheckMessages; "
        "DROP TYPE audit.MessageBatch;",
        "type MessageBatch is missing",
    ),
    "a type of somebody's": Change(
        PERSON,
        "CREATE TYPE audit.Mine FROM int;",
        "alias type Mine is there, and no file",
    ),
    "a table type of somebody's": Change(
        PERSON,
        "CREATE TYPE audit.Mine AS TABLE (A int);",
        "type Mine is there, and no file",
    ),
    "a view in a table's place": Change(
        TAKEN,
        "DROP TABLE audit.ErrorLog; EXECUTE (N'CREATE VIEW audit.ErrorLog AS SELECT 1 AS a;');",
        "table ErrorLog is missing",
    ),
    "a synonym in a table's place": Change(
        TAKEN,
        "DROP TABLE audit.ErrorLog; CREATE SYNONYM audit.ErrorLog FOR dbo.x;",
        "table ErrorLog is missing",
    ),
    "a table that is renamed, with its key": Change(
        PERSON,
        "EXECUTE sp_rename N'audit.DeadLetter', N'DeadLetter_old'; EXECUTE sp_rename "
        "N'audit.PK_DeadLetter', N'PK_old';",
        "table DeadLetter_old was made by Redial",
    ),
    "a table that is renamed": Change(
        PERSON,
        "EXECUTE sp_rename N'audit.DeadLetter', N'DeadLetter_old';",
        "table DeadLetter_old was made by Redial",
    ),
    "a table in another schema": Change(
        PERSON,
        "EXECUTE (N'CREATE SCHEMA archive;'); ALTER SCHEMA archive TRANSFER audit.Landing;",
        "table archive.Landing was made by Redial",
    ),
    "a column whose rows would get today's date": Change(
        ALLOWED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; "
        "ALTER TABLE audit.Landing DROP COLUMN LandedUtc;",
        "column LandedUtc of Landing is missing",
    ),
    "names of two keys exchanged": Change(
        UNASKED,
        exchanged("PK_ErrorLog", "PK_DeadLetter"),
        "index PK_DeadLetter of DeadLetter is missing, and PK_ErrorLog there is like it; names are mixed up",
    ),
    "names of three keys passed on": Change(
        UNASKED,
        "EXECUTE sp_rename N'audit.PK_ErrorLog', N'tmp'; EXECUTE sp_rename N'audit.PK_DeadLetter', "
        "N'PK_ErrorLog'; EXECUTE sp_rename N'audit.PK_Landing', N'PK_DeadLetter';",
        "index PK_DeadLetter of DeadLetter is missing, and PK_ErrorLog there is like it; names are mixed up",
    ),
    "names of two defaults exchanged": Change(
        UNASKED,
        exchanged("DF_Landing_LandedUtc", "DF_ErrorLog_AddedUtc"),
        "column AddedUtc of ErrorLog: default's name is DF_Landing_LandedUtc, not DF_ErrorLog_AddedUtc; ",
    ),
    "the name of a default is another column's": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; ALTER TABLE audit.Landing ADD "
        "CONSTRAINT DF_Landing_LandedUtc DEFAULT (N'x') FOR SenderHost;",
        "column LandedUtc of Landing: default is nothing, not SYSUTCDATETIME(); names are mixed up",
    ),
    "another default with another name": Change(
        UNASKED,
        "ALTER TABLE audit.Landing DROP CONSTRAINT DF_Landing_LandedUtc; ALTER TABLE audit.Landing ADD "
        "CONSTRAINT DF_x DEFAULT (GETDATE()) FOR LandedUtc;",
        "column LandedUtc of Landing: default is (getdate()), not SYSUTCDATETIME(). Who",
    ),
    "names of two tables exchanged": Change(
        PERSON,
        exchanged("ErrorLog", "DeadLetter"),
        "table DeadLetter has the columns of ErrorLog, and ErrorLog has the columns of DeadLetter",
    ),
    "names of three tables exchanged": Change(
        PERSON,
        exchanged("ErrorLog", "DeadLetter") + exchanged("ErrorLog", "Landing"),
        "their names have been exchanged",
    ),
    "names of two columns exchanged": Change(
        PERSON,
        exchanged("MessageId", "ConversationId", "Landing."),
        "column ConversationId of Landing stands in the place of MessageId",
    ),
    "names of two columns of a key exchanged": Change(
        PERSON,
        exchanged("BatchId", "PartitionId", "SendLedger."),
        "column BatchId of SendLedger stands in the place of PartitionId",
    ),
    "the name of our key on another table of ours": Change(
        TAKEN,
        "ALTER TABLE audit.ErrorLog DROP CONSTRAINT PK_ErrorLog; ALTER TABLE audit.Landing ADD "
        "CONSTRAINT PK_ErrorLog UNIQUE (MessageId);",
        "index PK_ErrorLog of ErrorLog is missing",
    ),
    "a right to be passed on, of somebody's": Change(
        ALLOWED,
        "CREATE USER joe WITHOUT LOGIN; GRANT SELECT ON audit.Landing TO joe WITH GRANT OPTION;",
        "permission SELECT to joe on OBJECT Landing is there",
    ),
}
