SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_Drain]
    @reason nvarchar(400) = NULL,       /* why: kept in Gate and OperatorLog; required with @WhatIf = 0 */
    @waitSeconds int = 60,              /* 0 to 3600: how long to go on, all in all */
    @keepClosed bit = 0,                /* 1: the gate stays closed out of time too */
    @WhatIf bit = 1,                    /* 1: only show what is open now */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0,                     /* 1: print each pass */
    @mark nvarchar(60) = NULL,          /* of a deployment: what opens the gate when that is through */
    @said nvarchar(2000) = NULL OUTPUT  /* what is in the way, for the error of a deployment */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* For an operator: no new sends, every dialog closed with EndOfStream, both sides ended. A sender gets
   in before the gate closes or gets 50102; nobody sends after EndOfStream, nothing is lost (F-148).
   It looks first: a transaction that holds something of ours for more than ten seconds already may have
   been forgotten, and nobody is kept out for that one; it ends or is named, with the gate as it was.
   Result set, one row per outcome: Outcome nvarchar(30), Figure bigint, Detail nvarchar(1500).
   Returns 0: drained (or shown), 1: not yet; the gate is as the first row says. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @deadline datetime2(3);
    DECLARE @begunBefore datetime = DATEADD(second, -10, GETDATE());
    DECLARE @who nvarchar(1500) = N'';
    DECLARE @blind int = 0;             /* 1: who it is cannot be seen */
    DECLARE @closed bit = 0;
    DECLARE @wasOpen bit = 0;
    DECLARE @passes int = 0;
    DECLARE @left bigint = NULL;        /* dialogs senders could still use; NULL: one is busy */
    DECLARE @recycled bigint = 0;
    DECLARE @open bigint = 0;
    DECLARE @pending bigint;
    DECLARE @copies bigint = 0;         /* messages that have not landed */
    DECLARE @drained bit = 0;
    DECLARE @largest bigint = 0;        /* at most so many copies has a dialog that is gone */
    DECLARE @largestOf uniqueidentifier = '00000000-0000-0000-0000-000000000000', @firstCopy bigint;

    IF @Help = 1
    BEGIN
        PRINT N'usp_Drain closes the gate (usp_Send then refuses with 50102), closes every dialog of
configuration audit and waits until both sides of each have ended. Open the gate with usp_OpenGate.
Out of time it names who is in the way, and opens the gate again if it was open before.
  @reason       why; required with @WhatIf = 0; kept with your login in Gate and OperatorLog
  @waitSeconds  0 to 3600, 60 by default: how long to go on, all in all
  @keepClosed   1: the gate stays closed out of time too; call again to go on
  @WhatIf       1 (default): only show what is open now, and who is in the way; 0: do it
  @Debug        1: print each pass
  @mark, @said  for redial.sql and uninstall.sql
