/* Redial 0.1.0, configuration orders: 2_bulk.sql, usp_SendBatch, and INSERT into the view Outbox. */
SET NOEXEC OFF;                         /* of an earlier script in the same window */
SET ANSI_NULLS ON;                      /* this and the next are frozen into a module as it is made */
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists would be cut */
GO
IF @@TRANCOUNT > 0                      /* ALTER DATABASE is refused there, and a drain waits for its end */
    THROW 50228, N'2_bulk.sql was started inside a transaction. Nothing was done. Next: run it outside of one.', 127;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */
IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3 AND ep.major_id = SCHEMA_ID(N'orders') AND ep.name = N'Redial.files'
                 AND CONVERT(nvarchar(70), ep.value) LIKE N'875254cfeddf0a5b [1-9]')
BEGIN
    DECLARE @message nvarchar(2048) = REPLACE(CONCAT(N'1_core.sql of these files has not passed in database ', QUOTENAME(DB_NAME()), N'. Nothing of 2_bulk.sql was done. Next: run them here in their order, from 0_preflight.sql on.'), N'%', N'%%');
    THROW 50233, @message, 127;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
/* Messages of one call of usp_SendBatch, sent in the order of Ordinal. Every column is wider than what
   may be in it, so that a wrong value gets an error of ours that names its ordinal, and not the
   server's 8152, which names nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM sys.table_types AS tt
               WHERE tt.schema_id = SCHEMA_ID(N'orders') AND tt.name = N'MessageBatch')
BEGIN
    BEGIN TRANSACTION;
    CREATE TYPE [orders].[MessageBatch] AS TABLE
    (
        Ordinal int NOT NULL PRIMARY KEY CLUSTERED,     /* any numbers, gaps too; each once */
        MessageType nvarchar(256) NULL,                 /* NULL: the only one */
        MessageBody varbinary(max) NULL,
        MessageKey nvarchar(4000) NULL,
        MessageId uniqueidentifier NULL
    );
    EXECUTE [orders].[usp_Mark] N'TYPE', N'MessageBatch';
    COMMIT TRANSACTION;
END;
GO
IF @@ERROR <> 0 SET NOEXEC ON;
GO
CREATE OR ALTER FUNCTION [orders].[ufn_ReadBatch](@json nvarchar(max))
RETURNS table
AS
/* Redial 0.1.0, configuration orders */
/* The elements of @json, a JSON array of messages (the caller has checked that it is one), a row each,
   with what is wrong with one in Problem. Made so that no value can raise an error: OPENJSON without a schema tells the type of every value, the
   rest are TRY_CONVERT, and base64 is decoded only where it is base64 (F-330).
   An element: {"ordinal": 1, "type": "...", "body": "base64", "key": "...", "id": "uuid"}; ordinal and
   type are required, null counts as not given. Names are case-sensitive, as JSON's are; a name that is
   none of the five is a problem, since a misspelt body would be sent as an empty one. */
