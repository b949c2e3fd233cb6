/* F-278: Activation with MAX_QUEUE_READERS = 0: is message 9648 a warning or an error?
   Settles zero_readers_severity = 10 | 16.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_zero_readers_severity') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_zero_readers_severity;
GO
USE RedialProbe_zero_readers_severity;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
CREATE PROCEDURE dbo.ProbeActivated AS
RETURN 0;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
BEGIN TRY
    ALTER QUEUE dbo.ToQueue WITH ACTIVATION
        (STATUS = ON, PROCEDURE_NAME = dbo.ProbeActivated, MAX_QUEUE_READERS = 0, EXECUTE AS OWNER);
    SELECT @observed = N'a warning at most', @settles = N'zero_readers_severity=10';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER(), N', severity ', ERROR_SEVERITY());
    SET @settles = CONCAT(N'zero_readers_severity=', ERROR_SEVERITY());
END CATCH;
SELECT
    N'F-278' AS Fact,
    N'Activation with MAX_QUEUE_READERS = 0: is message 9648 a warning or an error?' AS Question,
    N'a warning at most' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_zero_readers_severity
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_zero_readers_severity;
GO
