SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Which dialog a key sends on. The row is the token of the dialog: whoever deletes it may send
   EndOfStream, once.
   - Clustered key of 404 bytes at most: four service-sized columns (1,024 bytes) would not fit the
     900 bytes of a clustered key.
   - ConversationKey has the database's collation, so that joins with other tables raise no 468; keys
     it holds equal share a dialog, which only lets their senders wait for each other.
   - Handle is unique apart from the key, so it has an index and locks of its own. That
     index is never locked before the clustered key: see usp_RecycleConversation.
   - No page locks, no escalation: a lock on this table is a lock on one row.
   - No trigger, foreign key or indexed view may ever be put on this table: each takes locks that
     the proof in docs/facts.md does not know. */
SET XACT_ABORT ON;
IF OBJECT_ID(N'[logging].[SessionConversations]', N'U') IS NULL
BEGIN
    BEGIN TRANSACTION;
    CREATE TABLE [logging].[SessionConversations]
    (
        ConfigId int NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,   /* of the dialog; NULL: a placeholder, no dialog yet */
        Sent bigint NOT NULL                    /* messages sent on it: the next one's number */
            CONSTRAINT [DF_SessionConversations_Sent] DEFAULT (0),
        BegunUtc datetime2(3) NULL,             /* pool: NULL stands for an unused slot */
        RecycleAtUtc datetime2(3) NULL,         /* aged_out: replaced by the first send after this */
        RecycleAtMessages bigint NULL,          /* aged_out: or after this many messages */
        TransactionId bigint NULL,              /* pool: who took the slot last */
        CONSTRAINT [PK_SessionConversations] PRIMARY KEY CLUSTERED (ConfigId, ConversationKey)
            WITH (ALLOW_PAGE_LOCKS = OFF)
    );
    CREATE UNIQUE NONCLUSTERED INDEX [UX_SessionConversations_Handle]
        ON [logging].[SessionConversations] (Handle)
        WITH (ALLOW_PAGE_LOCKS = OFF);
    ALTER TABLE [logging].[SessionConversations] SET (LOCK_ESCALATION = DISABLE);
    EXECUTE [logging].[usp_Mark] N'TABLE', N'SessionConversations';
    COMMIT TRANSACTION;
END;
GO
