SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_SendBatch]
    /* Leave out what has a default: it is the only one that this configuration has. */
    @fromService sysname = N'//redial/etl/initiator',
    @toService sysname = N'//redial/etl/target',
    @onContract sysname = N'//redial/etl/contract',
    @messages [etl].[MessageBatch] READONLY,   /* the messages; leave it out where @json has them */
    @json nvarchar(max) = NULL          /* [{"ordinal": 1, "type": "...", "body": "base64", "key": null, "id": null}, ...] */
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Sends a batch: all messages or none, in the order of their ordinals, in one round trip. Returns 0 and
   one row: MessagesSent, DialogsUsed, Replays (how often all was done again because a dialog was found
   dead), FirstOrdinal, LastOrdinal (NULL for an empty batch, which is no error).
   An error that leaves the caller's transaction alive leaves nothing of the batch in it; see
   usp_SendMessages. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @problems nvarchar(max) = N'';
    DECLARE @found nvarchar(max);
    DECLARE @sent int;
    DECLARE @dialogs int;
    DECLARE @replays int;
    DECLARE @batch [etl].[MessageBatch];
    DECLARE @elements TABLE
    (
        Position int NOT NULL PRIMARY KEY,
        Ordinal int NULL,
        MessageType nvarchar(256) NULL,
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL,
        Problem nvarchar(400) NULL
    );
    DECLARE @position int = -1;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs: what is wrong is collected, and raised once by usp_SendMessages                  */
    /* ----------------------------------------------------------------------------------------- */
    IF ISNULL(@fromService, N'') <> N'//redial/etl/initiator'
        SET @problems = @problems + N'@fromService must be ''//redial/etl/initiator''. ';
    IF ISNULL(@toService, N'') <> N'//redial/etl/target'
        SET @problems = @problems + N'@toService must be ''//redial/etl/target''. ';
    IF ISNULL(@onContract, N'') <> N'//redial/etl/contract'
        SET @problems = @problems + N'@onContract must be ''//redial/etl/contract''. ';
    IF @json IS NOT NULL AND EXISTS (SELECT 1 FROM @messages)
        SET @problems = @problems + N'@messages and @json must not both have messages: give one of them. ';
    /* Valid JSON begins with a bracket or a brace; which of them comes first tells an array. */
    IF @json IS NOT NULL
       AND (ISJSON(@json) = 0 OR CHARINDEX(N'[', @json) = 0
            OR CHARINDEX(N'{', @json) BETWEEN 1 AND CHARINDEX(N'[', @json))
    BEGIN
        SET @problems = @problems + N'@json must be a JSON array of objects with ordinal, type, body (base64), key and id. ';
        SET @json = NULL;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  JSON: read once, wrong elements are named by ordinal, or by position where they have none */
    /* ----------------------------------------------------------------------------------------- */
    IF @json IS NOT NULL
    BEGIN
        INSERT INTO @elements (Position, Ordinal, MessageType, MessageBody, MessageKey, MessageId, Problem)
        SELECT e.Position, e.Ordinal, e.MessageType, e.MessageBody, e.MessageKey, e.MessageId,
            CASE WHEN e.Problem IS NULL AND ROW_NUMBER() OVER (PARTITION BY e.Ordinal ORDER BY e.Position) > 1
                THEN N'ordinal is also another element''s' ELSE e.Problem END
        FROM [etl].[ufn_ReadBatch](@json) AS e;

        INSERT INTO @batch (Ordinal, MessageType, MessageBody, MessageKey, MessageId)
        SELECT e.Ordinal, e.MessageType, e.MessageBody, e.MessageKey, e.MessageId
        FROM @elements AS e
        WHERE e.Problem IS NULL;

        WHILE LEN(@problems) < 2048     /* what an error can show */
        BEGIN
            SELECT TOP (1) @position = e.Position,
                @found = CONCAT(CASE WHEN e.Ordinal IS NULL THEN CONCAT(N'Element ', e.Position + 1) ELSE CONCAT(N'Ordinal ', e.Ordinal) END,
                    N': ', e.Problem, N'. ')
            FROM @elements AS e
            WHERE e.Position > @position AND e.Problem IS NOT NULL
            ORDER BY e.Position;
            IF @@ROWCOUNT = 0
                BREAK;
            SET @problems = @problems + @found;
        END;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Send, then answer                                                                        */
    /* ----------------------------------------------------------------------------------------- */
    IF @json IS NULL
        EXECUTE [etl].[usp_SendMessages]
            @messages = @messages, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;
    ELSE
        EXECUTE [etl].[usp_SendMessages]
            @messages = @batch, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;

    SELECT @sent AS MessagesSent, @dialogs AS DialogsUsed, @replays AS Replays,
        MIN(a.Ordinal) AS FirstOrdinal, MAX(a.Ordinal) AS LastOrdinal
    FROM (SELECT m.Ordinal FROM @messages AS m
          UNION ALL
          SELECT b.Ordinal FROM @batch AS b) AS a;

    RETURN 0;
END;
GO
