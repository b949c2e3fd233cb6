SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [orders].[usp_CheckMessages]
    @messages [orders].[MessageBatch] READONLY,
    @problems nvarchar(max)             /* what the caller found wrong already */
AS
/* Redial 0.1.0, configuration orders */
/* The messages of a batch before any is sent: the first ten wrong ones are named, then one error is raised
   (50150). Returns 0 when all are right. */
BEGIN
    SET NOCOUNT ON;

    DECLARE @wrong TABLE (WrongId int IDENTITY (1, 1) NOT NULL PRIMARY KEY, Problem nvarchar(400) NOT NULL);
    DECLARE @wrongId int = 0;
    DECLARE @problem nvarchar(400);
    DECLARE @message nvarchar(2048);

    INSERT INTO @wrong (Problem)
    SELECT TOP (10) CONCAT(N'Ordinal ', m.Ordinal, N': ', w.[Rule], N'. ')
    FROM @messages AS m
    CROSS APPLY
    (
        SELECT N'MessageType must be one of: ''//redial/orders/event''' AS [Rule]
        WHERE ISNULL(m.MessageType, N'') COLLATE Latin1_General_BIN2 NOT IN (N'//redial/orders/event')
        UNION ALL
        SELECT N'MessageKey must be 1 to 200 characters long'
        WHERE ISNULL(DATALENGTH(m.MessageKey), 0) NOT BETWEEN 2 AND 400
        UNION ALL
        SELECT N'MessageId must be NULL: this configuration has delivery = at_least_once'
        WHERE m.MessageId IS NOT NULL
    ) AS w
    ORDER BY m.Ordinal;

    WHILE 1 = 1
    BEGIN
        SELECT TOP (1) @wrongId = w.WrongId, @problem = w.Problem FROM @wrong AS w WHERE w.WrongId > @wrongId ORDER BY w.WrongId;
        IF @@ROWCOUNT = 0
            BREAK;
        SET @problems = @problems + @problem;
    END;

    IF @problems <> N''
    BEGIN
        SET @message = LEFT(CONCAT(N'Nothing was sent. ', RTRIM(@problems)), 2040);
        THROW 50150, @message, 1;
    END;

    RETURN 0;
END;
GO
