SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [logging].[usp_CloseDialogs]
    @deadline datetime2(3),             /* UTC: when to stop trying */
    @passes int OUTPUT,
    @recycled bigint OUTPUT,            /* dialogs closed: EndOfStream was sent, or they were dead */
    @left bigint OUTPUT,                /* dialogs senders could still use; NULL: one is busy */
    @Debug bit = 0                      /* 1: print each pass */
WITH EXECUTE AS N'logging_module'
AS
/* Redial 0.1.0, configuration logging */
/* Closes every dialog that senders use, for usp_Drain, with the gate closed and committed. Called outside
   a transaction; waits for no single lock longer than a second. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET LOCK_TIMEOUT 1000;              /* what is busy longer is asked again (F-116) */

    SET @passes = 1;
    SET @left = 0;
    SELECT @recycled = COUNT_BIG(*)
    FROM [logging].[ufn_Conversations]() AS v
    WHERE v.Purpose = N'in use'
      AND v.State IN (N'STARTED_OUTBOUND', N'CONVERSING');

    /* No sender is at work: the gate could be closed. One that came too late (50102) and whose transaction
       goes on still holds its share lock on the gate: not waited for beyond our time. */
    WHILE 1 = 1
    BEGIN
        BEGIN TRY
            EXECUTE [logging].[usp_CloseEverlasting];
            RETURN 0;
        END TRY
        BEGIN CATCH
            IF ERROR_NUMBER() <> 1222
                THROW;
            IF SYSUTCDATETIME() >= @deadline
            BEGIN
                SET @recycled = 0;      /* it stays open, and is counted as such */
                RETURN 0;
            END;
        END CATCH;
    END;
END;
GO
