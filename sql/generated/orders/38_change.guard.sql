SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Where a choice differs from the installed one, the change: gate closed, every dialog ended on both
   sides, rows taken away. The procedures that follow find nothing in flight that they would read otherwise than it was written,
   and 92_settings opens the gate again. Choices that only new dialogs or readers see (encryption,
   lifetime, timer, batch, readers, processing, a contract's new version) drain nothing.
   The rule of the gate: a drain that does not finish opens it again, for nothing has been replaced. A
   deployment that stops later leaves it closed until it is run again, with the old choices or the new. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;
SET ROWCOUNT 0;                         /* SSMS can be told another: lists below would be cut (F-331) */

DECLARE @message nvarchar(2048);

/* -- 1  What differs from the installed choices ------------------------------------------------- */
DECLARE @wanted TABLE (Name nvarchar(60) NOT NULL PRIMARY KEY, Value nvarchar(400) NOT NULL, Drains bit NOT NULL);
DECLARE @changed nvarchar(1000) = N'';
DECLARE @differences TABLE (DifferenceId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Difference nvarchar(1000) NOT NULL);
DECLARE @difference int = 0;
INSERT INTO @wanted (Name, Value, Drains)
VALUES
    (N'config_id', N'1', 1),
    (N'conversation.key', N'application', 1),
    (N'conversation.recycle', N'timer', 1),
    (N'conversation.timer_strategy', N'two_phase', 1),
    (N'conversation.order', N'key', 1),
    (N'conversation.delivery', N'at_least_once', 1),
    (N'conversation.copies', N'until_landed', 1),
    (N'envelope.who', N'0', 1),
    (N'contract.end_of_stream', N'EndOfStream', 1),
    (N'services.initiator', N'//redial/orders/initiator', 1),
    (N'services.target', N'//redial/orders/target', 1),
    (N'queues.initiator', N'InitiatorQueue', 1),
    (N'queues.target', N'TargetQueue', 1),
    (N'target.database', N'', 1),
    (N'pool.size', N'0', 0),
    (N'target.processing', N'land', 0),
    (N'conversation.encryption', N'0', 0),
    (N'conversation.lifetime_seconds', N'2592000', 0),
    (N'contract.name', N'//redial/orders/contract', 0),
    (N'roles.module', N'orders_module', 0);

INSERT INTO @differences (Difference)
SELECT CONCAT(w.Name, N' ', ISNULL(st.Value, N'(unknown)'), N' -> ', w.Value, N'; ')
FROM @wanted AS w
LEFT OUTER JOIN [orders].[Setting] AS st ON st.Name = w.Name
WHERE w.Drains = 1
  AND (st.Value <> w.Value COLLATE Latin1_General_BIN2     /* service names: byte for byte (F-376) */
       /* An installation from before this choice: its dialogs know nothing of it. */
       OR (st.Name IS NULL AND EXISTS (SELECT 1 FROM [orders].[Setting] AS k WHERE k.Name = N'conversation.key')))
ORDER BY w.Name;
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N'//redial/orders/event' AND mt.validation <> 'N')
    INSERT INTO @differences (Difference) VALUES (N'validation of //redial/orders/event; ');
IF EXISTS (SELECT 1 FROM sys.service_message_types AS mt
           WHERE mt.name COLLATE Latin1_General_BIN2 = N'EndOfStream' AND mt.validation <> 'E')
    INSERT INTO @differences (Difference) VALUES (N'validation of EndOfStream; ');

/* A version of the contract that is no longer listed: usp_Send will not ask which version a dialog is
   on, so those dialogs go first. */
INSERT INTO @differences (Difference)
SELECT CONCAT(N'contract ', sc.name, N' no longer listed; ')
FROM sys.service_contracts AS sc
INNER JOIN sys.extended_properties AS ep ON ep.class = 16 AND ep.major_id = sc.service_contract_id
WHERE ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'orders'))
  AND sc.name COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/contract')
  AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce
              WHERE ce.service_contract_id = sc.service_contract_id AND ce.state <> 'CD');

