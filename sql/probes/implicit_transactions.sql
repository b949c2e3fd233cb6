/* F-137: Does a procedure that begins and commits its own transaction under
   IMPLICIT_TRANSACTIONS ON raise 266, and what does it leave open?
   Settles implicit_transactions_266 = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_implicit_transactions') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_implicit_transactions;
GO
USE RedialProbe_implicit_transactions;
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
CREATE PROCEDURE dbo.ProbeWrite AS
BEGIN
    BEGIN TRANSACTION;
    INSERT INTO dbo.ProbeTable (k, h, v) VALUES (4, 104, 0);
    COMMIT TRANSACTION;
END;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
SET @observed = N'no error';
SET IMPLICIT_TRANSACTIONS ON;
BEGIN TRY
    EXECUTE dbo.ProbeWrite;
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SET @settles = CASE @observed WHEN N'no error' THEN N'implicit_transactions_266=false'
                              WHEN N'error 266' THEN N'implicit_transactions_266=true' END;
SET @observed = CONCAT(@observed, N', @@TRANCOUNT ', @@TRANCOUNT);
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET IMPLICIT_TRANSACTIONS OFF;
SELECT
    N'F-137' AS Fact,
    N'Does a procedure that begins and commits its own transaction under ' +
        N'IMPLICIT_TRANSACTIONS ON raise 266, and what does it leave open?' AS Question,
    N'no error, @@TRANCOUNT 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_implicit_transactions
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_implicit_transactions;
GO
