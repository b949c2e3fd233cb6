SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_Resend]
    @handle uniqueidentifier = NULL,    /* this dialog; NULL: all that are over */
    @most bigint = 100000,              /* 1 and up: a dialog with more copies is left alone */
    @olderThanSeconds int = 0,          /* younger copies are left alone */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @WhatIf bit = 1,                    /* 1: only show */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each step */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* For an operator: usp_ResendStranded and usp_ResendPending, with a look before and a word after.
   Result set, one row a dialog, at most 10,000: ConversationId uniqueidentifier, Handle uniqueidentifier
   (NULL: its initiator's side is gone), Messages bigint (at most so many), Outcome nvarchar(200). Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @dialogs TABLE
    (
        ConversationId uniqueidentifier NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NULL,
        State char(2) NULL,
        Messages bigint NOT NULL
    );
    DECLARE @conversationId uniqueidentifier = '00000000-0000-0000-0000-000000000000';
    DECLARE @initiator uniqueidentifier;
    DECLARE @first bigint;
    DECLARE @dialogsSeen int = 0;
    DECLARE @code int = 0;
    DECLARE @result int = 0;

    IF @Help = 1
    BEGIN
        PRINT N'usp_Resend sends again what dialogs of configuration logging have left that cannot deliver it any more:
they failed and were too large for activation, or somebody ended them by hand.
  @handle            this dialog (the initiator''s handle), open or not: it is given up; NULL: all that are over
  @most              1 and up, 100000 by default: a dialog with more messages is left alone
  @olderThanSeconds  0 by default: younger messages are left alone (not with @handle)
  @reason            why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf            1 (default): only show; 0: do it
  @Debug             1: print each step
Each dialog goes in one transaction: see first that there is room in the log for about three times the
bytes of the largest. What cannot be sent again is in DeadLetter afterwards. Look first: [logging].[vw_Unlanded].
Example: EXECUTE [logging].[usp_Resend] @reason = N''somebody ended dialogs'', @WhatIf = 0;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50261, N'usp_Resend must be called outside a transaction: each dialog goes in one of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */

    IF ISNULL(@most, 0) NOT BETWEEN 1 AND 2000000000
        SET @errors = @errors + N'@most must be 1 to 2000000000. ';
    IF ISNULL(@olderThanSeconds, -1) < 0
        SET @errors = @errors + N'@olderThanSeconds must be 0 or more. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50260, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Which: one seek a dialog. NOLOCK: a list; what is called below looks again under locks    */
    /* ----------------------------------------------------------------------------------------- */
    IF @handle IS NOT NULL
        INSERT INTO @dialogs (ConversationId, Handle, State, Messages)
        SELECT ce.conversation_id, ce.conversation_handle, ce.state,
            (SELECT COUNT_BIG(*) FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = ce.conversation_id)
        FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
        INNER JOIN sys.services AS s ON s.service_id = ce.service_id
        WHERE ce.conversation_handle = @handle AND ce.is_initiator = 1
          AND s.name COLLATE Latin1_General_BIN2 = N'//redial/logging/initiator';
    ELSE
        WHILE @dialogsSeen < 10000
        BEGIN
            SET @first = NULL;
            SELECT TOP (1) @conversationId = sm.ConversationId, @first = sm.MessageSequence
            FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
            WHERE sm.ConversationId > @conversationId
            ORDER BY sm.ConversationId, sm.MessageSequence;
            IF @first IS NULL
                BREAK;
            SELECT @dialogsSeen = @dialogsSeen + 1, @initiator = NULL;
            SELECT @initiator = cl.Handle
            FROM [logging].[ConversationLog] AS cl WITH (NOLOCK, INDEX ([IX_ConversationLog_ConversationId]), FORCESEEK)   /* written once */
            WHERE cl.ConversationId = @conversationId;
            IF @initiator IS NULL                      /* its row was deleted by hand */
                SELECT @initiator = ce.conversation_handle
                FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
                WHERE ce.conversation_id = @conversationId AND ce.is_initiator = 1;

            /* Numbers of a dialog step by 1 (F-452): from first to last, and no count. */
            INSERT INTO @dialogs (ConversationId, Handle, State, Messages)
            SELECT @conversationId, ce.conversation_handle, ce.state, l.LastSequence - @first + 1
            FROM (SELECT MAX(sm.MessageSequence) AS LastSequence FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK)
                  WHERE sm.ConversationId = @conversationId) AS l
            LEFT OUTER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = @initiator
            WHERE l.LastSequence IS NOT NULL
              AND (ce.state IS NULL OR ce.state NOT IN ('SO', 'CO'));
        END;

    IF @handle IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @dialogs)
        THROW 50260, N'@handle must be the initiator''s handle of a conversation of service ''//redial/logging/initiator'' that is still there; see vw_Conversations. Nothing was done.', 1;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Send                                                                                     */
    /* ----------------------------------------------------------------------------------------- */
    IF @WhatIf = 0
    BEGIN
        INSERT INTO [logging].[OperatorLog] (Action, Detail, Reason)
        SELECT N'resend', CONCAT(COUNT(*), N' dialogs', N', conversation ' + CONVERT(nvarchar(36), @handle)), @reason FROM @dialogs;

        IF @handle IS NULL
            EXECUTE [logging].[usp_ResendStranded] @olderThanSeconds = @olderThanSeconds, @most = @most;
        ELSE IF NOT EXISTS (SELECT 1 FROM @dialogs AS d WHERE d.Messages > @most)
        BEGIN
            /* What activation wrote down of its Error message. */
            SELECT @code = ISNULL(cl.Code, 0) FROM [logging].[ConversationLog] AS cl WITH (NOLOCK, FORCESEEK) WHERE cl.Handle = @handle;
            EXECUTE @result = [logging].[usp_ResendPending] @handle = @handle, @code = @code, @description = @reason;
        END;
        IF @Debug = 1
            PRINT CONCAT(N'Returned ', @result);
    END;

    SELECT d.ConversationId, d.Handle, d.Messages,
        CASE WHEN d.Messages > @most THEN CONCAT(N'kept: more than @most = ', @most, N' messages; see that there is room in the log, then call with a larger @most')
             WHEN @WhatIf = 1 THEN N'would be sent again'
             WHEN NOT EXISTS (SELECT 1 FROM [logging].[SentMessage] AS sm WITH (NOLOCK, FORCESEEK) WHERE sm.ConversationId = d.ConversationId)
                 THEN N'sent again, or in DeadLetter: see vw_DeadLetters'
             WHEN @result = 1 THEN N'kept: a reader of the target is at work on it; call again'
             ELSE N'kept: too young, in use now, or it failed; see vw_Errors' END AS Outcome
    FROM @dialogs AS d
    ORDER BY d.ConversationId;

    RETURN 0;
END;
GO
