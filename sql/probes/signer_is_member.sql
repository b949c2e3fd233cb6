/* F-180: While a signed procedure runs as a user without login, do the roles of the certificate's
   user count in IS_MEMBER, and does sys.transmission_queue show its rows?
   Settles signer_is_member = counts | ignored.
   Makes a database of its own and drops it; touches nothing else. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_signer_is_member') IS NOT NULL
    RAISERROR (N'The database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_signer_is_member;
GO
USE RedialProbe_signer_is_member;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE QUEUE dbo.FromQueue;
CREATE SERVICE [//probe/from] ON QUEUE dbo.FromQueue ([DEFAULT]);
GO
CREATE USER ProbeUser WITHOUT LOGIN;
GO
/* What our procedures do: EXECUTE AS a user without login, and a signature on top. */
CREATE PROCEDURE dbo.ProbeWhoAmI
    @isMember int OUTPUT,
    @rows int OUTPUT
WITH EXECUTE AS N'ProbeUser'
AS
BEGIN
    SET NOCOUNT ON;
    SET @isMember = IS_MEMBER(N'db_owner');
    SELECT @rows = COUNT(*) FROM sys.transmission_queue AS q;
END;
GO
CREATE CERTIFICATE ProbeSigner ENCRYPTION BY PASSWORD = N'Probe-Only-1234'
    WITH SUBJECT = N'Signs one procedure of a probe';
CREATE USER ProbeSignerUser FROM CERTIFICATE ProbeSigner;
ALTER ROLE db_owner ADD MEMBER ProbeSignerUser;
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @h uniqueidentifier;
DECLARE @before int, @beforeRows int, @signed int, @signedRows int;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/nobody' WITH ENCRYPTION = OFF;
SEND ON CONVERSATION @h (0x01);
EXECUTE dbo.ProbeWhoAmI @isMember = @before OUTPUT, @rows = @beforeRows OUTPUT;
ADD SIGNATURE TO OBJECT::dbo.ProbeWhoAmI BY CERTIFICATE ProbeSigner WITH PASSWORD = N'Probe-Only-1234';
EXECUTE dbo.ProbeWhoAmI @isMember = @signed OUTPUT, @rows = @signedRows OUTPUT;
SET @observed = CONCAT(N'unsigned: IS_MEMBER ', @before, N', rows ', @beforeRows,
    N'; signed: IS_MEMBER ', @signed, N', rows ', @signedRows);
/* A server where the two disagree fits no value: our procedures would ask one and read the other. */
IF @before = 0 AND @beforeRows = 0
    SET @settles = CASE WHEN @signed = 1 AND @signedRows = 1 THEN N'signer_is_member=counts'
                        WHEN @signed = 0 AND @signedRows = 0 THEN N'signer_is_member=ignored' END;
SELECT
    N'F-180' AS Fact,
    N'While a signed procedure runs as a user without login, do the roles of the certificate''s ' +
        N'user count in IS_MEMBER, and does sys.transmission_queue show its rows?' AS Question,
    N'unsigned: IS_MEMBER 0, rows 0; signed: IS_MEMBER 1, rows 1' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_signer_is_member
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_signer_is_member;
GO
