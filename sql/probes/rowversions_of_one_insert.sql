/* F-365: INSERT .. SELECT .. ORDER BY into a table clustered by its rowversion: do the
   rowversions go up in the order of ORDER BY, as identity values must?
   Settles insert_rowversions = in order | reversed (standing for any other order).
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_rowversions_of_one_insert') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_rowversions_of_one_insert;
GO
USE RedialProbe_rowversions_of_one_insert;
GO
CREATE TABLE dbo.ProbeTable
(
    Version rowversion NOT NULL CONSTRAINT PK_ProbeTable PRIMARY KEY CLUSTERED,
    Number int IDENTITY (1, 1) NOT NULL,
    Batch int NOT NULL,
    Position int NOT NULL
);
GO
/* 200 batches of 50 rows, put into the table variable in another order than they are numbered. */
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @rows TABLE (Position int NOT NULL PRIMARY KEY, Body varbinary(max) NULL);
DECLARE @batch int = 0, @position int = 50, @wrong int, @identities int;
WHILE @position > 0
BEGIN
    INSERT INTO @rows (Position, Body) VALUES (@position, 0x01);
    SET @position = @position - 1;
END;
WHILE @batch < 200
BEGIN
    INSERT INTO dbo.ProbeTable (Batch, Position)
    SELECT @batch, r.Position FROM @rows AS r ORDER BY r.Position DESC;
    SET @batch = @batch + 1;
END;
SELECT @wrong = COUNT(*)
FROM (SELECT p.Position, LAG(p.Position) OVER (PARTITION BY p.Batch ORDER BY p.Version) AS Earlier
      FROM dbo.ProbeTable AS p) AS o
WHERE o.Earlier < o.Position;
SELECT @identities = COUNT(*)
FROM (SELECT p.Position, LAG(p.Position) OVER (PARTITION BY p.Batch ORDER BY p.Number) AS Earlier
      FROM dbo.ProbeTable AS p) AS o
WHERE o.Earlier < o.Position;
SET @observed = CONCAT(N'out of order: rowversions ', CASE WHEN @wrong > 0 THEN N'yes' ELSE N'no' END,
    N', identities ', CASE WHEN @identities > 0 THEN N'yes' ELSE N'no' END);
SET @settles = CASE WHEN @wrong = 0 THEN N'insert_rowversions=in order' ELSE N'insert_rowversions=reversed' END;
SELECT
    N'F-365' AS Fact,
    N'INSERT .. SELECT .. ORDER BY into a table clustered by its rowversion: do the ' +
        N'rowversions go up in the order of ORDER BY?' AS Question,
    N'out of order: rowversions no, identities no' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_rowversions_of_one_insert
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_rowversions_of_one_insert;
GO
