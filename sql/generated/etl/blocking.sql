SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Redial 0.1.0, configuration etl */
/* For an administrator of the server, once, in this database: from then on members of the operator role
   see in usp_Health and redial doctor which session keeps others waiting, without a right on the server.

   It makes a procedure of dbo that writes into a temporary table of its caller who holds locks in this database:
   session, login, host, program, since when, and who waits for it. The procedure is signed. The login of its
   certificate has VIEW SERVER STATE, and nobody can log in as it; the private key is removed at once, so nothing
   else can be signed with it. Whoever changes the procedure has dropped the signature.
   A deployment leaves all of this alone. Run it again after a restore on another server.
   To take it away: @remove = 1. */
SET NOCOUNT ON;
SET XACT_ABORT ON;

DECLARE @remove bit = 0;

DECLARE @login sysname = LEFT(CONCAT(N'redial_etl_sessions_', DB_NAME()), 128);
DECLARE @password nvarchar(100) = CONVERT(nvarchar(64), CRYPT_GEN_RANDOM(32), 2) + N'aZ9!';   /* the end is for the password policy */
DECLARE @sql nvarchar(max);

IF ISNULL(IS_SRVROLEMEMBER(N'sysadmin'), 0) = 0
    THROW 50231, N'Only a member of sysadmin can run this: it makes a login and gives it VIEW SERVER STATE. Nothing was done.', 1;
IF OBJECT_ID(N'[etl].[usp_Health]', N'P') IS NULL
    THROW 50231, N'This database has no [etl].[usp_Health]. Nothing was done. Next: USE the database that configuration etl is in.', 1;

BEGIN TRANSACTION;

/* ---- 1  What an earlier run has made ---- */
IF OBJECT_ID(N'[dbo].[redial_etl_sessions]', N'P') IS NOT NULL
    DROP PROCEDURE [dbo].[redial_etl_sessions];
IF EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.name = N'redial_etl_sessions')
    DROP CERTIFICATE [redial_etl_sessions];
SET @sql = CONCAT(N'IF SUSER_ID(@login) IS NOT NULL DROP LOGIN ', QUOTENAME(@login),
    N'; IF EXISTS (SELECT 1 FROM sys.certificates AS ct WHERE ct.name = @login) DROP CERTIFICATE ', QUOTENAME(@login), N';');
EXECUTE master.sys.sp_executesql @sql, N'@login sysname', @login = @login;

IF @remove = 0
BEGIN
    /* ---- 2  The procedure ---- */
    EXECUTE (N'CREATE PROCEDURE [dbo].[redial_etl_sessions]
AS
/* Redial 0.1.0, configuration etl */
/* Fills #sessions of usp_Health, from #ours. Signed: no dynamic text, no call, no table but the server''s views. */
BEGIN
    SET NOCOUNT ON;
INSERT INTO #sessions (SessionId, Who, BegunAt, Waiting, Seconds)
    SELECT h.SessionId,
        CONCAT(N''session '', h.SessionId, N'', login '', es.original_login_name, N'', host '', ISNULL(es.host_name, N''unknown''), N'', program '', ISNULL(es.program_name, N''unknown'')),
        b.BegunAt, w.Waiting, ISNULL(w.Seconds, 0)
    FROM (SELECT DISTINCT tl.request_session_id AS SessionId
          FROM sys.dm_tran_locks AS tl
          INNER JOIN #ours AS o ON o.ObjectId = tl.resource_associated_entity_id
          WHERE tl.resource_database_id = DB_ID() AND tl.resource_type = N''OBJECT'' AND tl.request_status = N''GRANT''
            AND tl.request_session_id <> @@SPID
            AND NOT EXISTS (SELECT 1 FROM sys.dm_broker_activated_tasks AS t WHERE t.spid = tl.request_session_id)) AS h
    INNER JOIN sys.dm_exec_sessions AS es ON es.session_id = h.SessionId
    CROSS APPLY (SELECT COUNT(*) AS Waiting, MAX(er.wait_time) / 1000 AS Seconds
                 FROM sys.dm_exec_requests AS er
                 WHERE er.blocking_session_id = h.SessionId AND er.database_id = DB_ID()) AS w
    CROSS APPLY (SELECT MIN(a.transaction_begin_time) AS BegunAt
                 FROM sys.dm_tran_session_transactions AS st
                 INNER JOIN sys.dm_tran_active_transactions AS a ON a.transaction_id = st.transaction_id
                 WHERE st.session_id = h.SessionId) AS b;

    RETURN 0;
END;');

    /* ---- 3  Its certificate, here and in master; the login; who may call ---- */
    SET @sql = CONCAT(N'CREATE CERTIFICATE [redial_etl_sessions] AUTHORIZATION [dbo] ENCRYPTION BY PASSWORD = N''', @password,
        N''' WITH SUBJECT = N''Redial: who keeps others waiting'', START_DATE = N''20000101'', EXPIRY_DATE = N''20991231'' ACTIVE FOR BEGIN_DIALOG = OFF; ',
        N'ADD SIGNATURE TO OBJECT::[dbo].[redial_etl_sessions] BY CERTIFICATE [redial_etl_sessions] WITH PASSWORD = N''', @password,
        N'''; ALTER CERTIFICATE [redial_etl_sessions] REMOVE PRIVATE KEY;');
    EXECUTE sys.sp_executesql @sql;
    SET @password = NULL;
    SET @sql = CONCAT(N'CREATE CERTIFICATE ', QUOTENAME(@login), N' FROM BINARY = ',
        CONVERT(nvarchar(max), CERTENCODED(CERT_ID(N'redial_etl_sessions')), 1), N'; CREATE LOGIN ', QUOTENAME(@login),
        N' FROM CERTIFICATE ', QUOTENAME(@login), N'; GRANT VIEW SERVER STATE TO ', QUOTENAME(@login), N';');
    EXECUTE master.sys.sp_executesql @sql;
    GRANT EXECUTE ON OBJECT::[dbo].[redial_etl_sessions] TO [etl_operator];
END;

COMMIT TRANSACTION;
PRINT CASE @remove WHEN 1 THEN N'Taken away.' ELSE N'Members of etl_operator see who keeps others waiting.' END;
GO
