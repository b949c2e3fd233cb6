SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Numbers of a key that will not land: a client sent the same message again under another number and the
   repeat was dropped, or an operator gave a dead letter up. Who waits for a number looks in vw_Unlanded,
   which shows them. Kept for [retention].log_days. */
IF OBJECT_ID(N'[orders].[SkippedNumber]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[SkippedNumber]
    (
        ConversationKey nvarchar(200) NOT NULL,
        KeySequence bigint NOT NULL,
        Reason nvarchar(20) NOT NULL,   /* repeat, given up */
        MessageId uniqueidentifier NULL,
        SkippedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_SkippedNumber_SkippedUtc] DEFAULT (SYSUTCDATETIME()),
        /* A number that is skipped again is skipped once. */
        CONSTRAINT [PK_SkippedNumber] PRIMARY KEY CLUSTERED (ConversationKey, KeySequence)
            WITH (IGNORE_DUP_KEY = ON)
    );
    ALTER TABLE [orders].[SkippedNumber] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'SCHEMA', @level0name = N'orders', @level1type = N'TABLE', @level1name = N'SkippedNumber';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
