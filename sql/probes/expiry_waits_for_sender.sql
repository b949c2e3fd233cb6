/* F-457: LIFETIME passes while a transaction that has sent on the dialog is open: are both sides
   told at once, or when that transaction has ended?
   Settles expiry_waits_for_sender = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_expiry_waits_for_sender') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_expiry_waits_for_sender;
GO
USE RedialProbe_expiry_waits_for_sender;
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
DECLARE @sql nvarchar(max), @looks int = 0, @from int, @to int;
DECLARE @error sysname = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error';
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to'
    WITH LIFETIME = 6, ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x00);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 5000;
SET @sql = CONCAT(N'BEGIN TRANSACTION; SEND ON CONVERSATION ''', @h,
    N''' (0x01); WAITFOR DELAY ''00:00:24''; COMMIT TRANSACTION;');
EXECUTE dbo.ProbeSecondSession @sql;
SET @observed = N'';
WHILE @looks < 2
BEGIN
    WAITFOR DELAY '00:00:20'; -- 14 seconds after LIFETIME; then 16 after the commit
    SELECT @from = COUNT(*)
    FROM dbo.FromQueue AS q WITH (NOLOCK)
    WHERE q.message_type_name = @error;
    SELECT @to = COUNT(*)
    FROM dbo.ToQueue AS q WITH (NOLOCK)
    WHERE q.message_type_name = @error;
    SET @observed = CONCAT(@observed,
        CASE @looks WHEN 0 THEN N'while it is open: ' ELSE N'; afterwards: ' END,
        N'initiator ', @from, N', target ', @to);
    SET @looks += 1;
END;
SET @settles = CASE @observed
    WHEN N'while it is open: initiator 1, target 1; afterwards: initiator 1, target 1'
    THEN N'expiry_waits_for_sender=false'
    WHEN N'while it is open: initiator 0, target 0; afterwards: initiator 1, target 1'
    THEN N'expiry_waits_for_sender=true' END;
SELECT
    N'F-457' AS Fact,
    N'LIFETIME passes while a transaction that has sent on the dialog is open: are both' +
        N' sides told at once, or when that transaction has ended?' AS Question,
    N'while it is open: initiator 1, target 1; afterwards: initiator 1, target 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_expiry_waits_for_sender
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_expiry_waits_for_sender;
GO
