SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_ArmTimer]
    @handle uniqueidentifier,
    @seconds int
AS
/* Redial 0.1.0, configuration etl */
/* Sets the conversation timer where it can be set. Takes G and nothing else. Refused where the dialog is gone
   (8426), has ended (8458) or would outlive its lifetime (8410): a message then ends it, so none is needed. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT OFF;                 /* a refusal must not doom the RECEIVE around it */

    BEGIN TRY
        BEGIN CONVERSATION TIMER (@handle) TIMEOUT = @seconds;
    END TRY
    BEGIN CATCH
        IF ERROR_NUMBER() NOT IN (8410, 8426, 8458) OR XACT_STATE() = -1
            THROW;
    END CATCH;
END;
GO
