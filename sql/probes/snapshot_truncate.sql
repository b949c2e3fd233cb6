/* F-207: Under SNAPSHOT, a table truncated and committed since the snapshot is read: error
   3961 as after DDL?
   Settles snapshot_truncate = ddl | dml.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_snapshot_truncate') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_snapshot_truncate;
GO
USE RedialProbe_snapshot_truncate;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
ALTER DATABASE RedialProbe_snapshot_truncate SET ALLOW_SNAPSHOT_ISOLATION ON;
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
DECLARE @v int;
EXECUTE dbo.ProbeSecondSession N'WAITFOR DELAY ''00:00:03'';
    TRUNCATE TABLE dbo.ProbeTable;';
WAITFOR DELAY '00:00:01';
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
SELECT @v = t.v FROM dbo.ProbeTable AS t WHERE t.k = 2;      /* the snapshot is taken here */
WAITFOR DELAY '00:00:06';                                    /* the other session commits */
BEGIN TRY
    SELECT @v = COUNT(*) FROM dbo.ProbeTable AS t;
    SET @observed = N'no error';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET @settles = CASE @observed WHEN N'error 3961' THEN N'snapshot_truncate=ddl'
                              WHEN N'no error' THEN N'snapshot_truncate=dml' END;
SELECT
    N'F-207' AS Fact,
    N'Under SNAPSHOT, a table truncated and committed since the snapshot is read: ' +
        N'error 3961 as after DDL?' AS Question,
    N'error 3961' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_snapshot_truncate
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_snapshot_truncate;
GO
