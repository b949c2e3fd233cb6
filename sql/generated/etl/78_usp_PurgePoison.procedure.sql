SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_PurgePoison]
    @olderThanDays int = NULL,          /* NULL: retention.log_days of the configuration */
    @batch int = 1000,                  /* rows of one transaction */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,
    @Help bit = 0
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Forgets failed attempts of conversations that are gone. One that ends in order takes its own along;
   these are of dialogs ended by hand or WITH CLEANUP. Returns one row: WhatIf bit, OlderThanUtc
   datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else all batches were one transaction (F-137) */

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @days int = ISNULL(@olderThanDays, 30);
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @deleted int = 1;
    DECLARE @line nvarchar(400);

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgePoison: forgets failed attempts (PoisonAttempt) of conversations that are gone.
  @olderThanDays  days since the last attempt, 0 to 36500; default: retention.log_days = 30
  @batch          rows of one transaction, 1 to 4900; default 1000
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example:
  EXECUTE ' + N'[etl].[usp_PurgePoison]' + N' @olderThanDays = 30, @WhatIf = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgePoison must be called outside a transaction: it deletes in small ones.', 1;
    IF ISNULL(@days, -1) NOT BETWEEN 0 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 0 to 36500. ';
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50184, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Show, or delete. READPAST: a row a receiver is using is of a live conversation             */
    /* ----------------------------------------------------------------------------------------- */
    SET @before = DATEADD(day, -@days, SYSUTCDATETIME());

    IF @WhatIf = 1
    BEGIN
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[PoisonAttempt] AS pa
            WITH (READPAST, READCOMMITTEDLOCK)
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* a handle is never used again (F-126) */
                          WHERE ce.conversation_handle = pa.ConversationHandle);
    END;

    WHILE @WhatIf = 0 AND @deleted > 0
    BEGIN
        DELETE TOP (@batch) pa
        FROM [etl].[PoisonAttempt] AS pa
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)   /* as above; XLOCK: at once, or passed over */
        WHERE pa.LastUtc < @before
          AND NOT EXISTS (SELECT 1
                          FROM sys.conversation_endpoints AS ce
                              WITH (NOLOCK)         /* as above */
                          WHERE ce.conversation_handle = pa.ConversationHandle);

        SET @deleted = @@ROWCOUNT;
        SET @rows = @rows + @deleted;
        IF @Debug = 1
        BEGIN
            SET @line = CONCAT(@deleted, N' rows deleted, ', @rows, N' in all');
            PRINT @line;
        END;
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail)
        VALUES (N'usp_PurgePoison', CONCAT(@rows, N' rows older than ', CONVERT(nvarchar(30), @before, 126)));

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
