SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Message ids that have landed (delivery = exactly_once): a repeat is counted here and dropped. */
IF OBJECT_ID(N'[etl].[Inbox]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [etl].[Inbox]
    (
        MessageId uniqueidentifier NOT NULL,
        ReceivedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Inbox_ReceivedUtc] DEFAULT (SYSUTCDATETIME()),
        Repeats int NOT NULL
            CONSTRAINT [DF_Inbox_Repeats] DEFAULT (0),
        CONSTRAINT [PK_Inbox] PRIMARY KEY CLUSTERED (MessageId)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    /* For the purge alone. No reader touches an entry but with its own row (F-165). */
    CREATE NONCLUSTERED INDEX [IX_Inbox_ReceivedUtc]
        ON [etl].[Inbox] (ReceivedUtc)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [etl].[Inbox] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
        @level0type = N'SCHEMA', @level0name = N'etl', @level1type = N'TABLE', @level1name = N'Inbox';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
