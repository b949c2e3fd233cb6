SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_CloseGate]
    @reason nvarchar(400),
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @closed bit OUTPUT                  /* 0: senders held the gate until the deadline; it is still open */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Closes and commits the gate, for usp_Drain. Called outside a transaction.
   Senders keep a share lock on the gate's row until they commit (F-148), so this succeeds only when no
   sender is at work: whoever read the gate open has committed before it is closed.
   NOWAIT: a request that queues would have every new sender wait behind it; so it asks again instead,
   and while it waits it holds nothing (F-175). */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    SET @closed = 0;
    WHILE @closed = 0
    BEGIN
        BEGIN TRY
            BEGIN TRANSACTION;

            UPDATE g
            SET IsOpen = 0,
                ChangedUtc = SYSUTCDATETIME(),
                ChangedBy = ORIGINAL_LOGIN(),
                Reason = @reason
            FROM [logging].[Gate] AS g
                WITH (ROWLOCK, NOWAIT, INDEX ([PK_Gate]), FORCESEEK)    /* NOWAIT: see above */
            WHERE g.ConfigId = 1;

            IF @@ROWCOUNT = 0
            BEGIN
                /* Somebody removed the row, and a gate without a row is open. */
                INSERT INTO [logging].[Gate] (ConfigId, IsOpen, Reason)
                VALUES (1, 0, @reason);
            END;

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
