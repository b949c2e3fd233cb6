SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_StartQueue]
    @queue nvarchar(128) = NULL,        /* NULL: both */
    @restart bit = 0,                   /* 1: also switch activation off and on, where a reader is stuck */
    @waitSeconds int = 30,              /* 0 to 3600: how long to wait for readers that are at work */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each try */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* For an operator: switches a queue and its activation on, with procedure, readers and the other properties
   the configuration says. What switched it off is not mended by this: see vw_Errors first; five rollbacks in
   a row would switch it off again (F-118). Only what differs is altered, unless @restart = 1.
   ALTER QUEUE waits for every open RECEIVE, and who sends or receives waits behind it (F-130): so it waits
   two seconds at a time and lets them pass in between.
   Result set, one row a queue: QueueName nvarchar(128), Figure nvarchar(200), Outcome nvarchar(400).
   Returns 0, or 1: not all is done; call again. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @queues TABLE (QueueName nvarchar(128) NOT NULL PRIMARY KEY, Figure nvarchar(200) NULL, IsDue bit NOT NULL, Outcome nvarchar(400) NULL);
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @name nvarchar(128);
    DECLARE @deadline datetime2(3);

    IF @Help = 1
    BEGIN
        PRINT N'usp_StartQueue switches queues and their activation on, as configuration orders says.
  @queue        its name; NULL: both queues of the configuration that are in this database
  @restart      1: also switch activation off and on, where a reader ended without RECEIVE
  @waitSeconds  0 to 3600, 30 by default: how long to wait for readers that are at work
  @reason       why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf       1 (default): only show; 0: do it
  @Debug        1: print each try
Example: EXECUTE [orders].[usp_StartQueue] @reason = N''disk is free again'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50271, N'usp_StartQueue must be called outside a transaction: altering a queue keeps its senders waiting until the end of one.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* see above */

    IF @queue IS NOT NULL AND @queue NOT IN (N'InitiatorQueue', N'TargetQueue')
        SET @errors = @errors + N'@queue must be InitiatorQueue or TargetQueue, or NULL for both. ';
    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N'@waitSeconds must be 0 to 3600. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50270, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    INSERT INTO @queues (QueueName, Figure, IsDue)
    SELECT q.name,
        CONCAT(N'queue ', CASE WHEN q.is_receive_enabled = 1 AND q.is_enqueue_enabled = 1 THEN N'on' ELSE N'OFF' END,
            N', activation ', CASE WHEN q.is_activation_enabled = 1 THEN N'on' ELSE N'OFF' END, N', procedure ', ISNULL(q.activation_procedure, N'NONE'),
            N', readers ', q.max_readers, N', retention ', q.is_retention_enabled, N', poison handling ', q.is_poison_message_handling_enabled),
        CASE WHEN ISNULL(@restart, 0) = 0
              AND q.is_receive_enabled = 1 AND q.is_enqueue_enabled = 1 AND q.is_activation_enabled = 1
              AND q.is_retention_enabled = 0 AND q.is_poison_message_handling_enabled = k.Poison
              AND q.max_readers = k.Readers
              AND OBJECT_ID(q.activation_procedure) = k.ProcedureId
              AND q.execute_as_principal_id = DATABASE_PRINCIPAL_ID(N'orders_module') THEN 0 ELSE 1 END
    FROM (VALUES
        (OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ'), 4, 1, OBJECT_ID(N'[orders].[usp_SenderActivation]', N'P')),
        (OBJECT_ID(N'[orders].[TargetQueue]', N'SQ'), 4, 1, OBJECT_ID(N'[orders].[usp_TargetActivation]', N'P'))
    ) AS k(QueueId, Readers, Poison, ProcedureId)
    INNER JOIN sys.service_queues AS q ON q.object_id = k.QueueId
    WHERE q.name = ISNULL(@queue, q.name);

    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL)
    BEGIN
        SELECT TOP (1) @name = q.QueueName FROM @queues AS q WHERE q.IsDue = 1 AND q.Outcome IS NULL ORDER BY q.QueueName;
        BEGIN TRY
            IF @name = N'InitiatorQueue'
            BEGIN
                IF @restart = 1
                    ALTER QUEUE [orders].[InitiatorQueue] WITH ACTIVATION (STATUS = OFF);
                ALTER QUEUE [orders].[InitiatorQueue] WITH STATUS = ON, RETENTION = OFF,
                    ACTIVATION (STATUS = ON, PROCEDURE_NAME = [orders].[usp_SenderActivation], MAX_QUEUE_READERS = 4, EXECUTE AS SELF),
                    POISON_MESSAGE_HANDLING (STATUS = ON);
            END;
            IF @name = N'TargetQueue'
            BEGIN
                IF @restart = 1
                    ALTER QUEUE [orders].[TargetQueue] WITH ACTIVATION (STATUS = OFF);
                ALTER QUEUE [orders].[TargetQueue] WITH STATUS = ON, RETENTION = OFF,
                    ACTIVATION (STATUS = ON, PROCEDURE_NAME = [orders].[usp_TargetActivation], MAX_QUEUE_READERS = 4, EXECUTE AS SELF),
                    POISON_MESSAGE_HANDLING (STATUS = ON);
            END;
            UPDATE @queues SET Outcome = N'done' WHERE QueueName = @name;
            INSERT INTO [orders].[OperatorLog] (Action, Detail, Reason) VALUES (N'start queue', @name, @reason);
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF @Debug = 1
                PRINT CONCAT(@name, N': ', ERROR_MESSAGE());
            IF ERROR_NUMBER() <> 1222 OR SYSUTCDATETIME() >= @deadline
                UPDATE @queues
                SET Outcome = LEFT(CASE WHEN ERROR_NUMBER() = 1222 THEN N'not done: readers or senders were at work on it all the time; call again'
                                        ELSE CONCAT(N'failed: ', ERROR_MESSAGE()) END, 400)
                WHERE QueueName = @name;
            ELSE
                WAITFOR DELAY '00:00:00.500';
        END CATCH;
    END;

    SELECT q.QueueName, q.Figure, ISNULL(q.Outcome, CASE WHEN q.IsDue = 0 THEN N'nothing to do' ELSE N'would be done' END) AS Outcome
    FROM @queues AS q
    ORDER BY q.QueueName;

    RETURN CASE WHEN EXISTS (SELECT 1 FROM @queues AS q WHERE q.Outcome <> N'done') THEN 1 ELSE 0 END;
END;
GO
