SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages that were neither landed nor resent: byte-exact, with the code and the sequence. */
IF OBJECT_ID(N'[logging].[DeadLetter]', N'U') IS NULL
BEGIN
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
END;
GO
