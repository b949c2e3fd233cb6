SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_LandBatch]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the target's; its group is the caller's, unless rehearsing */
    @rows [etl].[ReceivedBatch] READONLY,
    @rehearse bit = 0                   /* 1: nothing was received, and the caller undoes all of it */
AS
/* Redial 0.1.0, configuration etl */
/* Accounts for every row of one RECEIVE, inside its transaction: landed, dropped as a repeat, or
   dead-lettered. Raises when the transaction is doomed or nothing can be written: its caller rolls back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone, not doomed */

    DECLARE @done TABLE (RowId int NOT NULL PRIMARY KEY);   /* accounted for before landing */
    DECLARE @marks TABLE (RowId int NOT NULL PRIMARY KEY, Attempts int NOT NULL, ErrorNumber int NULL, ErrorMessage nvarchar(3000) NULL);
    DECLARE @ids TABLE (Position int IDENTITY (1, 1) NOT NULL PRIMARY KEY, RowId int NOT NULL, MessageId uniqueidentifier NOT NULL);
    DECLARE @position int = 0, @messageId uniqueidentifier;
    DECLARE @row int, @sequence bigint, @messageType nvarchar(256), @body varbinary(max);

    IF @@TRANCOUNT = 0
        THROW 50212, N'usp_LandBatch must be called inside the transaction that received the rows.', 1;

    /* ---- 1  Rows known to be poison: dead-lettered unprocessed. The marks go with their rows ---- */
    IF @rehearse = 1
        SAVE TRANSACTION RedialRehearsal;   /* undone below: a trigger may commit */
    DELETE pa
    OUTPUT r.RowId, DELETED.Attempts, DELETED.ErrorNumber, DELETED.ErrorMessage
    INTO @marks (RowId, Attempts, ErrorNumber, ErrorMessage)
    FROM @rows AS r
    INNER JOIN [etl].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)   /* under G: no scan */
        ON pa.ConversationHandle = @handle AND pa.MessageSequence = r.MessageSequence AND pa.MessageType = r.MessageType;
    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @done (RowId)
        SELECT m.RowId FROM @marks AS m WHERE m.Attempts >= 1;

        INSERT INTO [etl].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N'target', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body, m.ErrorNumber, m.ErrorMessage
        FROM @rows AS r
        INNER JOIN @marks AS m ON m.RowId = r.RowId
        INNER JOIN @done AS d ON d.RowId = r.RowId
        ORDER BY r.RowId;
    END;

    /* ---- 2  Repeats are counted and dropped. In the order of the ids: readers never wait in a circle ---- */
    INSERT INTO @ids (RowId, MessageId)
    SELECT r.RowId, e.MessageId
    FROM @rows AS r
    CROSS APPLY [etl].[ufn_ReadEnvelope](r.Body) AS e
    WHERE e.MessageId IS NOT NULL
      AND r.MessageType NOT IN (N'EndOfStream',
          N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
          N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
      AND NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
    ORDER BY e.MessageId, r.RowId;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @position = i.Position, @row = i.RowId, @messageId = i.MessageId
        FROM @ids AS i
        WHERE i.Position > @position
        ORDER BY i.Position;
        IF @@ROWCOUNT = 0
            BREAK;

        /* First the UPDATE: it waits for another reader's row of this id and then sees it. */
        UPDATE ib
        SET Repeats = ib.Repeats + 1
        FROM [etl].[Inbox] AS ib WITH (ROWLOCK, FORCESEEK)     /* this key: no scan over other readers' */
        WHERE ib.MessageId = @messageId;
        IF @@ROWCOUNT > 0
            INSERT INTO @done (RowId) VALUES (@row);
        ELSE
        BEGIN
            BEGIN TRY
                INSERT INTO [etl].[Inbox] (MessageId) VALUES (@messageId);
            END TRY
            BEGIN CATCH
                /* Another reader was in between: a repeat, not counted, for an UPDATE could deadlock. */
                IF ERROR_NUMBER() <> 2627 OR XACT_STATE() <> 1
                    THROW;
                INSERT INTO @done (RowId) VALUES (@row);
            END CATCH;
        END;
    END;

    IF @rehearse = 1
        ROLLBACK TRANSACTION RedialRehearsal;

    /* ---- 3  Land the batch as one ---- */
    BEGIN TRY
        INSERT INTO [etl].[Landing]
            (ConversationId, ConversationHandle, MessageSequence, MessageType, Body,
             ConversationKey, KeySequence, MessageId, SentUtc, SenderLogin, SenderApp, SenderHost)
        SELECT @conversationId, @handle, r.MessageSequence, r.MessageType, e.Body,
            e.ConversationKey, e.KeySequence, e.MessageId, e.SentUtc, e.SenderLogin, e.SenderApp, e.SenderHost
        FROM @rows AS r
        CROSS APPLY [etl].[ufn_ReadEnvelope](r.Body) AS e
        WHERE NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;
        RETURN 0;
    END TRY
    BEGIN CATCH
        /* Doomed: usp_FindPoison finds the row. The server's trouble and locks blame none. */
        IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
            THROW;
    END CATCH;

    /* ---- 4  It cannot land as one: row by row, each under a savepoint ---- */
    SET @row = 0;
    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @row = r.RowId, @sequence = r.MessageSequence, @messageType = r.MessageType, @body = r.Body
        FROM @rows AS r
        WHERE r.RowId > @row AND NOT EXISTS (SELECT 1 FROM @done AS d WHERE d.RowId = r.RowId)
        ORDER BY r.RowId;
        IF @@ROWCOUNT = 0
            BREAK;

        SAVE TRANSACTION RedialBeforeRow;   /* a hook's own savepoints have other names */
        BEGIN TRY
            EXECUTE [etl].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
        END TRY
        BEGIN CATCH
            /* Doomed, or the server's own trouble. */
            IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
                THROW;
            ROLLBACK TRANSACTION RedialBeforeRow;
            INSERT INTO [etl].[DeadLetter]
                (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
            VALUES (N'target', @conversationId, @handle, @sequence, @messageType, @body, ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
            /* It has not landed: a replay of the dead letter is no repeat. */
            SET @messageId = NULL;
            SELECT @messageId = i.MessageId FROM @ids AS i WHERE i.RowId = @row;
            IF @rehearse = 0
                DELETE ib
                FROM [etl].[Inbox] AS ib WITH (ROWLOCK, FORCESEEK)     /* locked already */
                WHERE ib.MessageId = @messageId;
        END CATCH;
    END;

    RETURN 0;
END;
GO
