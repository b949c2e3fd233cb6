/* F-251: Between two databases of one instance, TRUSTWORTHY OFF in both: do a remote service binding
   and certificates let a message in as the user who owns the certificate there?
   Settles certificates_in_instance = used | ignored.
   Makes two databases of its own and drops them; touches nothing else. Public keys go from one to
   the other as binary values, so no file is written. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
SET NOCOUNT ON;
GO
IF DB_ID(N'RedialProbe_certificates_in_instance') IS NOT NULL
   OR DB_ID(N'RedialProbe_certificates_in_instance_target') IS NOT NULL
    RAISERROR (N'A database of this probe exists: the connection is closed.', 20, 1) WITH LOG;
GO
CREATE DATABASE RedialProbe_certificates_in_instance;
GO
CREATE DATABASE RedialProbe_certificates_in_instance_target;
GO
USE RedialProbe_certificates_in_instance_target;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Probe-Only-1234';
CREATE USER ProbeTarget WITHOUT LOGIN;
CREATE USER ProbeSender WITHOUT LOGIN;
CREATE CERTIFICATE ProbeTargetKey AUTHORIZATION ProbeTarget WITH SUBJECT = N'Target of a probe',
    START_DATE = N'20000101', EXPIRY_DATE = N'20991231';
CREATE QUEUE dbo.ToQueue;
CREATE SERVICE [//probe/certified] AUTHORIZATION ProbeTarget ON QUEUE dbo.ToQueue ([DEFAULT]);
GRANT SEND ON SERVICE::[//probe/certified] TO ProbeSender;
GO
USE RedialProbe_certificates_in_instance;
GO
ALTER DATABASE CURRENT SET ENABLE_BROKER WITH ROLLBACK IMMEDIATE;
GO
CREATE MASTER KEY ENCRYPTION BY PASSWORD = N'Probe-Only-1234';
CREATE USER ProbeOwner WITHOUT LOGIN;
CREATE USER ProbeRemote WITHOUT LOGIN;
CREATE CERTIFICATE ProbeSenderKey AUTHORIZATION ProbeOwner WITH SUBJECT = N'Sender of a probe',
    START_DATE = N'20000101', EXPIRY_DATE = N'20991231';
CREATE QUEUE dbo.FromQueue;
CREATE SERVICE [//probe/from] AUTHORIZATION ProbeOwner ON QUEUE dbo.FromQueue ([DEFAULT]);
GO
DECLARE @key varbinary(max), @sql nvarchar(max);
EXECUTE RedialProbe_certificates_in_instance_target.sys.sp_executesql
    N'SET @key = CERTENCODED(CERT_ID(N''ProbeTargetKey''));', N'@key varbinary(max) OUTPUT', @key OUTPUT;
SET @sql = CONCAT(N'CREATE CERTIFICATE ProbeTargetKey AUTHORIZATION ProbeRemote FROM BINARY = ',
    CONVERT(nvarchar(max), @key, 1), N';');
EXECUTE sys.sp_executesql @sql;
SET @key = CERTENCODED(CERT_ID(N'ProbeSenderKey'));
SET @sql = CONCAT(N'CREATE CERTIFICATE ProbeSenderKey AUTHORIZATION ProbeSender FROM BINARY = ',
    CONVERT(nvarchar(max), @key, 1), N';');
EXECUTE RedialProbe_certificates_in_instance_target.sys.sp_executesql @sql;
CREATE REMOTE SERVICE BINDING ProbeBinding TO SERVICE N'//probe/certified' WITH USER = ProbeRemote;
GO
DECLARE @h uniqueidentifier;
BEGIN DIALOG CONVERSATION @h
    FROM SERVICE [//probe/from] TO SERVICE N'//probe/certified' WITH ENCRYPTION = ON;
SEND ON CONVERSATION @h (0x01);
GO
WAITFOR DELAY '00:00:10';
GO
DECLARE @observed nvarchar(4000), @settles nvarchar(400);
DECLARE @arrived int, @status nvarchar(4000);
EXECUTE RedialProbe_certificates_in_instance_target.sys.sp_executesql
    N'SELECT @arrived = COUNT(*) FROM dbo.ToQueue AS q;', N'@arrived int OUTPUT', @arrived OUTPUT;
SELECT @status = MAX(tq.transmission_status) FROM sys.transmission_queue AS tq;
SET @observed = CONCAT(N'arrived ', @arrived, N', waiting: ', ISNULL(@status, N'nothing'));
/* Another text than that of 916 is a fault of the set-up and settles nothing. */
SET @settles = CASE WHEN @arrived = 1 THEN N'certificates_in_instance=used'
                    WHEN @status LIKE N'%not able to access the database%' THEN N'certificates_in_instance=ignored' END;
SELECT
    N'F-251' AS Fact,
    N'Between two databases of one instance, TRUSTWORTHY OFF in both: do a remote service ' +
        N'binding and certificates let a message in as the user who owns the certificate there?' AS Question,
    N'arrived 1, waiting: nothing' AS Expected,
    @observed AS Observed,
    @settles AS Settles,
    @@VERSION AS Version;
GO
USE master;
GO
ALTER DATABASE RedialProbe_certificates_in_instance
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_certificates_in_instance;
GO
ALTER DATABASE RedialProbe_certificates_in_instance_target
    SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
DROP DATABASE RedialProbe_certificates_in_instance_target;
GO
