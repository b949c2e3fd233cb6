SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-137: does a procedure that begins and commits its own transaction under
   IMPLICIT_TRANSACTIONS ON raise 266, and what does it leave open?
   Run in a scratch database with Service Broker on; it cleans up after itself. */
CREATE TABLE dbo.ProbeTable (a int NOT NULL);
EXECUTE sys.sp_executesql N'
CREATE PROCEDURE dbo.ProbeWrite AS
BEGIN
    BEGIN TRANSACTION;
    INSERT INTO dbo.ProbeTable (a) VALUES (1);
    COMMIT TRANSACTION;
END;';
GO
DECLARE @observed nvarchar(200) = N'no error';
SET IMPLICIT_TRANSACTIONS ON;
BEGIN TRY
    EXECUTE dbo.ProbeWrite;
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
SET @observed = CONCAT(@observed, N', @@TRANCOUNT ', @@TRANCOUNT);
IF @@TRANCOUNT > 0
    ROLLBACK TRANSACTION;
SET IMPLICIT_TRANSACTIONS OFF;
SELECT N'F-137' AS Fact, N'no error, @@TRANCOUNT 1' AS Expected, @observed AS Observed;
GO
DROP PROCEDURE dbo.ProbeWrite;
DROP TABLE dbo.ProbeTable;
GO
