/* F-273: A deadlock between a SEND whose caller has written much log and a transaction that
   has written little: who is the victim?
   Settles send_wait_log = counts | does not count.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_send_wait_log') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_send_wait_log;
GO
USE RedialProbe_send_wait_log;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
CREATE TABLE dbo.ProbeTable
(
    k int NOT NULL CONSTRAINT PK_ProbeTable PRIMARY KEY CLUSTERED,
    h int NOT NULL CONSTRAINT UQ_ProbeTable UNIQUE NONCLUSTERED,
    v int NOT NULL
);
INSERT INTO dbo.ProbeTable (k, h, v) VALUES (1, 101, 0), (2, 102, 0), (3, 103, 0);
GO
CREATE TABLE dbo.ProbeLog (n int IDENTITY(1, 1) NOT NULL PRIMARY KEY, filler char(4000) NOT NULL);
GO
/* The second session: an activated procedure that runs the statement it is sent. */
CREATE QUEUE dbo.WorkerQueue;
CREATE SERVICE [//probe/worker] ON QUEUE dbo.WorkerQueue ([DEFAULT]);
GO
CREATE PROCEDURE dbo.ProbeWorker AS
BEGIN
    SET NOCOUNT ON;
    DECLARE @h uniqueidentifier, @type sysname, @body varbinary(max), @sql nvarchar(max);
    WAITFOR (RECEIVE TOP (1) @h = conversation_handle, @type = message_type_name,
                 @body = message_body
             FROM dbo.WorkerQueue), TIMEOUT 1000;
    IF @h IS NULL
        RETURN;
    END CONVERSATION @h;
    IF @type <> N'DEFAULT'
        RETURN;
    SET @sql = CONVERT(nvarchar(max), @body);
    EXECUTE sys.sp_executesql @sql;
END;
GO
CREATE PROCEDURE dbo.ProbeSecondSession @sql nvarchar(max) AS
BEGIN
    DECLARE @h uniqueidentifier;
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE [//probe/worker] TO SERVICE N'//probe/worker' WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @h (@sql);
END;
GO
ALTER QUEUE dbo.WorkerQueue WITH ACTIVATION
    (STATUS = ON, PROCEDURE_NAME = dbo.ProbeWorker, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @sql nvarchar(max);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SET @sql = CONCAT(N'BEGIN TRANSACTION; BEGIN CONVERSATION TIMER (''', @h,
    N''') TIMEOUT = 3600; WAITFOR DELAY ''00:00:05'';
    UPDATE dbo.ProbeTable SET v = 1 WHERE k = 1; ROLLBACK TRANSACTION;');
EXECUTE dbo.ProbeSecondSession @sql;
WAITFOR DELAY '00:00:02';
BEGIN TRANSACTION;
UPDATE dbo.ProbeTable SET v = 2 WHERE k = 1;
INSERT INTO dbo.ProbeLog (filler)
SELECT REPLICATE('x', 4000) FROM dbo.ProbeTable AS a CROSS JOIN dbo.ProbeTable AS b;
BEGIN TRY
    SEND ON CONVERSATION @h (0x01);
    SET @observed = N'the other';
END TRY
BEGIN CATCH
    SET @observed = CASE ERROR_NUMBER() WHEN 1205 THEN N'the SEND'
                                        ELSE CONCAT(N'error ', ERROR_NUMBER()) END;
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET @settles = CASE @observed WHEN N'the other' THEN N'send_wait_log=counts'
                              WHEN N'the SEND' THEN N'send_wait_log=does not count' END;
SELECT
    N'F-273' AS Fact,
    N'A deadlock between a SEND whose caller has written much log and a transaction ' +
        N'that has written little: who is the victim?' AS Question,
    N'the other' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_send_wait_log
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_send_wait_log;
GO
