/* F-211: GROUPING SETS ((k), ()) over no rows: one row for the grand total, or none?
   Settles empty_grouping_set = row | none.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_empty_grouping_set') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_empty_grouping_set;
GO
USE RedialProbe_empty_grouping_set;
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
DECLARE @rows int;
SELECT @rows = COUNT(*)
FROM (SELECT COUNT(*) AS n FROM dbo.ProbeTable AS t WHERE t.k < 0
      GROUP BY GROUPING SETS ((t.k), ())) AS d;
SET @observed = CONCAT(N'rows: ', @rows);
SET @settles = CASE @rows WHEN 1 THEN N'empty_grouping_set=row'
                          WHEN 0 THEN N'empty_grouping_set=none' END;
SELECT
    N'F-211' AS Fact,
    N'GROUPING SETS ((k), ()) over no rows: one row for the grand total, or none?' AS Question,
    N'rows: 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_empty_grouping_set
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_empty_grouping_set;
GO
