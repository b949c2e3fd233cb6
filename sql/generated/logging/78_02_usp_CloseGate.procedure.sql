SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_CloseGate]
    @reason nvarchar(400),
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @mark nvarchar(60) = NULL,          /* of a deployment that closes it: 93_settings opens it again */
    @closed bit OUTPUT,                 /* 0: senders held the gate until the deadline; it is still open */
    @wasOpen bit OUTPUT                 /* 0: it was closed before, and not by this mark */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Closes and commits the gate, for usp_Drain. Called outside a transaction.
   Senders keep a share lock on the gate's row until they commit, so this succeeds only when no
   sender is at work: whoever read the gate open has committed before it is closed.
   NOWAIT: a request that queues would have every new sender wait behind it; so it asks again instead,
   and while it waits it holds nothing (F-175). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @before TABLE (IsOpen bit NOT NULL);

    SET @closed = 0;
    SET @wasOpen = 0;
    WHILE @closed = 0
    BEGIN
        BEGIN TRY
            DELETE FROM @before;
            BEGIN TRANSACTION;

            UPDATE g
            SET IsOpen = 0,             /* closed already: who has closed it, and why, stays */
                ChangedUtc = CASE WHEN g.IsOpen = 1 THEN SYSUTCDATETIME() ELSE g.ChangedUtc END,
                ChangedBy = CASE WHEN g.IsOpen = 1 THEN ORIGINAL_LOGIN() ELSE g.ChangedBy END,
                Reason = CASE WHEN g.IsOpen = 1 THEN @reason ELSE g.Reason END
            OUTPUT DELETED.IsOpen INTO @before (IsOpen)
            FROM [logging].[Gate] AS g
                WITH (ROWLOCK, NOWAIT, INDEX ([PK_Gate]), FORCESEEK)    /* NOWAIT: see above */
            WHERE g.ConfigId = 1;

            /* Somebody removed the row, and a gate without a row is open. */
            IF NOT EXISTS (SELECT 1 FROM @before)
                INSERT INTO [logging].[Gate] (ConfigId, IsOpen, Reason)
                OUTPUT 1 INTO @before (IsOpen)
                VALUES (1, 0, @reason);

            /* The gate first and its mark then, in the order of usp_OpenGate: else they could deadlock. */
            IF EXISTS (SELECT 1 FROM @before AS b WHERE b.IsOpen = 1)
            BEGIN
                SET @wasOpen = 1;
                IF @mark IS NOT NULL AND NOT EXISTS (SELECT 1 FROM [logging].[Setting] AS st WHERE st.Name = N'deployment.gate')
                    INSERT INTO [logging].[Setting] (Name, Value) VALUES (N'deployment.gate', @mark);
            END
            ELSE IF EXISTS (SELECT 1 FROM [logging].[Setting] AS st WHERE st.Name = N'deployment.gate' AND st.Value = @mark)
                SET @wasOpen = 1;       /* closed by an earlier try of the same deployment, which was stopped */

            INSERT INTO [logging].[OperatorLog] (Action, Detail, Reason)
            VALUES (N'close gate', N'configuration logging', @reason);

            COMMIT TRANSACTION;
            SET @closed = 1;
        END TRY
        BEGIN CATCH
            IF @@TRANCOUNT > 0
                ROLLBACK TRANSACTION;

            /* 1222: a sender holds the gate; 1205: cannot be, but is as harmless. */
            IF ERROR_NUMBER() NOT IN (1205, 1222)
                THROW;
            IF SYSUTCDATETIME() >= @deadline
                RETURN 1;
        END CATCH;

        IF @closed = 0
            WAITFOR DELAY '00:00:00.050';
    END;

    RETURN 0;
END;
GO
