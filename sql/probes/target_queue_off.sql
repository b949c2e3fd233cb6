/* F-264: The target queue of the same database is off: which status has the waiting row,
   and how soon is it delivered once the queue is on?
   Settles target_queue_off_status = engine | documentation | undelivered; retry_delay_s = 0
   | 4.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_target_queue_off') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_target_queue_off;
GO
USE RedialProbe_target_queue_off;
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
DECLARE @status nvarchar(4000), @began datetime2(3), @ms int;
ALTER QUEUE dbo.ToQueue WITH STATUS = OFF;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:03';
SELECT @status = q.transmission_status
FROM sys.transmission_queue AS q
WHERE q.conversation_handle = @h;
ALTER QUEUE dbo.ToQueue WITH STATUS = ON;
SET @began = SYSUTCDATETIME();
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 90000;
SET @ms = DATEDIFF(millisecond, @began, SYSUTCDATETIME());
SET @observed = CONCAT(
    CASE WHEN @status LIKE N'%is currently disabled%' THEN N'text of message 9617'
         ELSE CONCAT(N'"', @status, N'"') END,
    CASE WHEN @t IS NULL THEN N'; not delivered'
         WHEN @ms < 1000 THEN N'; delivered within a second'
         ELSE CONCAT(N'; delivered after ', @ms, N' ms') END);
SET @settles = CONCAT(
    CASE WHEN @status LIKE N'%is currently disabled%' THEN N'target_queue_off_status=engine; '
         WHEN @status LIKE N'Target queue is disabled%'
             THEN N'target_queue_off_status=documentation; '
         WHEN @status LIKE N'One or more messages could not be delivered%'
             THEN N'target_queue_off_status=undelivered; ' END,
    CASE WHEN @t IS NULL THEN N''
         WHEN @ms < 1000 THEN N'retry_delay_s=0'
         ELSE N'retry_delay_s=4' END);
SELECT
    N'F-264' AS Fact,
    N'The target queue of the same database is off: which status has the waiting row, ' +
        N'and how soon is it delivered once the queue is on?' AS Question,
    N'text of message 9617; delivered within a second' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_target_queue_off
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_target_queue_off;
GO
