SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [etl].[usp_PurgeInbox]
    @olderThanDays int = 7,            /* exactly_once.keep_days; not less */
    @batch int = 4000,                  /* rows of one transaction */
    @WhatIf bit = 1,                    /* 1: only show; 0: delete */
    @Debug bit = 0,
    @Help bit = 0
WITH EXECUTE AS N'etl_module'
AS
/* Redial 0.1.0, configuration etl */
/* Forgets message ids that landed long ago; a repeat that comes later lands again. Returns one row:
   WhatIf bit, OlderThanUtc datetime2(3), Affected bigint. */
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    SET IMPLICIT_TRANSACTIONS OFF;      /* else all batches were one transaction (F-137) */

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @before datetime2(3);
    DECLARE @rows bigint = 0;
    DECLARE @found int = 1;
    DECLARE @line nvarchar(400);
    DECLARE @ids TABLE (MessageId uniqueidentifier NOT NULL PRIMARY KEY);

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Help, inputs                                                                             */
    /* ----------------------------------------------------------------------------------------- */
    IF @Help = 1
    BEGIN
        PRINT N'usp_PurgeInbox: forgets the ids of messages that landed long ago. A repeat of a forgotten id lands again.
  @olderThanDays  age in days, 7 (exactly_once.keep_days) to 36500; default 7
  @batch          rows of one transaction, 1 to 4900; default 4000
  @WhatIf         1 (default): only show what would go; 0: delete
  @Debug          1: print each step
Example:
  EXECUTE ' + N'[etl].[usp_PurgeInbox]' + N' @WhatIf = 0;';
        RETURN 0;
    END;

    IF @@TRANCOUNT <> 0
        THROW 50182, N'usp_PurgeInbox must be called outside a transaction: it deletes in small ones.', 1;
    IF ISNULL(@olderThanDays, -1) NOT BETWEEN 7 AND 36500
        SET @errors = @errors + N'@olderThanDays must be 7 (exactly_once.keep_days) to 36500: younger ids are still promised. ';
    IF ISNULL(@batch, 0) NOT BETWEEN 1 AND 4900
        SET @errors = @errors + N'@batch must be 1 to 4900: from 5,000 row locks on the server locks the whole table. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50181, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  Oldest first. The ids are looked up holding nothing and deleted by their key, and a row in  */
    /*    use is passed over: a purge that waits for no reader is in no circle with one (F-165)       */
    /* ----------------------------------------------------------------------------------------- */
    SET @before = DATEADD(day, -@olderThanDays, SYSUTCDATETIME());

    IF @WhatIf = 1
    BEGIN
        SELECT @rows = COUNT_BIG(*)
        FROM [etl].[Inbox] AS ib
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Inbox_ReceivedUtc]), FORCESEEK)
        WHERE ib.ReceivedUtc < @before;
    END;

    WHILE @WhatIf = 0 AND @found > 0
    BEGIN
        DELETE FROM @ids;
        INSERT INTO @ids (MessageId)
        SELECT TOP (@batch) ib.MessageId
        FROM [etl].[Inbox] AS ib
            /* READPAST, READCOMMITTEDLOCK: waits for nobody; the index holds the old ones together. */
            WITH (READPAST, READCOMMITTEDLOCK, INDEX ([IX_Inbox_ReceivedUtc]), FORCESEEK)
        WHERE ib.ReceivedUtc < @before
        ORDER BY ib.ReceivedUtc;

        DELETE ib
        FROM [etl].[Inbox] AS ib
            /* READPAST: a repeat of it is just being counted. XLOCK: no lock that is got and then has
               to wait for more. Whatever the plan, it waits for nobody. */
            WITH (XLOCK, ROWLOCK, READPAST, READCOMMITTEDLOCK)
        INNER JOIN @ids AS i ON i.MessageId = ib.MessageId;

        SET @found = @@ROWCOUNT;
        SET @rows = @rows + @found;
        IF @Debug = 1
        BEGIN
            SET @line = CONCAT(@found, N' ids deleted, ', @rows, N' in all');
            PRINT @line;
        END;
    END;

    IF @WhatIf = 0 AND @rows > 0
        INSERT INTO [etl].[OperatorLog] (Action, Detail)
        VALUES (N'usp_PurgeInbox', CONCAT(@rows, N' ids older than ', CONVERT(nvarchar(30), @before, 126)));

    SELECT @WhatIf AS WhatIf, @before AS OlderThanUtc, @rows AS Affected;

    RETURN 0;
END;
GO
