/* F-213: What is CURSOR_STATUS of a declared cursor variable that no cursor was assigned
   to?
   Settles cursor_status_unassigned = -2 | -3.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_cursor_status_unassigned') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_cursor_status_unassigned;
GO
USE RedialProbe_cursor_status_unassigned;
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
DECLARE @c cursor;
SET @observed = CONVERT(nvarchar(10), CURSOR_STATUS('variable', '@c'));
SET @settles = CONCAT(N'cursor_status_unassigned=', @observed);
SELECT
    N'F-213' AS Fact,
    N'What is CURSOR_STATUS of a declared cursor variable that no cursor was assigned ' +
        N'to?' AS Question,
    N'-2' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_cursor_status_unassigned
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_cursor_status_unassigned;
GO
