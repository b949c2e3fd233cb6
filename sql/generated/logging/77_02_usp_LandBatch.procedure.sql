SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_LandBatch]
    @conversationId uniqueidentifier,
    @handle uniqueidentifier,           /* the target's; its group is the caller's, unless rehearsing */
    @rows [logging].[ReceivedBatch] READONLY,
    @rehearse bit = 0                   /* 1: nothing was received, and the caller undoes all of it */
AS
/* Redial 0.1.0, configuration logging */
/* Accounts for every row of one RECEIVE, inside its transaction: landed, or
   dead-lettered. Raises when the transaction is doomed or nothing can be written: its caller rolls back. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a row that cannot land is undone, not doomed */

    DECLARE @done TABLE (RowId int NOT NULL PRIMARY KEY);   /* accounted for before landing */
    DECLARE @marks TABLE (RowId int NOT NULL PRIMARY KEY, Attempts int NOT NULL, ErrorNumber int NULL, ErrorMessage nvarchar(3000) NULL);
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
    INNER JOIN [logging].[PoisonAttempt] AS pa WITH (ROWLOCK, FORCESEEK)   /* under G: no scan */
        ON pa.ConversationHandle = @handle AND pa.MessageSequence = r.MessageSequence AND pa.MessageType = r.MessageType;
    IF @@ROWCOUNT > 0
    BEGIN
        INSERT INTO @done (RowId)
        SELECT m.RowId FROM @marks AS m WHERE m.Attempts >= 1;

        INSERT INTO [logging].[DeadLetter]
            (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
        SELECT N'target', @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body, m.ErrorNumber, m.ErrorMessage
        FROM @rows AS r
        INNER JOIN @marks AS m ON m.RowId = r.RowId
        INNER JOIN @done AS d ON d.RowId = r.RowId
        ORDER BY r.RowId;
    END;

    IF @rehearse = 1
        ROLLBACK TRANSACTION RedialRehearsal;

    /* ---- 3  Land the batch as one ---- */
    BEGIN TRY
        INSERT INTO [logging].[Landing] (ConversationId, ConversationHandle, MessageSequence, MessageType, Body)
        SELECT @conversationId, @handle, r.MessageSequence, r.MessageType, r.Body
        FROM @rows AS r
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
            EXECUTE [logging].[usp_LandRow] @conversationId, @handle, @sequence, @messageType, @body;
        END TRY
        BEGIN CATCH
            /* Doomed, or the server's own trouble. */
            IF XACT_STATE() <> 1 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (601, 652, 3906, 1205, 1222, 208, 229, 230, 297, 300, 916, 942, 976, 2812, 7139, 15404, 15517, 33009))
                THROW;
            ROLLBACK TRANSACTION RedialBeforeRow;
            INSERT INTO [logging].[DeadLetter]
                (Side, ConversationId, ConversationHandle, MessageSequence, MessageType, Body, Code, Reason)
            VALUES (N'target', @conversationId, @handle, @sequence, @messageType, @body, ERROR_NUMBER(), LEFT(ERROR_MESSAGE(), 3000));
        END CATCH;
    END;

    RETURN 0;
END;
GO
