/* F-207: A SNAPSHOT transaction calls a procedure that sets READ COMMITTED, before it has
   read anything and after: does its next read fail with 3951?
   Settles snapshot_level_taken = first access | begin.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_snapshot_caller') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_snapshot_caller;
GO
USE RedialProbe_snapshot_caller;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
ALTER DATABASE RedialProbe_snapshot_caller SET ALLOW_SNAPSHOT_ISOLATION ON;
GO
CREATE TABLE dbo.ProbeTable
(
    k int NOT NULL CONSTRAINT PK_ProbeTable PRIMARY KEY CLUSTERED,
    h int NOT NULL CONSTRAINT UQ_ProbeTable UNIQUE NONCLUSTERED,
    v int NOT NULL
);
INSERT INTO dbo.ProbeTable (k, h, v) VALUES (1, 101, 0), (2, 102, 0), (3, 103, 0);
GO
CREATE PROCEDURE dbo.ProbeRead AS
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @v int;
    SELECT @v = t.v FROM dbo.ProbeTable AS t WITH (UPDLOCK) WHERE t.k = 1;
END;
GO
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @v int, @first nvarchar(100) = N'no error', @later nvarchar(100) = N'no error';
BEGIN TRY
    BEGIN TRANSACTION;
    EXECUTE dbo.ProbeRead;
    SELECT @v = t.v FROM dbo.ProbeTable AS t WHERE t.k = 1;
END TRY
BEGIN CATCH
    SET @first = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
BEGIN TRY
    BEGIN TRANSACTION;
    SELECT @v = t.v FROM dbo.ProbeTable AS t WHERE t.k = 1;
    EXECUTE dbo.ProbeRead;
    SELECT @v = t.v FROM dbo.ProbeTable AS t WHERE t.k = 1;
END TRY
BEGIN CATCH
    SET @later = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET @observed = CONCAT(N'called first: ', @first, N'; called after a read: ', @later);
IF @later = N'no error'
    SET @settles = CASE @first WHEN N'error 3951' THEN N'snapshot_level_taken=first access'
                               WHEN N'no error' THEN N'snapshot_level_taken=begin' END;
SELECT
    N'F-207' AS Fact,
    N'A SNAPSHOT transaction calls a procedure that sets READ COMMITTED, before it has' +
        N' read anything and after: does its next read fail with 3951?' AS Question,
    N'called first: error 3951; called after a read: no error' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_snapshot_caller
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_snapshot_caller;
GO