RETURN
(
    SELECT
        b.body AS MessageBody,
        CONVERT(int, e.[key]) AS Position,
        TRY_CONVERT(int, p.Ordinal) AS Ordinal,
        CONVERT(nvarchar(256), p.MessageType) AS MessageType,
        CONVERT(nvarchar(4000), p.MessageKey) AS MessageKey,
        TRY_CONVERT(uniqueidentifier, p.MessageId) AS MessageId,
        CASE
            WHEN e.[type] <> 5 THEN N'the element must be an object'
            WHEN p.Strange > 0 THEN N'has a property that is none of: ordinal, type, body, key, id'
            WHEN p.Most > 1 THEN N'has a property twice'
            WHEN p.OrdinalKind <= 0 THEN N'ordinal is missing'
            WHEN p.OrdinalKind <> 2 OR TRY_CONVERT(int, p.Ordinal) IS NULL
                THEN N'ordinal must be a whole number from -2147483648 to 2147483647'
            WHEN p.NoText > 0 THEN N'type, body, key and id must be strings or null'
            WHEN p.BodyIsBase64 = 0 THEN N'body must be base64 (RFC 4648, section 4), padded and without line breaks'
            WHEN p.MessageId IS NOT NULL AND (DATALENGTH(p.MessageId) <> 72 OR TRY_CONVERT(uniqueidentifier, p.MessageId) IS NULL)
                THEN N'id must be a uuid of 36 characters'
        END AS Problem
    FROM OPENJSON(@json) AS e
    CROSS APPLY
    (
        SELECT r.OrdinalKind, r.Strange, r.Most, r.NoText, NULLIF(r.Ordinal, N'') AS Ordinal,
            STUFF(NULLIF(r.MessageType, N''), 1, 1, N'') AS MessageType, STUFF(NULLIF(r.MessageKey, N''), 1, 1, N'') AS MessageKey,
            STUFF(NULLIF(r.MessageId, N''), 1, 1, N'') AS MessageId,
            CASE WHEN r.Body LIKE N'%[^A-Za-z0-9+/=]%' COLLATE Latin1_General_BIN2 THEN 0
                 WHEN DATALENGTH(r.Body) % 8 <> 0 THEN 0
                 WHEN CHARINDEX(N'=', r.Body) = 0 THEN 1
                 WHEN CHARINDEX(N'=', r.Body) = DATALENGTH(r.Body) / 2 THEN 1
                 WHEN CHARINDEX(N'=', r.Body) = DATALENGTH(r.Body) / 2 - 1 AND RIGHT(r.Body, 1) = N'=' THEN 1
                 ELSE 0 END AS BodyIsBase64
        FROM
        (
            SELECT
                MAX(CASE WHEN v.[key] = N'ordinal' AND v.[type] <> 0 THEN v.[value] ELSE N'' END) AS Ordinal,
                MAX(CASE v.[key] WHEN N'ordinal' THEN v.[type] ELSE -1 END) AS OrdinalKind,
                MAX(CASE WHEN v.[key] = N'body' AND v.[type] <> 0 THEN v.[value] ELSE N'' END) AS Body,
                /* A mark before what is given: a NULL in an aggregate warns every caller (8153). */
                MAX(CASE WHEN v.[key] = N'type' AND v.[type] <> 0 THEN N'=' + v.[value] ELSE N'' END) AS MessageType,
                MAX(CASE WHEN v.[key] = N'key' AND v.[type] <> 0 THEN N'=' + v.[value] ELSE N'' END) AS MessageKey,
                MAX(CASE WHEN v.[key] = N'id' AND v.[type] <> 0 THEN N'=' + v.[value] ELSE N'' END) AS MessageId,
                SUM(CASE WHEN v.[key] IN (N'ordinal', N'type', N'body', N'key', N'id') THEN 0 ELSE 1 END) AS Strange,
                COUNT(*) - COUNT(DISTINCT v.[key]) + 1 AS Most,
                SUM(CASE WHEN v.[key] <> N'ordinal' AND v.[type] NOT IN (0, 1) THEN 1 ELSE 0 END) AS NoText
            /* A CASE as the argument: OPENJSON of anything but an object or an array raises 13609. */
            FROM OPENJSON(CASE WHEN e.[type] = 5 THEN e.[value] ELSE N'{}' END) AS v
        ) AS r
    ) AS p
    CROSS APPLY (SELECT CASE WHEN e.[type] = 5 AND p.NoText = 0 AND p.BodyIsBase64 = 1 THEN e.[value] ELSE N'{}' END AS [Element]) AS s
    OUTER APPLY OPENJSON (s.[Element]) WITH (body varbinary(max) '$.body') AS b
);
GO
CREATE OR ALTER PROCEDURE [orders].[usp_CheckMessages]
    @messages [orders].[MessageBatch] READONLY,
    @problems nvarchar(max)             /* what the caller found wrong already */
