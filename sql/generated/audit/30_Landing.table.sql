SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* What arrived, in full: user messages and the EndOfStream, EndDialog and Error rows too.
   Insert-only. A rowversion is given once, at the insert, and never changes here, so it is both the
   clustered key and the range readers ask for (rows with from <= RowVersion < mark). It is no order:
   rows of one batch may get theirs in any (F-365). ConversationId, MessageSequence is the order sent.
   Body is byte-exact; NULL stands for a message without a body and for an empty one, which the
   broker does not tell apart (F-107).
   ConversationKey, KeySequence and MessageId are filled by the choices that carry them. */
IF OBJECT_ID(N'[audit].[Landing]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [audit].[Landing]
    (
        RowVersion rowversion NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        LandedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_Landing_LandedUtc] DEFAULT (SYSUTCDATETIME()),
        ConversationKey nvarchar(200) NULL,
        KeySequence bigint NULL,
        MessageId uniqueidentifier NULL,
        CONSTRAINT [PK_Landing] PRIMARY KEY CLUSTERED (RowVersion)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'audit',
        @level0type = N'SCHEMA', @level0name = N'audit', @level1type = N'TABLE', @level1name = N'Landing';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
