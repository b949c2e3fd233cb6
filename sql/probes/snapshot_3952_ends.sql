/* F-207: A database does not allow SNAPSHOT: does error 3952 doom the transaction (as 3960
   does), or end its statement only?
   Settles snapshot_3952_ends = batch | statement.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_snapshot_3952_ends') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_snapshot_3952_ends;
GO
USE RedialProbe_snapshot_3952_ends;
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
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @v int;
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
BEGIN TRANSACTION;
BEGIN TRY
    SELECT @v = t.v FROM dbo.ProbeTable AS t WHERE t.k = 1;
    SET @observed = N'no error';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET @settles = CASE @observed WHEN N'error 3952, XACT_STATE -1' THEN N'snapshot_3952_ends=batch'
                              WHEN N'error 3952, XACT_STATE 1'
                                  THEN N'snapshot_3952_ends=statement' END;
SELECT
    N'F-207' AS Fact,
    N'A database does not allow SNAPSHOT: does error 3952 doom the transaction (as ' +
        N'3960 does), or end its statement only?' AS Question,
    N'error 3952, XACT_STATE -1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_snapshot_3952_ends
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_snapshot_3952_ends;
GO