Example: EXECUTE [audit].[usp_Drain] @reason = N''server moves tonight'', @waitSeconds = 300, @WhatIf = 0;
Not drained in time: a sender is in a long transaction, or the target does not read. See usp_Health.';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50161, N'usp_Drain must be called outside a transaction: each step commits.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 1000;              /* whatever the caller's: what is busy longer is asked again (F-116) */

    IF ISNULL(@waitSeconds, -1) NOT BETWEEN 0 AND 3600
        SET @errors = @errors + N'@waitSeconds must be 0 to 3600. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50160, @errors, 1;
    END;

    SET @deadline = DATEADD(second, @waitSeconds, SYSUTCDATETIME());

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Look first: who was here before us for long                                              */
    /* ----------------------------------------------------------------------------------------- */
    WHILE @WhatIf = 0
    BEGIN
        EXECUTE AS CALLER;              /* only the server knows; see usp_InTheWay */
        EXECUTE @blind = [audit].[usp_InTheWay] @begunBefore = @begunBefore, @who = @who OUTPUT;
        REVERT;
        IF @who = N'' OR @blind = 1 OR SYSUTCDATETIME() >= @deadline
            BREAK;
        WAITFOR DELAY '00:00:01';
    END;

    IF @WhatIf = 0 AND (@who = N'' OR @blind = 1)
    BEGIN TRY
        /* ------------------------------------------------------------------------------------- */
        /* 2  The gate, committed before anything is looked at; the dialogs; both sides of each    */
        /* ------------------------------------------------------------------------------------- */
        EXECUTE [audit].[usp_CloseGate] @reason = @reason, @deadline = @deadline, @mark = @mark,
            @closed = @closed OUTPUT, @wasOpen = @wasOpen OUTPUT;
        IF @closed = 1
            EXECUTE [audit].[usp_CloseDialogs] @deadline = @deadline, @passes = @passes OUTPUT,
                @recycled = @recycled OUTPUT, @left = @left OUTPUT, @Debug = @Debug;
        IF @closed = 1
            EXECUTE [audit].[usp_WaitForEnds] @deadline = @deadline, @resend = 1, @open = @open OUTPUT, @copies = @copies OUTPUT;
        IF @closed = 1 AND @left = 0 AND @open = 0 AND @copies = 0
            SET @drained = 1;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        IF @wasOpen = 1
            EXECUTE [audit].[usp_ReopenGate] @mark = @mark;
        THROW;
    END CATCH;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  What is left, and who is in the way; then the gate as it was                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @drained = 0
    BEGIN
        IF @closed = 0
            EXECUTE [audit].[usp_WaitForEnds] @deadline = '20000101', @open = @open OUTPUT, @copies = @copies OUTPUT;
        IF @WhatIf = 1 OR @closed = 1 OR @who = N''
        BEGIN
            EXECUTE AS CALLER;
            EXECUTE @blind = [audit].[usp_InTheWay] @begunBefore = NULL, @who = @who OUTPUT;
            REVERT;
        END;
        IF @wasOpen = 1 AND @keepClosed = 0
            EXECUTE @closed = [audit].[usp_ReopenGate] @mark = @mark;
    END
    ELSE
        SET @who = N'';

    SELECT @pending = COUNT_BIG(*) FROM [audit].[ufn_Pending]();

    WHILE @copies > 0
    BEGIN
        SET @firstCopy = NULL;
        SELECT TOP (1) @largestOf = sm.ConversationId, @firstCopy = sm.MessageSequence
        FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId > @largestOf
        ORDER BY sm.ConversationId, sm.MessageSequence;
        IF @firstCopy IS NULL
            BREAK;
        SELECT @largest = MAX(sm.MessageSequence) - @firstCopy + 1      /* numbers step by 1 (F-452) */
        FROM [audit].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
        WHERE sm.ConversationId = @largestOf
          AND NOT EXISTS (SELECT 1 FROM [audit].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)
                          INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = cl.Handle AND ce.state IN ('SO', 'CO')
                          WHERE cl.ConversationId = @largestOf)
        HAVING MAX(sm.MessageSequence) - @firstCopy >= @largest;
    END;

    SET @said = CONCAT(CASE WHEN @who <> N'' THEN CONCAT(N'In the way: ', @who, N'. ') END,
        CASE WHEN @open > 0 THEN CONCAT(@open, N' conversation endpoints are open. ') END,
        CASE WHEN @copies > 0 AND @largest > 0 THEN N'Messages of dialogs that are gone have not landed. '
             WHEN @copies > 0 THEN N'Messages have not landed. ' END);

    /* ----------------------------------------------------------------------------------------- */
    /* 4  One row per outcome                                                                      */
    /* ----------------------------------------------------------------------------------------- */
    SELECT o.Outcome, o.Figure, o.Detail
    FROM
    (
        SELECT 1 AS Place,
            CASE WHEN @WhatIf = 1 THEN N'would be closed' WHEN @closed = 1 THEN N'gate closed' WHEN @wasOpen = 1 THEN N'gate open again' ELSE N'gate still open' END AS Outcome,
            @passes AS Figure,
            CASE WHEN @WhatIf = 1 THEN N'nothing was done: @WhatIf = 1'
                 WHEN @closed = 0 THEN N'not drained in time; call again, or with a longer @waitSeconds'
                 ELSE N'passes over the dialogs' END AS Detail
        UNION ALL
        SELECT 2, N'dialogs closed', @recycled, N'EndOfStream was sent on them now, or they were dead'
        UNION ALL
        SELECT 3, N'dialogs in use', ISNULL(@left, 1), N'a sender is at work: it commits or rolls back first'
        WHERE @passes > 0 AND (@left <> 0 OR @left IS NULL)
        UNION ALL
        SELECT 4, N'in the way', NULL, @who        /* or that it cannot be seen */
        WHERE @who <> N''
        UNION ALL
        SELECT 5, N'endpoints open', @open, N'both sides, CLOSED ones left out; 0: everything was received'
        UNION ALL
        SELECT 6, N'dialogs pending', @pending, N'not in their queue yet: see vw_Pending'
        WHERE @pending > 0
        UNION ALL
        SELECT 7, N'messages not landed', @copies, CONCAT(N'10000: or more; see vw_Unlanded',
                CASE WHEN @largest = 0 THEN N'; their dialogs are open still'
                     ELSE CONCAT(N'; their dialogs are gone: see vw_Errors, then EXECUTE ', N'[audit].[usp_Resend]', N' @most = ', @largest, N', @reason = N''usp_Drain'', @WhatIf = 0;', CASE WHEN @largest > 100000 THEN N' One dialog is large: first see that there is room in the log for about three times its bytes' END) END)
        WHERE @copies > 0
    ) AS o
    ORDER BY o.Place;

    RETURN CASE WHEN @WhatIf = 1 OR @drained = 1 THEN 0 ELSE 1 END;
END;
GO
