SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [audit].[usp_ReopenGate]
    @mark nvarchar(60) = NULL           /* of the deployment that has closed it */
WITH EXECUTE AS N'audit_module'
AS
/* Redial 0.1.0, configuration audit */
/* Opens the gate again for a drain that did not finish: nothing has been replaced. Nobody sends on a dialog
   that has got its EndOfStream: rows are gone with theirs, and key = single looks at ConversationLog.
   Called outside a transaction. Returns 0, or 1: a transaction that was refused still holds the gate's row
   (F-148), and it stays closed until somebody calls usp_OpenGate. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET LOCK_TIMEOUT 5000;

    BEGIN TRY
        BEGIN TRANSACTION;
        /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
        UPDATE g
        SET IsOpen = 1, ChangedUtc = SYSUTCDATETIME(), ChangedBy = ORIGINAL_LOGIN(), Reason = N'the drain did not finish'
        FROM [audit].[Gate] AS g
            WITH (ROWLOCK, INDEX ([PK_Gate]), FORCESEEK)        /* its one row */
        WHERE g.ConfigId = 1;
        DELETE FROM [audit].[Setting] WHERE Name = N'deployment.gate' AND Value = @mark;
        INSERT INTO [audit].[OperatorLog] (Action, Detail, Reason)
        VALUES (N'open gate', N'configuration audit', N'the drain did not finish');
        COMMIT TRANSACTION;
        RETURN 0;
    END TRY
    BEGIN CATCH
        IF XACT_STATE() <> 0
            ROLLBACK TRANSACTION;
        IF ERROR_NUMBER() <> 1222
            THROW;
        RETURN 1;
    END CATCH;
END;
GO
