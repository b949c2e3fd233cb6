SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_EndPartition]
    @jobId nvarchar(4000),              /* these four as in usp_BeginPartition */
    @batchId bigint,
    @partitionId int,
    @chunk int = 0,                     /* 0 where the piece went out as one */
    @messageCount bigint,               /* messages of the piece, sent now or already */
    @contentHash binary(32)             /* SHA2_256 over them, by a rule of the caller's that stays the same */
WITH EXECUTE AS N'orders_module'
AS
/* Redial 0.1.0, configuration orders */
/* Ends a piece that usp_BeginPartition began. Sent now: its count and hash are kept. Sent already: they
   are compared, and a run that would have sent something else raises 50243: the job is not
   deterministic, and neither run is the right one. Returns 0; answers by no result set. */
BEGIN
    SET NOCOUNT ON;
    SET ROWCOUNT 0;                     /* a caller's SET ROWCOUNT would cut the look-up (F-331) */
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;

    DECLARE @errors nvarchar(2048) = N'';
    DECLARE @job nvarchar(128) = LEFT(@jobId, 128);
    DECLARE @messages bigint = NULL;
    DECLARE @hash binary(32) = NULL;
    DECLARE @sentUtc datetime2(3) = NULL;

    /* ----------------------------------------------------------------------------------------- */
    /* 1  Inputs                                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    IF @@TRANCOUNT = 0
        THROW 50241, N'usp_EndPartition must be called in the transaction of usp_BeginPartition, before its COMMIT.', 1;
    IF ISNULL(DATALENGTH(@jobId), 0) NOT BETWEEN 2 AND 256
        SET @errors = @errors + N'@jobId must be a name of 1 to 128 characters. ';
    IF ISNULL(@messageCount, -1) < 0
        SET @errors = @errors + N'@messageCount must be 0 or more. ';
    IF @contentHash IS NULL
        SET @errors = @errors + N'@contentHash must be 32 bytes, not NULL. ';
    IF @errors <> N''
    BEGIN
        SET @errors = RTRIM(@errors);
        THROW 50240, @errors, 1;
    END;

    /* ----------------------------------------------------------------------------------------- */
    /* 2  The row of this transaction is the only one that can be open                              */
    /* ----------------------------------------------------------------------------------------- */
    UPDATE sl
    SET MessageCount = @messageCount, ContentHash = @contentHash
    FROM [orders].[SendLedger] AS sl
        WITH (ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)  /* one row, by its clustered key */
    WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk
      AND sl.MessageCount IS NULL;
    IF @@ROWCOUNT = 1
        RETURN 0;

    /* ----------------------------------------------------------------------------------------- */
    /* 3  Sent before: the same?                                                                   */
    /* ----------------------------------------------------------------------------------------- */
    SELECT @messages = sl.MessageCount, @hash = sl.ContentHash, @sentUtc = sl.SentUtc
    FROM [orders].[SendLedger] AS sl
        WITH (READCOMMITTEDLOCK, ROWLOCK, INDEX ([PK_SendLedger]), FORCESEEK)   /* the same row */
    WHERE sl.JobId = @job AND sl.BatchId = @batchId AND sl.PartitionId = @partitionId AND sl.Chunk = @chunk;
    IF @messages IS NULL
        THROW 50242, N'There is no such piece: call usp_BeginPartition first, in the same transaction.', 1;

    IF @messages <> @messageCount OR @hash <> @contentHash
    BEGIN
        SET @errors = CONCAT(N'Job ', @job, N', batch ', @batchId, N', partition ', @partitionId, N', chunk ', @chunk,
            N' was sent at ', CONVERT(nvarchar(30), @sentUtc, 126), N' UTC with ', @messages,
            N' messages, and this run has ', @messageCount, CASE WHEN @messages = @messageCount THEN N' others' END,
            N'. Nothing was sent now. Next: make its input deterministic (no rand, no round robin over retries, a fixed order), or run it under a new job id.');
        SET @errors = REPLACE(@errors, N'%', N'%%');    /* F-133 */
        THROW 50243, @errors, 1;
    END;

    RETURN 0;
END;
GO