/* One row after the other: SELECT @v = @v + .. over several rows may keep the last one only (F-371). */
WHILE EXISTS (SELECT 1 FROM @differences AS d WHERE d.DifferenceId > @difference)
BEGIN
    SELECT TOP (1) @difference = d.DifferenceId, @changed = LEFT(CONCAT(@changed, d.Difference), 1000)
    FROM @differences AS d
    WHERE d.DifferenceId > @difference
    ORDER BY d.DifferenceId;
END;

IF @changed <> N''
BEGIN
    /* -- 3  Close the gate. Senders of single and message keep a lock on it, so this waits for them - */
    DECLARE @initiator nvarchar(400) = ISNULL((SELECT st.Value FROM [orders].[Setting] AS st WHERE st.Name = N'services.initiator'), N'//redial/orders/initiator');
    DECLARE @target nvarchar(400) = ISNULL((SELECT st.Value FROM [orders].[Setting] AS st WHERE st.Name = N'services.target'), N'//redial/orders/target');

    PRINT CONCAT(N'Changing with a drain: ', @changed);
    DECLARE @lockTimeout int = @@LOCK_TIMEOUT;
    DECLARE @handle uniqueidentifier;
    DECLARE @hasRow bit;
    DECLARE @open int = 1;
    DECLARE @until datetime2(3) = SYSUTCDATETIME();
    DECLARE @busy bit;
    DECLARE @rows bigint;
    DECLARE @copies int;
    DECLARE @handles TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY, HasRow bit NOT NULL);

    BEGIN TRY
        BEGIN TRY
            SET LOCK_TIMEOUT 30000;
            BEGIN TRANSACTION;
            UPDATE g
            SET IsOpen = 0, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment: change of choices'
            FROM [orders].[Gate] AS g
            WHERE g.ConfigId = 1 AND g.IsOpen = 1;
            IF @@ROWCOUNT = 1
               AND NOT EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate')
                INSERT INTO [orders].[Setting] (Name, Value) VALUES (N'deployment.gate', N'closed');
            COMMIT TRANSACTION;
            SET LOCK_TIMEOUT @lockTimeout;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
            THROW 50190, N'The gate could not be closed within 30 seconds: a sender''s transaction is open. It is open as before, and nothing was changed. Next: let that transaction end, then deploy again.', 1;
        END CATCH;

        /* -- 4  Drain; then take the rows away -------------------------------------------------- */
        BEGIN TRY
            /* A row that is being made or in use by a sender is asked again; nothing waits longer than this. */
            SET LOCK_TIMEOUT 2000;
            SET @until = DATEADD(second, 60, SYSUTCDATETIME());
            WHILE @open > 0 AND SYSUTCDATETIME() < @until
            BEGIN
                SET @busy = 0;
                DELETE FROM @handles;

                BEGIN TRY
                    /* Meets every row under a U lock, and so waits for every sender that has looked one up or is
                       just making one: what it goes on to begin would not be seen below (F-196). */
                    BEGIN TRANSACTION;
                    SELECT @rows = COUNT_BIG(*)
                    /* lint: allow SB13: every row is wanted, and the gate keeps new senders out */
                    FROM [orders].[SessionConversations] AS sc
                        WITH (UPDLOCK, ROWLOCK);
                    COMMIT TRANSACTION;

                    /* A dialog without a row is everlasting (key = single): its senders read the gate under a lock
                       they keep to their end, so none is at work now that the gate is closed. */
                    INSERT INTO @handles (Handle, HasRow)
                    SELECT ce.conversation_handle, CASE WHEN sc.Handle IS NULL THEN 0 ELSE 1 END
                    FROM sys.conversation_endpoints AS ce
                    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                    LEFT JOIN [orders].[ConversationLog] AS cl ON cl.Handle = ce.conversation_handle
                    /* lint: allow SB13: as above */
                    LEFT JOIN [orders].[SessionConversations] AS sc WITH (READCOMMITTEDLOCK) ON sc.Handle = ce.conversation_handle
                    WHERE s.name COLLATE Latin1_General_BIN2 = @initiator
                      AND ce.is_initiator = 1
                      AND ce.state IN ('SO', 'CO')
                      AND (sc.Handle IS NOT NULL OR (cl.Handle IS NOT NULL AND cl.EndOfStreamUtc IS NULL));
                END TRY
                BEGIN CATCH
                    IF XACT_STATE() <> 0
                        ROLLBACK TRANSACTION;
                    IF ERROR_NUMBER() <> 1222
                        THROW;
                    SET @busy = 1;
                END CATCH;

                WHILE EXISTS (SELECT 1 FROM @handles AS h)
                BEGIN
                    SELECT TOP (1) @handle = h.Handle, @hasRow = h.HasRow FROM @handles AS h;
                    DELETE FROM @handles WHERE Handle = @handle;
                    IF @hasRow = 1
                    BEGIN
                        IF OBJECT_ID(N'[orders].[usp_RecycleConversation]', N'P') IS NOT NULL
                            EXECUTE [orders].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;
                    END
                    ELSE IF OBJECT_ID(N'[orders].[usp_SendEndOfStream]', N'P') IS NOT NULL
                    BEGIN
                        BEGIN TRY
                            BEGIN TRANSACTION;
                            /* Takes G, and so waits for whoever is just ending this dialog; then looks again. */
                            EXECUTE [orders].[usp_ArmTimer] @handle = @handle, @seconds = 86400;
                            IF EXISTS (SELECT 1 FROM [orders].[ConversationLog] AS cl
                                       WHERE cl.Handle = @handle AND cl.EndOfStreamUtc IS NULL)
                                EXECUTE [orders].[usp_SendEndOfStream] @handle = @handle;
                            COMMIT TRANSACTION;
                        END TRY
                        BEGIN CATCH
                            IF XACT_STATE() <> 0
                                ROLLBACK TRANSACTION;
                            IF ERROR_NUMBER() NOT IN (1222, 8426, 8429)
                                THROW;
                        END CATCH;
                    END;
                END;

                /* The copies before the dialogs: a resend that is just moving them is waited for, and its new dialog
                   is seen then. CLOSED rows are only the target's memory of replays (F-106) and do not count. */
                SET @copies = 0;
                BEGIN TRY
                    IF OBJECT_ID(N'[orders].[SentMessage]', N'U') IS NOT NULL
                        EXECUTE sys.sp_executesql N'SELECT @copies = COUNT(*) FROM (SELECT TOP (1) sm.MessageSequence FROM [orders].[SentMessage] AS sm) AS x;',
                            N'@copies int OUTPUT', @copies = @copies OUTPUT;
                    SELECT @open = COUNT(*)
                    FROM sys.conversation_endpoints AS ce
                    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                    WHERE s.name COLLATE Latin1_General_BIN2 IN (@initiator, @target)
                      AND ce.state <> 'CD';
                END TRY
                BEGIN CATCH
                    IF XACT_STATE() <> 0
                        ROLLBACK TRANSACTION;
                    IF ERROR_NUMBER() <> 1222       /* a reader that lands a long batch may hold its endpoint (F-126) */
                        THROW;
                    SELECT @busy = 1, @copies = 1, @open = 0;      /* counts as one, below */
                END CATCH;
                IF @busy = 1
                    SET @open = @open + 1;

                /* What was left by dialogs that somebody ended by hand goes out again, on dialogs that end. */
                IF @copies > 0 AND OBJECT_ID(N'[orders].[usp_ResendStranded]', N'P') IS NOT NULL
                    EXECUTE [orders].[usp_ResendStranded] @olderThanSeconds = 0;
                IF @open = 0 AND @copies > 0
                    SET @open = 1;

                IF @open > 0
                    WAITFOR DELAY '00:00:00.500';
            END;
            SET LOCK_TIMEOUT @lockTimeout;      /* a script's SET outlives its batch (F-370) */
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            SET LOCK_TIMEOUT @lockTimeout;
            THROW;
        END CATCH;

        IF @open > 0
        BEGIN
            DECLARE @largest bigint = 0;        /* at most so many copies has a dialog that is gone */
            DECLARE @largestOf uniqueidentifier = '00000000-0000-0000-0000-000000000000', @firstCopy bigint;
            IF OBJECT_ID(N'[orders].[SentMessage]', N'U') IS NOT NULL
            BEGIN
                WHILE 1 = 1
                BEGIN
                    SET @firstCopy = NULL;
                    SELECT TOP (1) @largestOf = sm.ConversationId, @firstCopy = sm.MessageSequence
                    FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                    WHERE sm.ConversationId > @largestOf
                    ORDER BY sm.ConversationId, sm.MessageSequence;
                    IF @firstCopy IS NULL
                        BREAK;
                    SELECT @largest = MAX(sm.MessageSequence) - @firstCopy + 1      /* numbers step by 1 (F-452) */
                    FROM [orders].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                    WHERE sm.ConversationId = @largestOf
                      AND NOT EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                                      WHERE ce.conversation_id = @largestOf AND ce.is_initiator = 1 AND ce.state IN ('SO', 'CO'))
                    HAVING MAX(sm.MessageSequence) - @firstCopy >= @largest;
                END;
            END;
            /* Our own mark says closed: the CATCH below opens it. drained is of a deployment that stopped
               later, and an operator's own closed gate has no mark. */
            SET @message = CONCAT(CASE WHEN @largest > 0 THEN N'Messages of dialogs that are gone have not landed' ELSE CONCAT(@open, N' conversation endpoints did not end') END,
                N', so the choices stay as they are: ', @changed,
                CASE WHEN EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = N'closed')
                     THEN N'The gate is open again. ' ELSE N'The gate stays closed, as it was before. ' END,
                N'Next: look at [orders].[ErrorLog] and [orders].[usp_EndLeaked], at senders in long transactions and at queues that are off',
                CASE WHEN @largest > 0 THEN N'; at [orders].[vw_Unlanded] for those messages, which EXECUTE [orders].[usp_ResendStranded] @olderThanSeconds = 0' END,
                CASE WHEN @largest > 100000 THEN CONCAT(N', @most = ', @largest) END,
                CASE WHEN @largest > 0 THEN N' sends again' END,
                CASE WHEN @largest > 100000 THEN N' (see first that there is room in the log for about three times their bytes)' END,
                N'; then deploy again.');
            SET @message = REPLACE(@message, N'%', N'%%');
            THROW 50190, @message, 1;
        END;

        /* From here on a stop leaves the gate closed: what follows replaces procedures. An operator's own
           closed gate has no mark, and is the operator's to open. */
        BEGIN TRANSACTION;
        UPDATE [orders].[Setting] SET Value = N'drained' WHERE Name = N'deployment.gate';
        /* lint: allow SB13: every row, and the gate keeps senders out */
        DELETE FROM [orders].[SessionConversations];
        IF OBJECT_ID(N'[orders].[Everlasting]', N'U') IS NOT NULL
            DELETE FROM [orders].[Everlasting];
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        /* Whatever stopped it, a deadlock (1205) say: nothing has been replaced, so senders may come in
           again. Nobody sends on a dialog that has got its EndOfStream: rows are gone with theirs, and
           key = single looks at ConversationLog. */
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        SET LOCK_TIMEOUT @lockTimeout;
        BEGIN TRY
            BEGIN TRANSACTION;
            IF EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = N'closed')
            BEGIN
                /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
                UPDATE g
                SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment: drain did not finish'
                FROM [orders].[Gate] AS g
                WHERE g.ConfigId = 1;
                DELETE FROM [orders].[Setting] WHERE Name = N'deployment.gate';
            END;
            COMMIT TRANSACTION;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            PRINT CONCAT(N'The gate could not be opened again: ', ERROR_MESSAGE(), N' Next: deploy again, with the old choices or the new.');
        END CATCH;
        THROW;
    END CATCH;
END;
GO
