SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Messages that were neither landed nor resent: byte-exact, with the code and the sequence. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[DeadLetter]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[DeadLetter]
    (
        DeadLetterId bigint IDENTITY (1, 1) NOT NULL,
        AddedUtc datetime2(3) NOT NULL CONSTRAINT [DF_DeadLetter_AddedUtc] DEFAULT (SYSUTCDATETIME()),
        Side nvarchar(10) NOT NULL,
        ConversationId uniqueidentifier NULL,
        ConversationHandle uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NULL,
        Body varbinary(max) NULL,
        Code int NULL,
        Reason nvarchar(3000) NULL,
        HandledUtc datetime2(3) NULL,           /* this and the rest: what an operator did with it */
        HandledBy nvarchar(128) NULL,
        Handling nvarchar(10) NULL,
        HandlingReason nvarchar(400) NULL,
        CONSTRAINT [PK_DeadLetter] PRIMARY KEY CLUSTERED (DeadLetterId)
    );
    EXECUTE [logging].[usp_Mark] N'TABLE', N'DeadLetter';
    COMMIT TRANSACTION;
END;
GO
