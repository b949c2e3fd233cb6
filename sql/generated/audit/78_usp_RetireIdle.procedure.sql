SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_RetireIdle]
    @olderThanSeconds int = NULL,       /* idle for at least this long; 0: none for being idle; NULL: 3600 */
    @WhatIf bit = 1,                    /* 1: only show what would be retired */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Closes dialogs whose time has come, or that nobody has sent on for a while: the next send of that
   key begins a new one. Meant for a job; any time is right, as it takes R and G like a recycle (F-127).
   Idle is known by comparing a dialog's next message number with what the last run wrote down in
   IdleWatch: no send writes anything for it (F-171). So a dialog is idle from the second run on, and
   counts from the first run that saw it unmoved.
   Result set: Handle uniqueidentifier, ConversationKey nvarchar(200), Why nvarchar(60), Messages bigint,
   Outcome nvarchar(60). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @dialogs TABLE
    (
        DialogId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationKey nvarchar(200) NOT NULL,
        SendSequence bigint NOT NULL,
        SinceUtc datetime2(3) NULL,     /* it has not moved since; NULL: it has, or is new */
        IsDue bit NOT NULL,
        Why nvarchar(60) NULL,          /* NULL: it stays */
        Outcome nvarchar(60) NULL,
        INDEX IX_Dialogs_Handle NONCLUSTERED (Handle)   /* step 3 looks each one up twice */
    );
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @idleSeconds int = ISNULL(@olderThanSeconds, 3600);
    DECLARE @now datetime2(3) = SYSUTCDATETIME();
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @result int;

    IF @Help = 1
    BEGIN
        PRINT N'usp_RetireIdle closes dialogs of configuration audit that are past their time, near the end of their lifetime or idle, and
sends again what dialogs that were ended by hand have left behind (usp_ResendStranded).
  @olderThanSeconds  idle for at least this long (0: none for being idle); 3600 by default
  @WhatIf            1 (default): only show; 0: do it, and write down how far each dialog has come
  @Debug             1: print each step
Run it every few minutes with @WhatIf = 0: a dialog is known to be idle by comparing two runs.
Example: EXECUTE [audit].[usp_RetireIdle] @olderThanSeconds = 1800, @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50186, N'usp_RetireIdle must be called outside a transaction: each dialog is closed in one of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF @idleSeconds < 0
        SET @errors = @errors + N'@olderThanSeconds must be 0 or more. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50185, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  How far each dialog has come                                                             */
    /* ----------------------------------------------------------------------------------------- */
    INSERT INTO @dialogs (Handle, ConversationKey, SendSequence, SinceUtc, IsDue)
    SELECT sc.Handle, sc.ConversationKey, ce.send_sequence,
        CASE WHEN iw.SendSequence = ce.send_sequence THEN iw.SinceUtc END,
        /* Its timer should have closed it ten retries ago. */
        CASE WHEN 1 = 0
                  OR cl.BegunUtc < DATEADD(second, -4500, @now)
                  OR ce.lifetime <= DATEADD(second, 3690, GETUTCDATE())     /* nobody sends on it any more (F-465) */
             THEN 1 ELSE 0 END
    FROM [audit].[SessionConversations] AS sc
        /* A list of whom to visit, no decision: NOLOCK waits for no sender, and each visit looks again
           under locks. INDEX, FORCESEEK: this configuration's rows only. */
        WITH (NOLOCK, INDEX ([PK_SessionConversations]), FORCESEEK)
    INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = sc.Handle
    LEFT OUTER JOIN [audit].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) ON cl.Handle = sc.Handle
    LEFT OUTER JOIN [audit].[IdleWatch] AS iw ON iw.Handle = sc.Handle
    WHERE sc.ConfigId = 1
      AND ce.state IN ('SO', 'CO');

    UPDATE d
    SET Why = CASE WHEN d.IsDue = 1 THEN N'its time has come'
                   ELSE CONCAT(N'idle for ', DATEDIFF_BIG(second, d.SinceUtc, @now), N' s or more') END,
        Outcome = N'would be retired'
    FROM @dialogs AS d
    WHERE d.IsDue = 1
       OR (@idleSeconds > 0 AND d.SinceUtc <= DATEADD(second, -@idleSeconds, @now));

    IF @Debug = 1
    BEGIN
        DECLARE @seen int = (SELECT COUNT(*) FROM @dialogs);
        DECLARE @due int = (SELECT COUNT(*) FROM @dialogs AS d WHERE d.Why IS NOT NULL);
        PRINT CONCAT(N'Dialogs: ', @seen, N', to be retired: ', @due, N'.');
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Write it down for the next run                                                           */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
    BEGIN
        BEGIN TRANSACTION;

        /* TABLOCKX: two runs of this procedure, one after the other; nobody else uses the table. */
        DELETE iw
        FROM [audit].[IdleWatch] AS iw WITH (TABLOCKX)
        WHERE NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.Handle = iw.Handle AND d.SendSequence = iw.SendSequence);

        INSERT INTO [audit].[IdleWatch] (Handle, SendSequence, SinceUtc)
        SELECT d.Handle, d.SendSequence, @now
        FROM @dialogs AS d
        WHERE NOT EXISTS (SELECT 1 FROM [audit].[IdleWatch] AS iw WHERE iw.Handle = d.Handle);

        COMMIT TRANSACTION;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 4  Close them, one by one; a busy one is in use and stays                                   */
    /* ----------------------------------------------------------------------------------------- */
    WHILE @WhatIf = 0 AND EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.DialogId > @id AND d.Why IS NOT NULL)
    BEGIN
        SELECT TOP (1) @id = d.DialogId, @handle = d.Handle
        FROM @dialogs AS d
        WHERE d.DialogId > @id
          AND d.Why IS NOT NULL
        ORDER BY d.DialogId;

        EXECUTE @result = [audit].[usp_RecycleConversation] @handle = @handle, @sendEndOfStream = 1;

        UPDATE @dialogs
        SET Outcome = CASE @result WHEN 0 THEN N'retired' WHEN 1 THEN N'kept: it is in use now' WHEN 3 THEN N'nothing to do: no row leads to it any more' ELSE N'failed: see ErrorLog' END
        WHERE DialogId = @id;
    END;

    IF @WhatIf = 0
        EXECUTE [audit].[usp_ResendStranded];

    SELECT d.Handle, d.ConversationKey, d.Why, d.SendSequence AS Messages, d.Outcome
    FROM @dialogs AS d
    WHERE d.Why IS NOT NULL
    ORDER BY d.DialogId;

    RETURN 0;
END;
GO
