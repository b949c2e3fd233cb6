SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-144: does a SNAPSHOT transaction whose first access to data is a procedure that sets
   READ COMMITTED fail afterwards (3951)? And one that has read before?
   Run in a scratch database with Service Broker on; it cleans up after itself.
   It needs ALLOW_SNAPSHOT_ISOLATION ON. */
CREATE TABLE dbo.ProbeTable (a int NOT NULL);
EXECUTE sys.sp_executesql N'
CREATE PROCEDURE dbo.ProbeRead AS
BEGIN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    DECLARE @a int;
    SELECT @a = p.a FROM dbo.ProbeTable AS p WITH (UPDLOCK);
END;';
GO
SET TRANSACTION ISOLATION LEVEL SNAPSHOT;
DECLARE @a int;
DECLARE @first nvarchar(100) = N'no error';
DECLARE @later nvarchar(100) = N'no error';
BEGIN TRY
    BEGIN TRANSACTION;
    EXECUTE dbo.ProbeRead;
    SELECT @a = p.a FROM dbo.ProbeTable AS p;
END TRY
BEGIN CATCH
    SET @first = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
BEGIN TRY
    BEGIN TRANSACTION;
    SELECT @a = p.a FROM dbo.ProbeTable AS p;
    EXECUTE dbo.ProbeRead;
    SELECT @a = p.a FROM dbo.ProbeTable AS p;
END TRY
BEGIN CATCH
    SET @later = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
SELECT N'F-144' AS Fact, N'called first: error 3951; called after a read: no error' AS Expected, CONCAT(N'called first: ', @first, N'; called after a read: ', @later) AS Observed;
GO
DROP PROCEDURE dbo.ProbeRead;
DROP TABLE dbo.ProbeTable;
GO
