SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_BeginConversation]
    @conversationKey nvarchar(200),
    @oldHandle uniqueidentifier,        /* NULL: the key has no row yet; else the dead handle of its row */
    @ownsTransaction bit,               /* 1: usp_Send began the transaction, 0: its caller did */
    @handle uniqueidentifier OUTPUT
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Begins a dialog for a key and puts its handle into the key's row. Called by usp_Send, inside a
   transaction. Raises 2627 when another transaction made the key's row meanwhile: look it up again.
   Order: row first, conversation group second, as everywhere on this side (F-127). */
BEGIN
    SET NOCOUNT ON;

    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    DECLARE @newHandle uniqueidentifier = NULL;
    DECLARE @rowHandle uniqueidentifier = ISNULL(@oldHandle, NEWID());
    /* A random spread, so that dialogs begun together are not recycled together. Two bytes of a
       fresh GUID are 0..65535 and never negative. */
    DECLARE @timeout int = 3600
        + CONVERT(int, SUBSTRING(CONVERT(binary(16), NEWID()), 1, 2)) % 601;

    BEGIN TRY
        /* -- 1  The row: a placeholder that is unique, because the index on Handle is ----------- */
        IF @oldHandle IS NULL
        BEGIN
            /* A key taken meanwhile must not doom what the caller did before. For this statement
               only: with XACT_ABORT OFF a client's cancel leaves the transaction open. */
            IF @ownsTransaction = 0
                SET XACT_ABORT OFF;

            INSERT INTO [audit].[SessionConversations] (ConfigId, ConversationKey, Handle)
            VALUES (1, @conversationKey, @rowHandle);

            IF @callerAborts = 1
                SET XACT_ABORT ON;
        END;

        /* -- 2  The dialog, with the timer that will recycle it --------------------------------- */
        BEGIN DIALOG CONVERSATION @newHandle
            FROM SERVICE [//redial/audit/initiator]
            TO SERVICE N'//redial/audit/target'
            ON CONTRACT [//redial/audit/contract]
            WITH LIFETIME = 2592000, ENCRYPTION = OFF;

        BEGIN CONVERSATION TIMER (@newHandle) TIMEOUT = @timeout;

        /* -- 3  The handle into the row --------------------------------------------------------- */
        UPDATE sc
        SET Handle = @newHandle
        FROM [audit].[SessionConversations] AS sc
            /* INDEX, FORCESEEK: both columns below are unique, and a seek by Handle would lock the
               Handle index before the row (F-120); a scan would stop at other sessions' rows.
               ROWLOCK: one row, nothing wider (F-121). Proved by the explorer's send scenarios. */
            WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
        WHERE sc.ConfigId = 1
          AND sc.ConversationKey = @conversationKey
          AND sc.Handle = @rowHandle;

        /* -- 4  The audit row. Only ever inserted here (see ConversationLog) -------------------- */
        INSERT INTO [audit].[ConversationLog] (Handle, ConversationId, ConfigId, ConversationKey)
        SELECT @newHandle,
            (SELECT ce.conversation_id      /* NULL where it is not visible; the row comes all the same */
             FROM sys.conversation_endpoints AS ce
                 WITH (NOLOCK)  /* our own row, just made; never wait here while holding R and G (F-126) */
             WHERE ce.conversation_handle = @newHandle),
            1, @conversationKey;

        SET @handle = @newHandle;
    END TRY
    BEGIN CATCH
        /* A caller who goes on after our error must not commit a placeholder or a dialog nobody
           knows. In a transaction of our own usp_Send rolls all of it back. */
        IF @ownsTransaction = 0 AND XACT_STATE() = 1
        BEGIN
            IF @newHandle IS NOT NULL
            BEGIN
                END CONVERSATION @newHandle;
            END;

            IF @oldHandle IS NULL AND ERROR_NUMBER() <> 2627
            BEGIN
                DELETE sc
                FROM [audit].[SessionConversations] AS sc
                    WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* as above */
                WHERE sc.ConfigId = 1
                  AND sc.ConversationKey = @conversationKey
                  AND sc.Handle = @rowHandle;
            END;
        END;

        THROW;
    END CATCH;
END;
GO
