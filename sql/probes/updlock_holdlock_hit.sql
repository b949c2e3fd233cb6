/* F-274: UPDLOCK with HOLDLOCK on a row found by its unique key: which mode has the key
   lock?
   Settles updlock_holdlock_hit = U | X.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_updlock_holdlock_hit') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_updlock_holdlock_hit;
GO
USE RedialProbe_updlock_holdlock_hit;
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
BEGIN TRANSACTION;
SELECT @v = t.v FROM dbo.ProbeTable AS t WITH (UPDLOCK, HOLDLOCK) WHERE t.k = 1;
SELECT @observed = l.request_mode
FROM sys.dm_tran_locks AS l
WHERE l.request_session_id = @@SPID AND l.resource_type = N'KEY';
ROLLBACK TRANSACTION;
IF @observed IN (N'U', N'X')
    SET @settles = CONCAT(N'updlock_holdlock_hit=', @observed);
SELECT
    N'F-274' AS Fact,
    N'UPDLOCK with HOLDLOCK on a row found by its unique key: which mode has the key ' +
        N'lock?' AS Question,
    N'U' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_updlock_holdlock_hit
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_updlock_holdlock_hit;
GO