AS
/* Redial 0.1.0, configuration orders */
/* The messages of a batch before any is sent: the first ten wrong ones are named, then one error is raised
   (50150). Returns 0 when all are right. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @wrong TABLE (WrongId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Problem nvarchar(400) NOT NULL);
    DECLARE @wrongId int = 0;
    DECLARE @problem nvarchar(400);
    DECLARE @message nvarchar(2048);

    INSERT INTO @wrong (Problem)
    SELECT TOP (10) CONCAT(N'Ordinal ', m.Ordinal, N': ', w.[Rule], N'. ')
    FROM @messages AS m
    CROSS APPLY
    (
        SELECT N'MessageType must be one of: ''//redial/orders/event''' AS [Rule]
        WHERE ISNULL(m.MessageType, N'//redial/orders/event') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/event')
        UNION ALL
        SELECT N'MessageKey must be 1 to 200 characters long'
        WHERE ISNULL(DATALENGTH(m.MessageKey), 0) NOT BETWEEN 2 AND 400
        UNION ALL
        SELECT N'MessageId must be NULL: this configuration has delivery = at_least_once'
        WHERE m.MessageId IS NOT NULL
    ) AS w
    ORDER BY m.Ordinal;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @wrongId = w.WrongId, @problem = w.Problem FROM @wrong AS w WHERE w.WrongId > @wrongId ORDER BY w.WrongId;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @problems = @problems + @problem;
    END;

    IF @problems <> N''
    BEGIN
        SET @message = LEFT(CONCAT(N'Nothing was sent. ', RTRIM(@problems)), 2040);
        THROW 50150, @message, 1;
    END;

    RETURN 0;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_SendMessages]
    @messages [orders].[MessageBatch] READONLY,
    @problems nvarchar(max) = N'',      /* what the caller found wrong already; raised with the rest */
    @sent int = NULL OUTPUT,            /* how many messages were sent */
    @dialogs int = NULL OUTPUT,         /* conversations the messages went out on */
    @replays int = NULL OUTPUT          /* how often all of it was done again */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Sends all messages or none, strictly in the order of Ordinal; what usp_SendBatch and the view Outbox
   have in common. Each message has its copy, as in usp_Send. A dialog found dead is replaced, so a key's
   messages are on one dialog: in a transaction of its own all is undone and sent again (bounded). In the
   caller's that key is sent on a new dialog, for SEND holds what it has sent on: a dialog is dead before
   the key's first message. An error behind the first SEND there leaves a transaction that can only roll
   back. No savepoint: whether one takes back SEND is nowhere said (F-333), and distributed ones have none.
   Locks: the row R of every key, in the order of the keys, before the first SEND; then as usp_Send. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the batch (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;     /* as usp_Send does, for its reasons */

    DECLARE @ownsTransaction bit = CASE WHEN @@TRANCOUNT = 0 THEN 1 ELSE 0 END;
    DECLARE @callerAborts bit = CASE WHEN @@OPTIONS & 16384 = 16384 THEN 1 ELSE 0 END;
    /* Table variables keep their rows over a ROLLBACK: keys found dead and ids made are remembered. */
    DECLARE @keys TABLE
    (
        KeyNumber int NOT NULL PRIMARY KEY,
        ConversationKey nvarchar(200) NULL UNIQUE,
        Handle uniqueidentifier NULL,
        DeadHandle uniqueidentifier NULL,
        LastSequence bigint NULL
    );
    DECLARE @messageId uniqueidentifier = NULL;
    DECLARE @keyCount int;
    DECLARE @keyNumber int;
    DECLARE @conversationKey nvarchar(200);
    DECLARE @deadHandle uniqueidentifier;
    DECLARE @handle uniqueidentifier;
    DECLARE @ordinal int = NULL;
    DECLARE @last int = NULL;           /* the last message that is in the transaction */
    DECLARE @messageType sysname;
    DECLARE @body varbinary(max);
    DECLARE @messageKey nvarchar(200);
    DECLARE @keySequence bigint = NULL;
    DECLARE @attempt int = 0;
    DECLARE @error int;

    /* -- 1  Inputs -- */
    EXECUTE [orders].[usp_CheckMessages] @messages = @messages, @problems = @problems;

    /* -- 2  What a replay must find again: keys -- */
    SELECT @sent = COUNT(*), @dialogs = 0, @replays = 0 FROM @messages;
    IF @sent = 0
        RETURN 0;

    INSERT INTO @keys (KeyNumber, ConversationKey)
    SELECT ROW_NUMBER() OVER (ORDER BY k.ConversationKey), k.ConversationKey
    FROM (SELECT CONVERT(nvarchar(200), m.MessageKey) AS ConversationKey
          FROM @messages AS m
          GROUP BY CONVERT(nvarchar(200), m.MessageKey)) AS k;   /* keys the collation holds equal share a dialog */
    SELECT @keyCount = COUNT(*), @dialogs = COUNT(*) FROM @keys;

    /* -- 3  All of it; once more when a dialog is found dead (bounded: every attempt replaces one
             key's dialog, and five more for those another session replaces meanwhile) -- */
    WHILE 1 = 1
    BEGIN
        SET @attempt = @attempt + 1;

        BEGIN TRY
            SET @handle = NULL;
            IF @ownsTransaction = 1
            BEGIN
                SET XACT_ABORT ON;      /* a client's cancel then leaves no lock and no transaction */
                BEGIN TRANSACTION;
            END;

            /* -- 3.1  R of every key, in the order of the keys: two batches cannot deadlock over R -- */
            WHILE 1 = 1
            BEGIN
                SELECT TOP (1) @keyNumber = k.KeyNumber, @conversationKey = k.ConversationKey, @deadHandle = k.DeadHandle
                FROM @keys AS k WHERE k.Handle IS NULL
                ORDER BY k.KeyNumber;
                IF @@ROWCOUNT = 0
                    BREAK;

                SET @handle = NULL;
                EXECUTE [orders].[usp_AcquireConversation] @conversationKey = @conversationKey, @deadHandle = @deadHandle,
                    @ownsTransaction = @ownsTransaction, @handle = @handle OUTPUT;

                SET @keySequence = ISNULL(
                    (SELECT ks.LastSequence FROM [orders].[KeySequence] AS ks WITH (FORCESEEK)   /* nobody else's row (F-147) */
                     WHERE ks.ConfigId = 1 AND ks.ConversationKey = @conversationKey), 0);

                UPDATE @keys SET Handle = @handle, LastSequence = @keySequence WHERE KeyNumber = @keyNumber;
            END;

            /* -- 3.2  The messages, by seeks on the type's primary key: a cursor would be closed by a
                       ROLLBACK or a caller's CURSOR_CLOSE_ON_COMMIT, or copy every body first --- */
            SET @ordinal = ISNULL(@ordinal, (SELECT MIN(m.Ordinal) FROM @messages AS m));
            WHILE @ordinal IS NOT NULL
            BEGIN
                SELECT @messageType = ISNULL(m.MessageType, N'//redial/orders/event'), @body = m.MessageBody, @messageKey = m.MessageKey
                FROM @messages AS m WHERE m.Ordinal = @ordinal;

                UPDATE @keys SET @keySequence = LastSequence = LastSequence + 1 WHERE ConversationKey = @messageKey;
                SELECT @keyNumber = k.KeyNumber, @handle = k.Handle, @conversationKey = k.ConversationKey
                FROM @keys AS k WHERE k.ConversationKey = @messageKey;

                SET @body = (0x52444C31 + CONVERT(binary(2), 46 + ISNULL(DATALENGTH(@messageKey), 0))
                        + CONVERT(binary(16), ISNULL(@messageId, CONVERT(uniqueidentifier, '00000000-0000-0000-0000-000000000000')))
                        + CONVERT(binary(8), ISNULL(@keySequence, CONVERT(bigint, 0)))
                        + CONVERT(binary(8), DATEDIFF_BIG(millisecond, CONVERT(datetime2(3), '1970-01-01'), SYSUTCDATETIME()))
                        + CONVERT(binary(2), ISNULL(DATALENGTH(@messageKey), 0))
                        + 0x000000000000
                        + CONVERT(varbinary(1168), CONCAT(N'', @messageKey))
                        ) + ISNULL(@body, 0x);

                /* A dead handle must not doom the caller's work: OFF for this one statement (F-131). */
                IF @ownsTransaction = 0
                    SET XACT_ABORT OFF;

                SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@body);

                /* ON: a cancel here leaves no message without its copy, as in usp_Send (F-460). */
                SET XACT_ABORT ON;
                SET @last = @ordinal;
                UPDATE sc
                SET Sent = sc.Sent + 1, TransactionId = CURRENT_TRANSACTION_ID()    /* whose messages stay here */
                OUTPUT INSERTED.ConversationId, DELETED.Sent, @messageType, @body
                INTO [orders].[SentMessage] (ConversationId, MessageSequence, MessageType, Body)
                FROM [orders].[SessionConversations] AS sc WITH (ROWLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)   /* the row we hold */
                WHERE sc.ConfigId = 1 AND sc.ConversationKey = @conversationKey AND sc.Handle = @handle;
                IF @@ROWCOUNT <> 1
                    THROW 50105, N'The dialog the message was sent on is not the one its row leads to any more, so it has no copy. The transaction can only be rolled back. Next: send again.', 1;

                IF @ownsTransaction = 0 AND @callerAborts = 0
                    SET XACT_ABORT OFF;

                SET @ordinal = (SELECT TOP (1) m.Ordinal FROM @messages AS m WHERE m.Ordinal > @ordinal ORDER BY m.Ordinal);
            END;

            /* -- 3.3  The numbers are taken ----------------------------------------------------- */
            UPDATE ks
            SET LastSequence = k.LastSequence
            FROM @keys AS k
            INNER JOIN [orders].[KeySequence] AS ks
                    WITH (ROWLOCK, FORCESEEK)   /* these rows; a scan would wait for other keys */
                ON ks.ConfigId = 1 AND ks.ConversationKey = k.ConversationKey
            OPTION (FORCE ORDER, LOOP JOIN);
            IF @@ROWCOUNT < @keyCount
                INSERT INTO [orders].[KeySequence] (ConfigId, ConversationKey, LastSequence)
                SELECT 1, k.ConversationKey, k.LastSequence
                FROM @keys AS k
                WHERE NOT EXISTS (SELECT 1 FROM [orders].[KeySequence] AS ks WITH (FORCESEEK)  /* as above */
                                  WHERE ks.ConfigId = 1 AND ks.ConversationKey = k.ConversationKey);

            IF @ownsTransaction = 1
                COMMIT TRANSACTION;

            SET @replays = @attempt - 1;
            RETURN 0;
        END TRY
        BEGIN CATCH
            SET @error = ERROR_NUMBER();

            IF @ownsTransaction = 0 AND @callerAborts = 1
                SET XACT_ABORT ON;      /* before any THROW, as in usp_Send */

            IF @ownsTransaction = 1 AND @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* As in usp_Send: 8426, 8429 a dead dialog, 2627 the key's row was made meanwhile. In the caller's
               transaction not behind a message of this key: it would be split over two dialogs. */
            IF @error NOT IN (8426, 8429, 2627)
               OR @attempt >= 5 + @keyCount
               OR (@ownsTransaction = 0
                   AND (XACT_STATE() <> 1
                        OR EXISTS (SELECT 1 FROM @messages AS m WHERE m.Ordinal <= @last AND m.MessageKey = @conversationKey)))
            BEGIN
                IF @last IS NOT NULL
                    SET XACT_ABORT ON;  /* a caller who goes on must not commit half a batch */
                THROW;
            END;

            /* Zeros: an aged dialog was found dead, close nothing in the next attempt (F-150). */
            UPDATE @keys
            SET DeadHandle = CASE WHEN @error = 2627 THEN DeadHandle ELSE ISNULL(@handle, '00000000-0000-0000-0000-000000000000') END
            WHERE KeyNumber = @keyNumber;
            IF @ownsTransaction = 1
                SELECT @ordinal = NULL, @last = NULL;
            UPDATE @keys SET Handle = NULL WHERE @ownsTransaction = 1 OR KeyNumber = @keyNumber;
        END CATCH;
    END;
