/* F-106: The initiator ended first: is the security_timestamp of the target's CLOSED row
   set?
   Settles fire_and_forget_retention = 30 minutes | lifetime.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_fire_and_forget_retention') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_fire_and_forget_retention;
GO
USE RedialProbe_fire_and_forget_retention;
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
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
END CONVERSATION @h;
WAITFOR DELAY '00:00:02';
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t;
WAITFOR DELAY '00:00:02';
SELECT @observed = CASE
        WHEN e.security_timestamp < '2000-01-01' THEN N'not set: 1900'
        WHEN e.security_timestamp BETWEEN DATEADD(minute, 25, GETUTCDATE())
             AND DATEADD(minute, 35, GETUTCDATE()) THEN N'about 30 minutes ahead'
        ELSE CONVERT(nvarchar(30), e.security_timestamp, 121) END
FROM sys.conversation_endpoints AS e
WHERE e.conversation_handle = @t;
SET @settles = CASE @observed
    WHEN N'about 30 minutes ahead' THEN N'fire_and_forget_retention=30 minutes'
    WHEN N'not set: 1900' THEN N'fire_and_forget_retention=lifetime' END;
SELECT
    N'F-106' AS Fact,
    N'The initiator ended first: is the security_timestamp of the target''s CLOSED row' +
        N' set?' AS Question,
    N'about 30 minutes ahead' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_fire_and_forget_retention
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_fire_and_forget_retention;
GO
