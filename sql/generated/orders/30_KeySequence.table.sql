SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The last number given to a message of a key (order = key). It outlives the key's dialogs, so that
   two dialogs of one key, received side by side across a recycle, are still one sequence.
   Lock rule: only the owner of the key's row R reads or writes its row here, after R and G. So nobody
   waits for it who does not wait for R first (F-147). */
IF OBJECT_ID(N'[orders].[KeySequence]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[KeySequence]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        LastSequence bigint NOT NULL,
        CONSTRAINT [PK_KeySequence] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    ALTER TABLE [orders].[KeySequence] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'SCHEMA', @level0name = N'orders', @level1type = N'TABLE', @level1name = N'KeySequence';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
