/* F-132: A DELETE through a nonclustered index gets that key and fails on the clustered one
   with 1222: is the first key still locked?
   Settles failed_statement_locks = kept | released.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_failed_statement_locks') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_failed_statement_locks;
GO
USE RedialProbe_failed_statement_locks;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE TABLE dbo.ProbeTable
(
    k int NOT NULL CONSTRAINT PK_ProbeTable PRIMARY KEY CLUSTERED,
    h int NOT NULL CONSTRAINT UQ_ProbeTable UNIQUE NONCLUSTERED,
    v int NOT NULL
);
INSERT INTO dbo.ProbeTable (k, h, v) VALUES (1, 101, 0), (2, 102, 0), (3, 103, 0);
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
DECLARE @keys int;
EXECUTE dbo.ProbeSecondSession N'BEGIN TRANSACTION; UPDATE dbo.ProbeTable SET v = 1 WHERE k = 1;
    WAITFOR DELAY ''00:00:08''; ROLLBACK TRANSACTION;';
WAITFOR DELAY '00:00:03';
SET LOCK_TIMEOUT 500;
BEGIN TRANSACTION;
BEGIN TRY
    DELETE t FROM dbo.ProbeTable AS t WITH (INDEX (UQ_ProbeTable), FORCESEEK) WHERE t.h = 101;
    SET @observed = N'no error';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SELECT @keys = COUNT(*)
FROM sys.dm_tran_locks AS l
WHERE l.request_session_id = @@SPID AND l.resource_type = N'KEY' AND l.request_status = N'GRANT';
ROLLBACK TRANSACTION;
SET LOCK_TIMEOUT -1;
IF @observed = N'error 1222'
    SET @settles = CASE @keys WHEN 0 THEN N'failed_statement_locks=released'
                              ELSE N'failed_statement_locks=kept' END;
SET @observed = CONCAT(@observed, N'; keys still locked: ', @keys);
SELECT
    N'F-132' AS Fact,
    N'A DELETE through a nonclustered index gets that key and fails on the clustered ' +
        N'one with 1222: is the first key still locked?' AS Question,
    N'error 1222; keys still locked: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_failed_statement_locks
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_failed_statement_locks;
GO
