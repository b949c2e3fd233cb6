/* F-455: A transaction that is still open has put a row into the target's queue: does END of
   the target's side, in each of its forms, wait, fail, delete the row or leave it?
   Settles end_over_open_send = deletes | waits | leaves | fails.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_end_over_open_send') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_end_over_open_send;
GO
USE RedialProbe_end_over_open_send;
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
DECLARE @sql nvarchar(max), @n int = 1, @stored int, @received int, @error int, @ms int;
DECLARE @at datetime2(3), @word nvarchar(40), @words nvarchar(400) = N'';
WHILE @n <= 3
BEGIN
    BEGIN DIALOG CONVERSATION @h
        FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
    SEND ON CONVERSATION @h (0x00);
    WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 5000;
    SET @sql = CONCAT(N'BEGIN TRANSACTION; SEND ON CONVERSATION ''', @h,
        N''' (0x01); WAITFOR DELAY ''00:00:08''; COMMIT TRANSACTION;');
    EXECUTE dbo.ProbeSecondSession @sql;
    WAITFOR DELAY '00:00:03';
    SELECT @stored = COUNT(*)
    FROM dbo.ToQueue AS q WITH (NOLOCK)
    WHERE q.conversation_handle = @t;
    SELECT @error = 0, @at = SYSUTCDATETIME();
    BEGIN TRY
        IF @n = 1
            END CONVERSATION @t;
        ELSE IF @n = 2
            END CONVERSATION @t WITH ERROR = 50001 DESCRIPTION = N'probe';
        ELSE
            END CONVERSATION @t WITH CLEANUP;
    END TRY
    BEGIN CATCH
        SET @error = ERROR_NUMBER();
    END CATCH;
    SET @ms = DATEDIFF(millisecond, @at, SYSUTCDATETIME());
    WAITFOR DELAY '00:00:08';
    RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue;
    SET @received = @@ROWCOUNT;
    SET @word = CASE
        WHEN @stored = 0 THEN N'no row before the commit'
        WHEN @error = 1222 THEN N'fails'
        WHEN @error <> 0 THEN CONCAT(N'error ', @error)
        WHEN @ms >= 3000 AND @received = 0 THEN N'waits, then deletes'
        WHEN @ms >= 3000 THEN N'waits, then leaves'
        WHEN @received = 0 THEN N'deletes'
        ELSE N'leaves' END;
    SET @words = CONCAT(@words, CHOOSE(@n, N'END: ', N'; WITH ERROR: ', N'; WITH CLEANUP: '),
        @word);
    SET @n += 1;
END;
SET @observed = @words;
SET @settles = CASE
    WHEN @words = CONCAT(N'END: ', @word, N'; WITH ERROR: ', @word, N'; WITH CLEANUP: ', @word)
     AND (@word IN (N'deletes', N'leaves', N'fails') OR @word LIKE N'waits,%')
    THEN CONCAT(N'end_over_open_send=', LEFT(@word, CHARINDEX(N',', @word + N',') - 1)) END;
SELECT
    N'F-455' AS Fact,
    N'A transaction that is still open has put a row into the target''s queue: does END' +
        N' of the target''s side, in each of its forms, wait, fail, delete the row or leave' +
        N' it?' AS Question,
    N'END: deletes; WITH ERROR: deletes; WITH CLEANUP: deletes' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_end_over_open_send
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_end_over_open_send;
GO
