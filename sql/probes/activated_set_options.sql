/* F-143: Which SET options has an activated session in a database whose defaults are OFF?
   Settles activated_set_options = on | database defaults.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_activated_set_options') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_activated_set_options;
GO
USE RedialProbe_activated_set_options;
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
    INSERT INTO dbo.ProbeTable (what)
    VALUES (CONCAT(N'ANSI_PADDING ', SIGN(@@OPTIONS & 16), N', ANSI_WARNINGS ', SIGN(@@OPTIONS & 8),
        N', CONCAT_NULL_YIELDS_NULL ', SIGN(@@OPTIONS & 4096)));
    RECEIVE TOP (1) @h = conversation_handle FROM dbo.ToQueue;
END;
GO
ALTER QUEUE dbo.ToQueue WITH ACTIVATION
    (STATUS = ON, PROCEDURE_NAME = dbo.ProbeActivated, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR DELAY '00:00:05';
SELECT TOP (1) @observed = p.what FROM dbo.ProbeTable AS p ORDER BY p.n;
SET @settles = CASE @observed
    WHEN N'ANSI_PADDING 1, ANSI_WARNINGS 1, CONCAT_NULL_YIELDS_NULL 1'
        THEN N'activated_set_options=on'
    WHEN N'ANSI_PADDING 0, ANSI_WARNINGS 0, CONCAT_NULL_YIELDS_NULL 0'
        THEN N'activated_set_options=database defaults' END;
SELECT
    N'F-143' AS Fact,
    N'Which SET options has an activated session in a database whose defaults are OFF?' AS Question,
    N'ANSI_PADDING 1, ANSI_WARNINGS 1, CONCAT_NULL_YIELDS_NULL 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_activated_set_options
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_activated_set_options;
GO
