/* F-292: May ACTIVATION name a procedure that does not exist yet?
   Settles missing_activation_procedure = error | allow.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_missing_activation_procedure') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_missing_activation_procedure;
GO
USE RedialProbe_missing_activation_procedure;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
BEGIN TRY
    ALTER QUEUE dbo.ToQueue WITH ACTIVATION
        (STATUS = ON, PROCEDURE_NAME = dbo.ProbeNotThere, MAX_QUEUE_READERS = 1, EXECUTE AS OWNER);
    SELECT @observed = N'taken', @settles = N'missing_activation_procedure=allow';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
    IF ERROR_NUMBER() = 9614
        SET @settles = N'missing_activation_procedure=error';
END CATCH;
SELECT
    N'F-292' AS Fact,
    N'May ACTIVATION name a procedure that does not exist yet?' AS Question,
    N'error 9614' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_missing_activation_procedure
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_missing_activation_procedure;
GO
