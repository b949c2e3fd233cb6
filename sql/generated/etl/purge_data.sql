SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;

IF OBJECT_ID(N'[etl].[InitiatorQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;
DROP TABLE IF EXISTS [etl].[ConversationLog];
DROP TABLE IF EXISTS [etl].[DeadLetter];
DROP TABLE IF EXISTS [etl].[DeploymentHistory];
DROP TABLE IF EXISTS [etl].[ErrorLog];
DROP TABLE IF EXISTS [etl].[Gate];
DROP TABLE IF EXISTS [etl].[IdleWatch];
DROP TABLE IF EXISTS [etl].[Inbox];
DROP TABLE IF EXISTS [etl].[Landing];
DROP TABLE IF EXISTS [etl].[LandingAcknowledged];
DROP TABLE IF EXISTS [etl].[Migration];
DROP TABLE IF EXISTS [etl].[OperatorLog];
DROP TABLE IF EXISTS [etl].[OwnedObject];
DROP TABLE IF EXISTS [etl].[PoisonAttempt];
DROP TABLE IF EXISTS [etl].[SessionConversations];
DROP TABLE IF EXISTS [etl].[Setting];
/* A role somebody is a member of is somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'etl_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'etl_sender'))
BEGIN
    DROP ROLE [etl_sender];
END;

IF DATABASE_PRINCIPAL_ID(N'etl_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'etl_operator'))
BEGIN
    DROP ROLE [etl_operator];
END;

IF DATABASE_PRINCIPAL_ID(N'etl_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'etl_reader'))
BEGIN
    DROP ROLE [etl_reader];
END;

IF SCHEMA_ID(N'etl') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'etl'))
   AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'etl'))
   AND EXISTS (SELECT 1 FROM sys.schemas AS s
               WHERE s.name = N'etl'
                 AND s.principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
BEGIN
    DROP SCHEMA [etl];
END;

IF DATABASE_PRINCIPAL_ID(N'etl_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'etl_module'))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'etl_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [etl_module];
    DROP USER [etl_module];
END;
GO
