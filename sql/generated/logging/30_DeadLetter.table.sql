SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages that were neither landed nor resent: byte-exact, with the code and the sequence. */
IF OBJECT_ID(N'[logging].[DeadLetter]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[DeadLetter]
    (
        DeadLetterId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL
            CONSTRAINT [DF_DeadLetter_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Side nvarchar(10) NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NULL,
        Body varbinary(max) NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        CONSTRAINT [PK_DeadLetter] PRIMARY KEY CLUSTERED (DeadLetterId)
    );
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'SCHEMA', @level0name = N'logging', @level1type = N'TABLE', @level1name = N'DeadLetter';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
