SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The sender's copy of every message that has not landed yet, byte-exact: what is sent again when a
   dialog is ended by whoever and however. Written by the transaction that sends; deleted by the one that
   lands the message, dead-letters it, or sends it again (docs/decisions/0001-copies.md).
   MessageSequence counts the messages of the dialog from 0, as the broker does; a copy goes for the
   message that has its number and its content, never for its number alone.
   Lock rule: a row belongs to the transaction that inserts it, and from its commit on to whoever holds
   the conversation group of the dialog's target. So nobody waits for a row here.
   No trigger, foreign key or check may be put on this table: OUTPUT INTO refuses them (331 to 333). */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[SentMessage]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[SentMessage]
    (
        ConversationId uniqueidentifier NOT NULL,
        MessageSequence bigint NOT NULL,
        MessageType nvarchar(256) NOT NULL,
        Body varbinary(max) NULL,
        SentUtc datetime2(3) NOT NULL CONSTRAINT [DF_SentMessage_SentUtc] DEFAULT (SYSUTCDATETIME()),
        CONSTRAINT [PK_SentMessage] PRIMARY KEY CLUSTERED (ConversationId, MessageSequence)
    );
    ALTER TABLE [logging].[SentMessage] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [logging].[usp_Mark] N'TABLE', N'SentMessage';
    COMMIT TRANSACTION;
END;
GO
