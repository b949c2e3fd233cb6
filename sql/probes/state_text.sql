/* F-262: Does error 8429 print the code of a state or its description?
   Settles state_text = code | description.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_state_text') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_state_text;
GO
USE RedialProbe_state_text;
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
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/to' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
WAITFOR (RECEIVE TOP (1) @t = conversation_handle FROM dbo.ToQueue), TIMEOUT 10000;
END CONVERSATION @t;
WAITFOR DELAY '00:00:02';
BEGIN TRY
    SEND ON CONVERSATION @h (0x02);
    SET @observed = N'no error';
END TRY
BEGIN CATCH
    SET @observed = ERROR_MESSAGE();
END CATCH;
IF @observed LIKE N'%''DI''%'
    SELECT @observed = N'the code: ''DI''', @settles = N'state_text=code';
ELSE IF @observed LIKE N'%DISCONNECTED_INBOUND%'
    SET @settles = N'state_text=description';
SELECT
    N'F-262' AS Fact,
    N'Does error 8429 print the code of a state or its description?' AS Question,
    N'the code: ''DI''' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_state_text
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_state_text;
GO