END;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_SendBatch]
    @fromService sysname = N'//redial/orders/initiator',  /* may be left out: the only one */
    @toService sysname = N'//redial/orders/target',  /* likewise */
    @onContract sysname = N'//redial/orders/contract',  /* likewise: the newest */
    @messages [orders].[MessageBatch] READONLY,   /* the messages; leave it out where @json has them */
    @json nvarchar(max) = NULL          /* [{"ordinal": 1, "type": "...", "body": "base64", "key": null, "id": null}, ...] */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
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
    DECLARE @batch [orders].[MessageBatch];
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
    IF ISNULL(@fromService, N'') <> N'//redial/orders/initiator'
        SET @problems = @problems + N'@fromService must be ''//redial/orders/initiator''. ';
    IF ISNULL(@toService, N'') <> N'//redial/orders/target'
        SET @problems = @problems + N'@toService must be ''//redial/orders/target''. ';
    IF ISNULL(@onContract, N'') <> N'//redial/orders/contract'
        SET @problems = @problems + N'@onContract must be ''//redial/orders/contract''. ';
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
        FROM [orders].[ufn_ReadBatch](@json) AS e;

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
        EXECUTE [orders].[usp_SendMessages]
            @messages = @messages, @problems = @problems,
            @sent = @sent OUTPUT, @dialogs = @dialogs OUTPUT, @replays = @replays OUTPUT;
    ELSE
        EXECUTE [orders].[usp_SendMessages]
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
CREATE OR ALTER VIEW [orders].[Outbox]
AS
/* Redial 0.1.0, configuration orders */
/* Sending by INSERT, for tools that can do nothing else: each row is a message of usp_SendMessages, the
   rows of one statement are one batch, sent in the order of Ordinal (Outbox_Insert). The view shows no
   row and has no table behind it, so whatever inserts past its trigger (BULK INSERT and bcp do, unless
   told FIRE_TRIGGERS) fails with 4406 instead of storing rows nobody sends (F-332). */
