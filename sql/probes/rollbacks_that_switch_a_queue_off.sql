/* F-118: Is it five rollbacks in a row, or five in all? Does a commit in between set the
   count back?
   Settles poison_reset = commit | never.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_rollbacks_that_switch_a_queue_off') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_rollbacks_that_switch_a_queue_off;
GO
USE RedialProbe_rollbacks_that_switch_a_queue_off;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @round int = 0;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
SEND ON CONVERSATION @h (0x02);
SEND ON CONVERSATION @h (0x03);
WHILE @round < 9                         /* four rollbacks, a commit, four rollbacks */
BEGIN
    SET @round += 1;
    BEGIN TRY
        BEGIN TRANSACTION;
        WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 2000;
        IF @round = 5
            COMMIT TRANSACTION;
        ELSE
            ROLLBACK TRANSACTION;
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0
            ROLLBACK TRANSACTION;
        BREAK;
    END CATCH;
END;
WAITFOR DELAY '00:00:03';                /* a background task switches it off */
SELECT @observed = CASE q.is_receive_enabled
        WHEN 1 THEN N'on after two times four rollbacks with a commit between'
        ELSE CONCAT(N'off after round ', @round) END
FROM sys.service_queues AS q
WHERE q.name = N'ToQueue';
SET @settles = CASE WHEN @observed LIKE N'on %' THEN N'poison_reset=commit'
                    ELSE N'poison_reset=never' END;
SELECT
    N'F-118' AS Fact,
    N'Is it five rollbacks in a row, or five in all? Does a commit in between set the ' +
        N'count back?' AS Question,
    N'on after two times four rollbacks with a commit between' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_rollbacks_that_switch_a_queue_off
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_rollbacks_that_switch_a_queue_off;
GO
