/* F-261: In which state is an endpoint that was told END CONVERSATION WITH ERROR by the
   target, and by the initiator?
   Settles error_receiver_state = ER | DI.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_error_receiver_state') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_error_receiver_state;
GO
USE RedialProbe_error_receiver_state;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier, @t uniqueidentifier;
DECLARE @initiator char(2), @target char(2);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t WITH ERROR = 50001 DESCRIPTION = N'probe';
WAITFOR DELAY '00:00:02';
SELECT @initiator = e.state FROM sys.conversation_endpoints AS e WHERE e.conversation_handle = @h;
END CONVERSATION @h;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @h WITH ERROR = 50001 DESCRIPTION = N'probe';
WAITFOR DELAY '00:00:02';
SELECT @target = e.state FROM sys.conversation_endpoints AS e WHERE e.conversation_handle = @t;
SET @observed = CONCAT(N'initiator ', @initiator, N'; target ', @target);
IF @initiator = @target
    SET @settles = CONCAT(N'error_receiver_state=', @initiator);
SELECT
    N'F-261' AS Fact,
    N'In which state is an endpoint that was told END CONVERSATION WITH ERROR by the ' +
        N'target, and by the initiator?' AS Question,
    N'initiator ER; target ER' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_error_receiver_state
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_error_receiver_state;
GO