SELECT
    CONVERT(int, NULL) AS Ordinal,
    CONVERT(nvarchar(256), NULL) AS MessageType,
    CONVERT(varbinary(max), NULL) AS MessageBody,
    CONVERT(nvarchar(4000), NULL) AS MessageKey,
    CONVERT(uniqueidentifier, NULL) AS MessageId
WHERE 1 = 0;
GO
CREATE OR ALTER TRIGGER [orders].[Outbox_Insert]
ON [orders].[Outbox]
WITH EXECUTE AS N'orders_module'
INSTEAD OF INSERT
AS
/* Redial 0.1.0, configuration orders */
/* Sends the rows of one INSERT: all or none, in the order of Ordinal. An error rolls back the whole
   transaction of the INSERT: triggers run under XACT_ABORT ON (create-trigger-transact-sql). */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* the INSERT itself is cut by it, what it inserted is not (F-331) */

    DECLARE @problems nvarchar(max) = N'';
    DECLARE @ordinal int = NULL;
    DECLARE @nulls int;
    DECLARE @duplicates int;
    DECLARE @batch [orders].[MessageBatch];

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Ordinals: every row has one, and no other row of the statement has it                    */
    /* ----------------------------------------------------------------------------------------- */
    SET @nulls = (SELECT COUNT(*) FROM inserted AS i WHERE i.Ordinal IS NULL);
    IF @nulls > 0
        SET @problems = @problems + CONCAT(N'Ordinal must not be NULL, and is in ', @nulls, N' rows. ');

    SELECT @duplicates = COUNT(*), @ordinal = MIN(d.Ordinal)
    FROM (SELECT i.Ordinal FROM inserted AS i WHERE i.Ordinal IS NOT NULL GROUP BY i.Ordinal HAVING COUNT(*) > 1) AS d;
    IF @duplicates > 0
        SET @problems = @problems + CONCAT(N'Ordinal must be given once in a statement; ', @duplicates, N' are given more often, the first is ', @ordinal, N'. ');

    /* ----------------------------------------------------------------------------------------- */
    /* 2  One row per ordinal, so that the rest is checked too; usp_SendMessages raises it all     */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @batch (Ordinal, MessageType, MessageBody, MessageKey, MessageId)
    SELECT n.Ordinal, n.MessageType, n.MessageBody, n.MessageKey, n.MessageId
    FROM (SELECT i.Ordinal, i.MessageType, i.MessageBody, i.MessageKey, i.MessageId,
                 ROW_NUMBER() OVER (PARTITION BY i.Ordinal ORDER BY i.Ordinal) AS Nth
          FROM inserted AS i
          WHERE i.Ordinal IS NOT NULL) AS n
    WHERE n.Nth = 1;

    EXECUTE [orders].[usp_SendMessages] @messages = @batch, @problems = @problems;
END;
GO
DECLARE @property int;
EXECUTE @property = sys.sp_updateextendedproperty @name = N'Redial.files', @value = N'875254cfeddf0a5b 2', @level0type = N'SCHEMA', @level0name = N'orders';
IF ISNULL(@property, 1) <> 0
    THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
GO
SET NOEXEC OFF;
GO
