SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* F-113: who sees a pending row: dbo, a user who owns the service, the same user as a
   member of db_owner?
   Run in a scratch database with Service Broker on; it cleans up after itself. */
CREATE QUEUE dbo.ProbeFromQueue;
CREATE QUEUE dbo.ProbeToQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.ProbeFromQueue;
CREATE SERVICE [//probe/to] ON QUEUE dbo.ProbeToQueue ([DEFAULT]);
GO
CREATE USER ProbeUser WITHOUT LOGIN;
ALTER AUTHORIZATION ON SERVICE::[//probe/from] TO ProbeUser;
GO
DECLARE @h uniqueidentifier;
DECLARE @t uniqueidentifier;
DECLARE @observed nvarchar(200);
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/nobody' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
DECLARE @dbo int = (SELECT COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h);
EXECUTE AS USER = N'ProbeUser';
DECLARE @owner int = (SELECT COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h);
DECLARE @endpoint int = (SELECT COUNT(*) FROM sys.conversation_endpoints AS e WHERE e.conversation_handle = @h);
REVERT;
ALTER ROLE db_owner ADD MEMBER ProbeUser;
EXECUTE AS USER = N'ProbeUser';
DECLARE @member int = (SELECT COUNT(*) FROM sys.transmission_queue AS q WHERE q.conversation_handle = @h);
DECLARE @isMember int = IS_MEMBER(N'db_owner');
REVERT;
ALTER ROLE db_owner DROP MEMBER ProbeUser;
END CONVERSATION @h WITH CLEANUP;
ALTER AUTHORIZATION ON SERVICE::[//probe/from] TO dbo;
SELECT N'F-113' AS Fact, N'dbo 1, owner 0 (its endpoint 1), member 1 (IS_MEMBER 1)' AS Expected, CONCAT(N'dbo ', @dbo, N', owner ', @owner, N' (its endpoint ', @endpoint, N'), member ', @member, N' (IS_MEMBER ', @isMember, N')') AS Observed;
GO
DROP SERVICE [//probe/from];
DROP SERVICE [//probe/to];
DROP QUEUE dbo.ProbeFromQueue;
DROP QUEUE dbo.ProbeToQueue;
DROP USER ProbeUser;
GO
