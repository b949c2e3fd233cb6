SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The last number given to a message of a key (order = key). It outlives the key's dialogs, so that
   two dialogs of one key, received side by side across a recycle, are still one sequence.
   Lock rule: only the owner of the key's row R reads or writes its row here, after R and G. So nobody
   waits for it who does not wait for R first. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[orders].[KeySequence]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[KeySequence]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        LastSequence bigint NOT NULL,
        CONSTRAINT [PK_KeySequence] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)       /* locks are row by row */
    );
    ALTER TABLE [orders].[KeySequence] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [orders].[usp_Mark] N'TABLE', N'KeySequence';
    COMMIT TRANSACTION;
END;
GO
