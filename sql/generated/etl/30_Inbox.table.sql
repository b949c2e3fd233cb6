SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Message ids that have landed (delivery = exactly_once): a repeat is counted here and dropped. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[etl].[Inbox]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Inbox]
    (
        MessageId uniqueidentifier NOT NULL,
        ReceivedUtc datetime2(3) NOT NULL CONSTRAINT [DF_Inbox_ReceivedUtc] DEFAULT (SYSUTCDATETIME()),
        Repeats int NOT NULL CONSTRAINT [DF_Inbox_Repeats] DEFAULT (0),
        CONSTRAINT [PK_Inbox] PRIMARY KEY CLUSTERED (MessageId)
            WITH (ALLOW_PAGE_LOCKS = OFF)       /* locks are row by row */
    );
    /* For the purge alone. No reader touches an entry but with its own row. */
    CREATE NONCLUSTERED INDEX [IX_Inbox_ReceivedUtc]
        ON [etl].[Inbox] (ReceivedUtc)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [etl].[Inbox] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [etl].[usp_Mark] N'TABLE', N'Inbox';
    COMMIT TRANSACTION;
END;
GO
