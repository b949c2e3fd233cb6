/* F-171: A transaction sends twice. Does it see its own sends in send_sequence at once, one above the
   number the message arrives with?
   Settles no switch.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_number_of_a_copy') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_number_of_a_copy;
GO
USE RedialProbe_number_of_a_copy;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000) = N'';
DECLARE @h uniqueidentifier;
DECLARE @n int = 0;
DECLARE @seen bigint;
DECLARE @arrived bigint;
BEGIN TRANSACTION;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
WHILE @n < 2
BEGIN
    SEND ON CONVERSATION @h (0x01);
    SET @seen = NULL;
    SELECT @seen = ce.send_sequence - 1
    FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
    WHERE ce.conversation_handle = @h;
    SET @observed = CONCAT(@observed, N'seen ', @seen, N' ');
    SET @n += 1;
END;
COMMIT TRANSACTION;
SET @n = 0;
WHILE @n < 2
BEGIN
    SET @arrived = NULL;
    WAITFOR (RECEIVE TOP (1) @arrived = message_sequence_number FROM dbo.ToQueue), TIMEOUT 10000;
    SET @observed = CONCAT(@observed, N'arrived ', @arrived, N' ');
    SET @n += 1;
END;
SELECT
    N'F-171' AS Fact,
    N'A transaction sends twice. Does it see its own sends in send_sequence at once, one above the ' +
        N'number the message arrives with?' AS Question,
    N'seen 0 seen 1 arrived 0 arrived 1' AS Expected,
    RTRIM(@observed) AS Observed,
    CONVERT(nvarchar(400), NULL) AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_number_of_a_copy
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_number_of_a_copy;
GO
