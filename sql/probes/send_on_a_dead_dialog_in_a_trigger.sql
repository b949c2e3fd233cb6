/* F-131: XACT_ABORT is ON in a trigger: does OFF inside a procedure it calls keep the
   user's statement alive when that procedure catches 8426?
   Settles broker_error_dooms = false | true.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_send_on_a_dead_dialog_in_a_trigger') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_send_on_a_dead_dialog_in_a_trigger;
GO
USE RedialProbe_send_on_a_dead_dialog_in_a_trigger;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE TABLE dbo.ProbeTable (a int NOT NULL);
GO
CREATE PROCEDURE dbo.ProbeSend AS
BEGIN
    SET XACT_ABORT OFF;
    BEGIN TRY
        SEND ON CONVERSATION '00000000-0000-0000-0000-000000000001' (0x01);
    END TRY
    BEGIN CATCH
        PRINT CONCAT(ERROR_NUMBER(), N' XACT_STATE ', XACT_STATE());
    END CATCH;
END;
GO
CREATE TRIGGER dbo.ProbeTrigger ON dbo.ProbeTable AFTER INSERT AS
EXECUTE dbo.ProbeSend;
GO
BEGIN TRY
    INSERT INTO dbo.ProbeTable (a) VALUES (1);       /* 3616 here: the user's statement is lost */
END TRY
BEGIN CATCH
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;
    PRINT CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @rows int;
SELECT @rows = COUNT(*) FROM dbo.ProbeTable AS p;
SET @observed = CONCAT(@rows, N' row');
SET @settles = CASE @rows WHEN 1 THEN N'broker_error_dooms=false'
                          ELSE N'broker_error_dooms=true' END;
SELECT
    N'F-131' AS Fact,
    N'XACT_ABORT is ON in a trigger: does OFF inside a procedure it calls keep the ' +
        N'user''s statement alive when that procedure catches 8426?' AS Question,
    N'1 row' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_send_on_a_dead_dialog_in_a_trigger
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_send_on_a_dead_dialog_in_a_trigger;
GO
