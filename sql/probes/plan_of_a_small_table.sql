/* F-121: A table of three rows, a SERIALIZABLE read by its full clustered key: one key
   locked (a seek), or all of them (a scan)?
   Settles bad_optimizer = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_plan_of_a_small_table') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_plan_of_a_small_table;
GO
USE RedialProbe_plan_of_a_small_table;
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
DECLARE @v int, @keys int;
BEGIN TRANSACTION;
SELECT @v = t.v FROM dbo.ProbeTable AS t WITH (SERIALIZABLE) WHERE t.k = 2;
SELECT @keys = COUNT(*)
FROM sys.dm_tran_locks AS l
WHERE l.request_session_id = @@SPID AND l.resource_type = N'KEY';
ROLLBACK TRANSACTION;
SET @observed = CONCAT(N'keys locked: ', @keys);
SET @settles = CASE @keys WHEN 1 THEN N'bad_optimizer=false' ELSE N'bad_optimizer=true' END;
SELECT
    N'F-121' AS Fact,
    N'A table of three rows, a SERIALIZABLE read by its full clustered key: one key ' +
        N'locked (a seek), or all of them (a scan)?' AS Question,
    N'keys locked: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_plan_of_a_small_table
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_plan_of_a_small_table;
GO
