SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Which dialog a key sends on. The row is the token of the dialog: whoever deletes it may send
   EndOfStream, once (F-128).
   - Clustered key of 404 bytes at most: four service-sized columns (1,024 bytes) would not fit the
     900 bytes of a clustered key.
   - ConversationKey has the database's collation, so that joins with other tables raise no 468; keys
     it holds equal share a dialog, which only lets their senders wait for each other.
   - Handle is unique apart from the key, so it has an index and locks of its own (F-120). That
     index is never locked before the clustered key: see usp_RecycleConversation.
   - No page locks, no escalation: a lock on this table is a lock on one row (F-121).
   - No trigger, foreign key or indexed view may ever be put on this table: each takes locks that
     the proof in docs/facts.md (F-127) does not know. */
IF OBJECT_ID(N'[orders].[SessionConversations]', N'U') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    CREATE TABLE [orders].[SessionConversations]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        Handle uniqueidentifier NOT NULL,
        CONSTRAINT [PK_SessionConversations] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    CREATE UNIQUE NONCLUSTERED INDEX [UX_SessionConversations_Handle]
        ON [orders].[SessionConversations] (Handle)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [orders].[SessionConversations] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'orders',
        @level0type = N'SCHEMA', @level0name = N'orders', @level1type = N'TABLE', @level1name = N'SessionConversations';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END;
GO
