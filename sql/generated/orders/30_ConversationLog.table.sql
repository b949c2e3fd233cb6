SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* One row per dialog this side began: without it nobody can audit what was sent.
   Lock rule: the sender only inserts the row of a dialog it began in the same transaction; every
   later change is made by a transaction that owns the dialog's conversation group. So a row of this
   table is never waited for while its owner waits for the group. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[ConversationLog]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[ConversationLog]
    (
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NULL,
        ResendOf uniqueidentifier NULL,
        BegunUtc datetime2(3) NOT NULL CONSTRAINT [DF_ConversationLog_BegunUtc] DEFAULT (SYSUTCDATETIME()),
        EndOfStreamUtc datetime2(3) NULL,
        EndedUtc datetime2(3) NULL,
        Messages bigint NULL,
        Resent bigint NULL,
        DeadLettered bigint NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        CONSTRAINT [PK_ConversationLog] PRIMARY KEY CLUSTERED (Handle)
            WITH (ALLOW_PAGE_LOCKS = OFF)       /* locks are row by row */
    );
    ALTER TABLE [orders].[ConversationLog] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [orders].[usp_Mark] N'TABLE', N'ConversationLog';
    COMMIT TRANSACTION;
END;
/* From a copy to its dialog; a table that was there before has none yet. */
IF INDEXPROPERTY(OBJECT_ID(N'[orders].[ConversationLog]', N'U'), N'IX_ConversationLog_ConversationId', 'IndexID') IS NULL
    CREATE NONCLUSTERED INDEX [IX_ConversationLog_ConversationId] ON [orders].[ConversationLog] (ConversationId)
        WITH (ALLOW_PAGE_LOCKS = OFF);
GO
