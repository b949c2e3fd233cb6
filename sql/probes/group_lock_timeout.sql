/* F-277: Another transaction has the conversation group: does SEND under LOCK_TIMEOUT 500
   fail with 1222, or wait? And does that 1222, caught with XACT_ABORT OFF, leave a transaction that
   can only roll back?
   Settles group_lock_timeout = 1222 | waits; group_lock_timeout_dooms = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_group_lock_timeout') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_group_lock_timeout;
GO
USE RedialProbe_group_lock_timeout;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
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
    N''') TIMEOUT = 3600; WAITFOR DELAY ''00:00:08''; ROLLBACK TRANSACTION;');
EXECUTE dbo.ProbeSecondSession @sql;
WAITFOR DELAY '00:00:03';
SET LOCK_TIMEOUT 500;
SET XACT_ABORT OFF;
BEGIN TRANSACTION;
BEGIN TRY
    SEND ON CONVERSATION @h (0x01);
    SET @observed = N'waited';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET LOCK_TIMEOUT -1;
SET @settles = CASE @observed
    WHEN N'error 1222, XACT_STATE 1' THEN N'group_lock_timeout=1222;group_lock_timeout_dooms=false'
    WHEN N'error 1222, XACT_STATE -1' THEN N'group_lock_timeout=1222;group_lock_timeout_dooms=true'
    WHEN N'waited' THEN N'group_lock_timeout=waits' END;
SELECT
    N'F-277' AS Fact,
    N'Another transaction has the conversation group: does SEND under LOCK_TIMEOUT 500' +
        N' fail with 1222, or wait? And does 1222 doom?' AS Question,
    N'error 1222, XACT_STATE 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_group_lock_timeout
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_group_lock_timeout;
GO
