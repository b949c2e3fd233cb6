SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;

IF OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;
DROP TABLE IF EXISTS [logging].[ConversationLog];
DROP TABLE IF EXISTS [logging].[DeadLetter];
DROP TABLE IF EXISTS [logging].[DeploymentHistory];
DROP TABLE IF EXISTS [logging].[ErrorLog];
DROP TABLE IF EXISTS [logging].[Gate];
DROP TABLE IF EXISTS [logging].[Landing];
DROP TABLE IF EXISTS [logging].[LandingAcknowledged];
DROP TABLE IF EXISTS [logging].[Migration];
DROP TABLE IF EXISTS [logging].[OperatorLog];
DROP TABLE IF EXISTS [logging].[OwnedObject];
DROP TABLE IF EXISTS [logging].[PoisonAttempt];
DROP TABLE IF EXISTS [logging].[SessionConversations];
DROP TABLE IF EXISTS [logging].[Setting];
/* A role somebody is a member of is somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'logging_sender') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'logging_sender'))
BEGIN
    DROP ROLE [logging_sender];
END;

IF DATABASE_PRINCIPAL_ID(N'logging_operator') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'logging_operator'))
BEGIN
    DROP ROLE [logging_operator];
END;

IF DATABASE_PRINCIPAL_ID(N'logging_reader') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                   WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'logging_reader'))
BEGIN
    DROP ROLE [logging_reader];
END;

IF SCHEMA_ID(N'logging') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'logging'))
   AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'logging'))
   AND EXISTS (SELECT 1 FROM sys.schemas AS s
               WHERE s.name = N'logging'
                 AND s.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    DROP SCHEMA [logging];
END;

IF DATABASE_PRINCIPAL_ID(N'logging_module') IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'logging_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [logging_module];
    DROP USER [logging_module];
END;
GO
