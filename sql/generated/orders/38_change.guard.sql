SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Where a choice differs from the installed one, the change: gate closed, every dialog ended on both
   sides, rows taken away. The procedures that follow find nothing in flight that they would read otherwise than it was written,
   and 93_settings opens the gate again. Choices that only new dialogs or readers see (encryption,
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
  AND EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody's dialog */
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
   /* Else an earlier run has drained and was stopped later: nobody could send since. */
   AND NOT EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value IN (N'drained', N'uninstall'))
BEGIN
    /* -- 4  The installed usp_Drain knows the installed choices: gate, dialogs, both sides ---------- */
    PRINT CONCAT(N'Changing with a drain: ', @changed);
    DECLARE @waitSeconds int = ISNULL(TRY_CONVERT(int, SESSION_CONTEXT(N'redial.wait_seconds')), 60);   /* 0 to 3600 */
    DECLARE @left int = 0;
    DECLARE @said nvarchar(2000) = N'';
    IF OBJECT_ID(N'[orders].[usp_Drain]', N'P') IS NOT NULL
        EXECUTE @left = [orders].[usp_Drain] @reason = N'deployment: change of choices', @waitSeconds = @waitSeconds, @WhatIf = 0,
            @mark = N'closed', @said = @said OUTPUT;
    ELSE IF EXISTS (SELECT 1
                    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)     /* waits for nobody's dialog */
                    INNER JOIN sys.services AS s ON s.service_id = ce.service_id
                    INNER JOIN sys.service_queues AS q ON q.object_id = s.service_queue_id
                    WHERE q.schema_id = SCHEMA_ID(N'orders') AND ce.state <> 'CD')
        SET @left = 2;
    ELSE
    BEGIN
        /* A deployment that stopped before usp_Drain: nobody but its deployer can have sent. */
        BEGIN TRANSACTION;
        UPDATE g
        SET IsOpen = 0, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'deployment: change of choices'
        FROM [orders].[Gate] AS g
        WHERE g.ConfigId = 1 AND g.IsOpen = 1;
        IF @@ROWCOUNT = 1
           AND NOT EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate')
            INSERT INTO [orders].[Setting] (Name, Value) VALUES (N'deployment.gate', N'closed');
        COMMIT TRANSACTION;
    END;
    IF @left = 1
    BEGIN
        SET @message = CONCAT(N'Not drained within ', @waitSeconds, N' seconds, so the choices stay as they are: ', @changed, @said,
            N'Nothing was changed, and the gate is as it was before. Next: ', N'let those transactions end (or wait longer: EXECUTE sys.sp_set_session_context N''redial.wait_seconds'', 600; before this script, up to 3600); look at [orders].[usp_Health], which names what else is in the way and what to call; at [orders].[vw_Unlanded] for messages that have not landed, which EXECUTE [orders].[usp_Resend] sends again', N'; then deploy again.');
        SET @message = REPLACE(@message, N'%', N'%%');
        THROW 50190, @message, 1;
    END;
    IF @left = 2
    BEGIN
        SET @message = CONCAT(N'[orders].[usp_Drain] is not installed and conversations are open, so nobody can be kept out while this changes: ', @changed,
            N'Nothing was changed. Next: run redial.sql with the installed choices to its end, or end what sends and run uninstall.sql (data stays); then this script again.');
        SET @message = REPLACE(@message, N'%', N'%%');
        THROW 50191, @message, 1;
    END;

    /* From here on a stop leaves the gate closed: what follows replaces procedures. An operator's own
       closed gate has no mark, and is the operator's to open. */
    BEGIN TRY
        BEGIN TRANSACTION;
        UPDATE [orders].[Setting] SET Value = N'drained' WHERE Name = N'deployment.gate';
        /* lint: allow SB13: every row, and the gate keeps senders out */
        DELETE FROM [orders].[SessionConversations];
        IF OBJECT_ID(N'[orders].[Everlasting]', N'U') IS NOT NULL
            DELETE FROM [orders].[Everlasting];
        COMMIT TRANSACTION;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        /* A deadlock (1205), say: nothing has been replaced, so senders may come in again. */
        IF OBJECT_ID(N'[orders].[usp_ReopenGate]', N'P') IS NOT NULL
           AND EXISTS (SELECT 1 FROM [orders].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = N'closed')
            EXECUTE [orders].[usp_ReopenGate] @mark = N'closed';
        THROW;
    END CATCH;
END;
GO
