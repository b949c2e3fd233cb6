/* F-255: An activated task is killed before its first RECEIVE: is the procedure started
   again?
   Settles killed_reader = stuck | relaunched.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_killed_reader') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_killed_reader;
GO
USE RedialProbe_killed_reader;
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
    INSERT INTO dbo.ProbeTable (what) VALUES (CONVERT(nvarchar(10), @@SPID));
    WAITFOR DELAY '00:01:00';
    RECEIVE TOP (1) @h = conversation_handle FROM dbo.ToQueue;
END;
GO
ALTER QUEUE dbo.ToQueue WITH ACTIVATION
    (STATUS = ON, PROCEDURE_NAME = dbo.ProbeActivated, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @spid nvarchar(10), @sql nvarchar(100), @starts int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:03';
SELECT TOP (1) @spid = p.what FROM dbo.ProbeTable AS p ORDER BY p.n;
SET @sql = CONCAT(N'KILL ', @spid, N';');
BEGIN TRY
    EXECUTE (@sql);
    WAITFOR DELAY '00:00:10';
    SELECT @starts = COUNT(*) FROM dbo.ProbeTable AS p;
    SET @observed = CONCAT(N'started ', @starts, N' times');
    SET @settles = CASE WHEN @starts = 1 THEN N'killed_reader=stuck'
                        WHEN @starts > 1 THEN N'killed_reader=relaunched' END;
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SELECT
    N'F-255' AS Fact,
    N'An activated task is killed before its first RECEIVE: is the procedure started ' +
        N'again?' AS Question,
    N'started 1 times' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_killed_reader
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_killed_reader;
GO
