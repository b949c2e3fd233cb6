SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_EndLeaked]
    @WhatIf bit = 1,                    /* 1: only show what would be done */
    @most int = 1000,                   /* 1 to 100000: at most so many of each kind in one call */
    @reason nvarchar(400) = NULL,       /* why: kept in OperatorLog; required with @WhatIf = 0 */
    @Help bit = 0,                      /* 1: print what this does, and do nothing */
    @Debug bit = 0                      /* 1: print each one as it is looked at */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* For an operator: endpoints of this configuration's services that nobody will end any more.
   - END: DISCONNECTED_INBOUND or ERROR, with nothing unread and nothing that has not landed.
   - GIVE UP: EndOfStream was sent, and the target's side is gone: what has not landed goes on.
   - END ALONE: a target whose sender's side is gone (ended WITH CLEANUP), with nothing unread or not landed.
   - END UNREACHABLE: EndOfStream was sent long ago to a service that does not exist; for the same callers.
   - END UNUSED: STARTED_OUTBOUND that no sender finds (one was cancelled in its first use, and its
     client committed all the same). CLOSE: the same, CONVERSING; it is sent EndOfStream.
   - END WITH CLEANUP: CLOSED past its time; done for a caller who is in db_owner (28006).
   - DELETE ROW, FREE SLOT: a row of SessionConversations whose dialog is gone.
   Result set, one row each: Handle uniqueidentifier, ConversationId uniqueidentifier, IsInitiator bit,
   State nvarchar(60), ConversationKey nvarchar(200), Action nvarchar(30), Outcome nvarchar(400).
   Returns 0. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @leaked TABLE
    (
        LeakedId int NOT NULL PRIMARY KEY,
        Handle uniqueidentifier NOT NULL,
        ConversationId uniqueidentifier NULL,
        IsInitiator bit NOT NULL,
        State nvarchar(60) NOT NULL,
        ConversationKey nvarchar(200) NULL,
        Action nvarchar(30) NOT NULL,
        Outcome nvarchar(400) NULL
    );
    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @id int = 0;
    DECLARE @handle uniqueidentifier;
    DECLARE @conversationId uniqueidentifier;
    DECLARE @isInitiator bit;
    DECLARE @action nvarchar(30);
    DECLARE @outcome nvarchar(400);

    IF @Help = 1
    BEGIN
        PRINT N'usp_EndLeaked ends conversations of configuration audit that nobody will end any more.
  @most    1 to 100000, 1000 by default: at most so many of each kind in one call
  @reason  why; required with @WhatIf = 0; kept with your login in OperatorLog
  @WhatIf  1 (default): only show; 0: do it
  @Debug   1: print each one as it is looked at
Nothing with an unread message or one that has not landed is ended: those are shown with what to call instead.
Example: EXECUTE [audit].[usp_EndLeaked] @reason = N''a tool began them'', @WhatIf = 0, @most = 10000;';
        RETURN 0;
    END;

    /* Before SET XACT_ABORT ON: THROW under it would roll back the transaction of a caller who has it OFF. */
    IF @@TRANCOUNT <> 0
        THROW 50130, N'usp_EndLeaked must be called outside a transaction: each endpoint is ended in one of its own.', 1;

    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction (F-137) */
    SET ROWCOUNT 0;                     /* a caller's would cut the lists below (F-331) */
    SET LOCK_TIMEOUT 2000;              /* what is busy longer is shown as failed, and stays */

    IF ISNULL(@most, 0) NOT BETWEEN 1 AND 100000
        SET @errors = @errors + N'@most must be 1 to 100000. ';
    IF @WhatIf IS NULL
        SET @errors = @errors + N'@WhatIf must be 0 or 1. ';
    IF @WhatIf = 0 AND NULLIF(LTRIM(RTRIM(@reason)), N'') IS NULL
        SET @errors = @errors + N'@reason must say why, in 1 to 400 characters. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50132, @errors, 1;
    END;

    INSERT INTO @leaked (LeakedId, Handle, ConversationId, IsInitiator, State, ConversationKey, Action)
    SELECT f.LeakedId, f.Handle, f.ConversationId, f.IsInitiator, f.State, f.ConversationKey, f.Action
    FROM [audit].[ufn_Leaked](@most) AS f;

    /* One by one, each checked again in its own transaction. */
    WHILE EXISTS (SELECT 1 FROM @leaked AS l WHERE l.LeakedId > @id)
    BEGIN
        SELECT TOP (1) @id = l.LeakedId, @handle = l.Handle, @conversationId = l.ConversationId, @isInitiator = l.IsInitiator, @action = l.Action
        FROM @leaked AS l
        WHERE l.LeakedId > @id
        ORDER BY l.LeakedId;

        BEGIN TRY
            EXECUTE AS CALLER;      /* who may be a member of db_owner, as we are not */
            EXECUTE [audit].[usp_EndLeakedOne] @handle = @handle, @conversationId = @conversationId, @isInitiator = @isInitiator,
                @action = @action, @WhatIf = @WhatIf, @outcome = @outcome OUTPUT;
            REVERT;
        END TRY
        BEGIN CATCH
            REVERT;
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            SET @outcome = LEFT(CONCAT(N'failed: ', ERROR_MESSAGE()), 400);
        END CATCH;

        UPDATE @leaked SET Outcome = ISNULL(@outcome, N'done') WHERE LeakedId = @id;

        IF @Debug = 1
            PRINT CONCAT(@action, N' ', @handle, N': ', ISNULL(@outcome, N'done'));
    END;

    INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
    SELECT N'end leaked', CONCAT(COUNT(*), N' conversations or rows'), @reason
    FROM @leaked AS l
    WHERE l.Outcome = N'done'
    HAVING COUNT(*) > 0;

    SELECT l.Handle, l.ConversationId, l.IsInitiator, l.State, l.ConversationKey, l.Action, l.Outcome
    FROM @leaked AS l
    ORDER BY l.LeakedId;

    RETURN 0;
END;
GO
