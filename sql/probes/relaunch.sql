/* F-270: A procedure that receives one message and returns: is it started again although
   the queue is empty?
   Settles relaunch = until empty | while messages.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_relaunch') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_relaunch;
GO
USE RedialProbe_relaunch;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
CREATE TABLE dbo.ProbeTable (n int IDENTITY(1, 1) NOT NULL PRIMARY KEY, what nvarchar(100) NULL);
GO
CREATE PROCEDURE dbo.ProbeActivated AS
BEGIN
    DECLARE @h uniqueidentifier;
    INSERT INTO dbo.ProbeTable (what) VALUES (N'start');
    RECEIVE TOP (1) @h = conversation_handle FROM dbo.ToQueue;
END;
GO
ALTER QUEUE dbo.ToQueue WITH ACTIVATION
    (STATUS = ON, PROCEDURE_NAME = dbo.ProbeActivated, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @starts int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:10';
SELECT @starts = COUNT(*) FROM dbo.ProbeTable AS p;
SET @observed = CASE WHEN @starts > 1 THEN N'started again: 2 or more times'
                     ELSE CONCAT(N'started ', @starts, N' times') END;
SET @settles = CASE WHEN @starts > 1 THEN N'relaunch=until empty'
                    WHEN @starts = 1 THEN N'relaunch=while messages' END;
SELECT
    N'F-270' AS Fact,
    N'A procedure that receives one message and returns: is it started again although ' +
        N'the queue is empty?' AS Question,
    N'started again: 2 or more times' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_relaunch
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_relaunch;
GO
