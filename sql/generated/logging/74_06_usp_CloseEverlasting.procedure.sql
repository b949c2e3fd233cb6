SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_CloseEverlasting]
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Sends EndOfStream on the everlasting dialog (key = single): the target ends it when it has read what
   came before, and the next sender begins another. For a drain, an uninstall, a fresh start.
   Locks: the gate's row, exclusive, so no sender is between its look-up and its commit and no message
   follows EndOfStream; then the dialog's group: as senders do. It waits for transactions that
   have sent and are still open, and new senders wait behind it; SET LOCK_TIMEOUT before it bounds that.
   Returns 0 when no everlasting dialog is open any more. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;                  /* no savepoints here: any error rolls back, then CATCH decides */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else the first read below opens a transaction */

    DECLARE @last uniqueidentifier;
    DECLARE @handle uniqueidentifier = '00000000-0000-0000-0000-000000000000';

    IF @@TRANCOUNT <> 0
        THROW 50122, N'usp_CloseEverlasting must be called outside a transaction: it waits for senders to finish.', 1;

    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;

            UPDATE g
            SET IsOpen = g.IsOpen       /* as it is: only its lock is wanted */
            FROM [logging].[Gate] AS g
                WITH (ROWLOCK, FORCESEEK)       /* its one row */
            WHERE g.ConfigId = 1;

            SET @last = @handle;
            SET @handle = NULL;
            SELECT TOP (1) @handle = ce.conversation_handle
            FROM sys.conversation_endpoints AS ce
                /* NOLOCK: waits for nobody. A dialog whose beginner has not committed is found too:
                   SEND then waits for its group, and raises 8426 if it was rolled back. */
                WITH (NOLOCK)
            WHERE ce.conversation_group_id = '54A9E148-F784-5F6A-830F-1A6F292962F7'
              AND ce.is_initiator = 1
              AND ce.state IN ('SO', 'CO')
              AND NOT EXISTS (SELECT 1
                              FROM [logging].[ConversationLog] AS cl
                                  WITH (FORCESEEK)      /* this dialog's row: one that was told to close */
                              WHERE cl.Handle = ce.conversation_handle AND cl.EndOfStreamUtc IS NOT NULL)
              AND ce.conversation_handle > @last
            ORDER BY ce.conversation_handle;

            IF @handle IS NOT NULL
                EXECUTE [logging].[usp_SendEndOfStream] @handle = @handle;

            COMMIT TRANSACTION;

            IF @handle IS NULL
                RETURN 0;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 8426, 8429: dead, so nobody can or need be told; the next round looks past it. */
            IF ERROR_NUMBER() NOT IN (8426, 8429)
                THROW;
        END CATCH;
    END;
END;
GO
