SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_WaitForEnds]
    @deadline datetime2(3),             /* UTC: when to stop; past: one look */
    @resend bit = 0,                    /* 1: what dialogs ended by hand have left goes out again meanwhile */
    @open bigint OUTPUT,                /* endpoints that have not ended */
    @copies bigint OUTPUT               /* messages that have not landed; 10000: or more */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Waits until no dialog of this configuration is open and nothing of it is on its way, for usp_Drain and
   uninstall. Called outside a transaction. CLOSED endpoints are only the target's memory of replays (F-106).
   Endpoints are listed with NOLOCK: dialogs of others in this database are neither waited for nor counted.
   That list shows an END that is not committed as done. So a dialog counts as ended when ConversationLog
   says so, committed, or when we have had its group (F-109): whoever ends it holds that until he commits. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    DECLARE @seen TABLE (Handle uniqueidentifier NOT NULL PRIMARY KEY, ConversationId uniqueidentifier NOT NULL);
    DECLARE @handle uniqueidentifier;
    DECLARE @pauseMs int = 125;
    DECLARE @pause varchar(16);

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            /* The copies first, with locks: a resend that is just moving them is waited for, and its new
               dialog is seen then. */
            SELECT @open = 1, @copies = 1;      /* what an error leaves: not yet */
            SELECT @copies = COUNT(*) FROM (SELECT TOP (10000) sm.MessageSequence FROM [logging].[SentMessage] AS sm WITH (READCOMMITTEDLOCK)) AS x;

            INSERT INTO @seen (Handle, ConversationId)
            SELECT ce.conversation_handle, ce.conversation_id
            FROM sys.conversation_endpoints AS ce WITH (NOLOCK)         /* see above */
            INNER JOIN sys.services AS s ON s.service_id = ce.service_id
            WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/logging/initiator', N'//redial/logging/target')
              AND ce.state <> 'CD'
              AND NOT EXISTS (SELECT 1 FROM @seen AS k WHERE k.Handle = ce.conversation_handle);

            SELECT @open = COUNT_BIG(*)
            FROM @seen AS k
            INNER JOIN sys.conversation_endpoints AS ce WITH (NOLOCK) ON ce.conversation_handle = k.Handle
            WHERE ce.state <> 'CD';

            IF @open = 0
                DELETE k
                FROM @seen AS k
                WHERE EXISTS (SELECT 1
                              FROM @seen AS i
                              INNER JOIN [logging].[ConversationLog] AS cl
                                  WITH (READCOMMITTEDLOCK, INDEX ([PK_ConversationLog]), FORCESEEK)     /* these dialogs' rows, committed */
                                  ON cl.Handle = i.Handle
                              WHERE i.ConversationId = k.ConversationId AND cl.EndedUtc IS NOT NULL);

            WHILE @open = 0 AND EXISTS (SELECT 1 FROM @seen)
            BEGIN
                SELECT TOP (1) @handle = k.Handle FROM @seen AS k;
                BEGIN TRANSACTION;
                /* Takes the group, or says that there is none any more. 1222: somebody is at work on it. */
                EXECUTE [logging].[usp_ArmTimer] @handle = @handle, @seconds = 86400;
                IF EXISTS (SELECT 1 FROM sys.conversation_endpoints AS ce WITH (NOLOCK) WHERE ce.conversation_handle = @handle AND ce.state <> 'CD')
                    SET @open = 1;
                ROLLBACK TRANSACTION;   /* its timer is as it was */
                IF @open = 0
                    DELETE FROM @seen WHERE Handle = @handle;
            END;
        END TRY
        BEGIN CATCH
            IF XACT_STATE() <> 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() <> 1222
                THROW;
            IF @open = 0
                SET @open = 1;
        END CATCH;

        IF @resend = 1 AND @copies > 0
            EXECUTE [logging].[usp_ResendStranded] @olderThanSeconds = 0;

        IF (@open = 0 AND @copies = 0) OR SYSUTCDATETIME() >= @deadline
            RETURN 0;

        /* 0.25 s at first, then twice as long each time up to 4 s: the view has a row for each
           endpoint of the database, and the broker needs it more than we do. */
        SET @pauseMs = CASE WHEN @pauseMs < 4000 THEN @pauseMs * 2 ELSE 4000 END;
        IF @pauseMs > DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline)
            SET @pauseMs = DATEDIFF(millisecond, SYSUTCDATETIME(), @deadline) + 1;
        SET @pause = CONVERT(varchar(12), DATEADD(millisecond, CASE WHEN @pauseMs < 1 THEN 1 ELSE @pauseMs END, CONVERT(time(3), '00:00:00')), 121);
        WAITFOR DELAY @pause;
    END;
END;
GO
