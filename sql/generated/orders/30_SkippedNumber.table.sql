SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Numbers of a key that will not land: a client sent the same message again under another number and the
   repeat was dropped, or an operator gave a dead letter up. Who waits for a number looks in vw_Unlanded,
   which shows them. Kept for [retention].log_days. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[SkippedNumber]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[SkippedNumber]
    (
        ConversationKey nvarchar(200) NOT NULL,
        KeySequence bigint NOT NULL,
        Reason nvarchar(20) NOT NULL,   /* repeat, given up */
        MessageId uniqueidentifier NULL,
        SkippedUtc datetime2(3) NOT NULL CONSTRAINT [DF_SkippedNumber_SkippedUtc] DEFAULT (SYSUTCDATETIME()),
        /* A number that is skipped again is skipped once. */
        CONSTRAINT [PK_SkippedNumber] PRIMARY KEY CLUSTERED (ConversationKey, KeySequence)
            WITH (IGNORE_DUP_KEY = ON)
    );
    ALTER TABLE [orders].[SkippedNumber] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [orders].[usp_Mark] N'TABLE', N'SkippedNumber';
    COMMIT TRANSACTION;
END;
GO
