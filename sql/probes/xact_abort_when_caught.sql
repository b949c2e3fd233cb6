/* F-400: 2627 leaves a procedure with XACT_ABORT OFF for the CATCH of a batch with ON: can the
   transaction still commit?
   Settles xact_abort_counts = raised | raised or caught.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_xact_abort_when_caught') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_xact_abort_when_caught;
GO
USE RedialProbe_xact_abort_when_caught;
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
/* The error is raised where XACT_ABORT is OFF, and nothing catches it there. */
CREATE PROCEDURE dbo.ProbeRaises AS
BEGIN
    SET XACT_ABORT OFF;
    INSERT INTO dbo.ProbeTable (k, h, v) VALUES (1, 104, 0);
END;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
SET XACT_ABORT ON;
BEGIN TRANSACTION;
BEGIN TRY
    EXECUTE dbo.ProbeRaises;
    SET @observed = N'no error';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', XACT_STATE ', XACT_STATE());
    SET @settles = CASE XACT_STATE() WHEN 1 THEN N'xact_abort_counts=raised'
                                     WHEN -1 THEN N'xact_abort_counts=raised or caught' END;
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET XACT_ABORT OFF;
SELECT
    N'F-400' AS Fact,
    N'2627 leaves a procedure with XACT_ABORT OFF for the CATCH of a batch with ON: can the ' +
        N'transaction still commit?' AS Question,
    N'error 2627, XACT_STATE 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_xact_abort_when_caught
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_xact_abort_when_caught;
GO
