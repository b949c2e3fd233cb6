/* F-320: A row is updated after SAVE TRANSACTION and the change rolled back to the
   savepoint: is its key still locked?
   Settles savepoint_locks = kept | released.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_savepoint_locks') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_savepoint_locks;
GO
USE RedialProbe_savepoint_locks;
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
DECLARE @keys int;
BEGIN TRANSACTION;
SAVE TRANSACTION ProbeSavepoint;
UPDATE dbo.ProbeTable SET v = 1 WHERE k = 1;
ROLLBACK TRANSACTION ProbeSavepoint;
SELECT @keys = COUNT(*)
FROM sys.dm_tran_locks AS l
WHERE l.request_session_id = @@SPID AND l.resource_type = N'KEY';
ROLLBACK TRANSACTION;
SET @observed = CONCAT(N'keys still locked: ', @keys);
SET @settles = CASE @keys WHEN 0 THEN N'savepoint_locks=released' ELSE N'savepoint_locks=kept' END;
SELECT
    N'F-320' AS Fact,
    N'A row is updated after SAVE TRANSACTION and the change rolled back to the ' +
        N'savepoint: is its key still locked?' AS Question,
    N'keys still locked: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_savepoint_locks
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_savepoint_locks;
GO
