SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_ResendLeft]
    @handle uniqueidentifier,           /* the initiator's side, which has ended or failed */
    @code int,                          /* as for usp_ResendPending */
    @description nvarchar(3000)         /* as well */
AS
/* Redial 0.1.0, configuration logging */
/* What usp_EndInitiator has left of a dialog: usp_ResendPending, with nothing around it that a failure would
   roll back. A lock that does not come (a reader of the target is at work, a sender has just found the dialog dead)
   blames nothing; any other error that comes again sends the copies to DeadLetter.
   Returns 0, or 1: left to usp_ResendStranded. Raises the server's own trouble. */
BEGIN
    SET NOCOUNT ON;
    SET LOCK_TIMEOUT 10000;             /* nothing is held: other dialogs are waiting for us */

    DECLARE @left int;
    DECLARE @errors int = 0;
    DECLARE @allowResend bit = 1;

    IF @@TRANCOUNT <> 0
        THROW 50127, N'usp_ResendLeft must be called outside a transaction: it may wait, and nothing may be held meanwhile.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            EXECUTE @left = [logging].[usp_ResendPending] @handle = @handle, @code = @code,
                @description = @description, @allowResend = @allowResend;
            RETURN @left;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;
            IF ERROR_NUMBER() IN (1205, 1222)
                RETURN 1;
            IF @allowResend = 0 OR ((ERROR_SEVERITY() >= 17 AND ERROR_NUMBER() < 50000) OR ERROR_NUMBER() IN (652, 3906))
                THROW;

            EXECUTE [logging].[usp_LogError] @procedureName = N'usp_ResendLeft', @handle = @handle;
            SET @errors = @errors + 1;
            IF @errors >= 1
                SET @allowResend = 0;
        END CATCH;
    END;
END;
GO
