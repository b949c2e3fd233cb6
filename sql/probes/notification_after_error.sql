/* F-253: The service an event notification sends to is dropped: is the notification gone,
   or there until its next event?
   Settles notification_after_error = dropped | kept.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_notification_after_error') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_notification_after_error;
GO
USE RedialProbe_notification_after_error;
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
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:01';
DROP SERVICE [//probe/notices];
WAITFOR DELAY '00:00:02';
SET @observed = CASE
    WHEN EXISTS (SELECT 1 FROM sys.event_notifications AS n WHERE n.name = N'ProbeNotification')
        THEN N'there' ELSE N'gone' END;
SET @settles = CASE @observed WHEN N'gone' THEN N'notification_after_error=dropped'
                              ELSE N'notification_after_error=kept' END;
SELECT
    N'F-253' AS Fact,
    N'The service an event notification sends to is dropped: is the notification gone,' +
        N' or there until its next event?' AS Question,
    N'gone' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_notification_after_error
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_notification_after_error;
GO
