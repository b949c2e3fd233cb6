/* F-252: A queue with a QUEUE_ACTIVATION notification that nobody reads: how many seconds
   are between the first two notices?
   Settles external_activation_timeout_s = 5 | 60.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_external_activation_timeout_s') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_external_activation_timeout_s;
GO
USE RedialProbe_external_activation_timeout_s;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
CREATE QUEUE dbo.NoticeQueue;
CREATE SERVICE [//probe/notices] ON QUEUE dbo.NoticeQueue
    ([http://schemas.microsoft.com/SQL/Notifications/PostEventNotification]);
GO
CREATE EVENT NOTIFICATION ProbeNotification ON QUEUE dbo.ToQueue FOR QUEUE_ACTIVATION
    TO SERVICE '//probe/notices', 'current database';
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @first datetime2(3), @second datetime2(3), @seconds int, @body varbinary(max);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @body = message_body FROM dbo.NoticeQueue), TIMEOUT 20000;
SET @first = SYSUTCDATETIME();
SET @body = NULL;
WAITFOR (RECEIVE TOP (1) @body = message_body FROM dbo.NoticeQueue), TIMEOUT 100000;
IF @body IS NOT NULL
    SET @second = SYSUTCDATETIME();
SET @seconds = DATEDIFF(second, @first, @second);
SET @observed = ISNULL(CONVERT(nvarchar(10), @seconds), N'no second notice within 100');
SET @settles = CASE WHEN @seconds BETWEEN 3 AND 30 THEN N'external_activation_timeout_s=5'
                    WHEN @seconds > 30 THEN N'external_activation_timeout_s=60' END;
SELECT
    N'F-252' AS Fact,
    N'A queue with a QUEUE_ACTIVATION notification that nobody reads: how many seconds' +
        N' are between the first two notices?' AS Question,
    N'5' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_external_activation_timeout_s
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_external_activation_timeout_s;
GO
