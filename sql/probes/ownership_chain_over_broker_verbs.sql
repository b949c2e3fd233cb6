/* F-112: A user who may only execute a procedure of dbo's: does the owner's chain cover
   RECEIVE from dbo's queue inside it?
   Settles ownership_chain_over_broker_verbs = true | false.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_ownership_chain_over_broker_verbs') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_ownership_chain_over_broker_verbs;
GO
USE RedialProbe_ownership_chain_over_broker_verbs;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
CREATE SERVICE [//probe/to] ON QUEUE dbo.ToQueue ([DEFAULT]);
GO
CREATE PROCEDURE dbo.ProbeReceive AS
BEGIN
    DECLARE @h uniqueidentifier;
    RECEIVE TOP (1) @h = conversation_handle FROM dbo.ToQueue;
END;
GO
CREATE USER ProbeUser WITHOUT LOGIN;
GRANT EXECUTE ON dbo.ProbeReceive TO ProbeUser;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
EXECUTE AS USER = N'ProbeUser';
BEGIN TRY
    EXECUTE dbo.ProbeReceive;
    SET @observed = N'covered';
END TRY
BEGIN CATCH
    SET @observed = CONCAT(N'error ', ERROR_NUMBER());
END CATCH;
REVERT;
SET @settles = CASE @observed WHEN N'covered' THEN N'ownership_chain_over_broker_verbs=true'
                              WHEN N'error 229' THEN N'ownership_chain_over_broker_verbs=false' END;
SELECT
    N'F-112' AS Fact,
    N'A user who may only execute a procedure of dbo''s: does the owner''s chain cover' +
        N' RECEIVE from dbo''s queue inside it?' AS Question,
    N'covered' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_ownership_chain_over_broker_verbs
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_ownership_chain_over_broker_verbs;
GO
