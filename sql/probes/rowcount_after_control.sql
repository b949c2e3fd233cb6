/* F-279: What is @@ROWCOUNT after an UPDATE of three rows and an IF, and after a DECLARE?
   Settles rowcount_after_if = zero | unchanged; rowcount_after_declare = unchanged | zero.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_rowcount_after_control') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_rowcount_after_control;
GO
USE RedialProbe_rowcount_after_control;
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
DECLARE @if int, @declare int;
UPDATE dbo.ProbeTable SET v = 1;
IF 1 = 1
    SET @if = @@ROWCOUNT;
UPDATE dbo.ProbeTable SET v = 2;
DECLARE @other int;
SET @declare = @@ROWCOUNT;
SET @observed = CONCAT(N'IF ', @if, N', DECLARE ', @declare);
SET @settles = CONCAT(
    CASE @if WHEN 3 THEN N'rowcount_after_if=unchanged; '
             WHEN 0 THEN N'rowcount_after_if=zero; ' END,
    CASE @declare WHEN 3 THEN N'rowcount_after_declare=unchanged'
                  WHEN 0 THEN N'rowcount_after_declare=zero' END);
SELECT
    N'F-279' AS Fact,
    N'What is @@ROWCOUNT after an UPDATE of three rows and an IF, and after a DECLARE?' AS Question,
    N'IF 0, DECLARE 3' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_rowcount_after_control
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_rowcount_after_control;
GO
