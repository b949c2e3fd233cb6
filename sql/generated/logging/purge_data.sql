SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Removes what uninstall keeps: the data, the roles, the schema, the module user. Runs after it.
   ONE batch: SSMS, and sqlcmd without -b, go on with the next batch after an error, and would drop
   the data of a running installation after the refusal below. */
SET XACT_ABORT ON;
SET IMPLICIT_TRANSACTIONS OFF;          /* else all of it waits in one transaction for a COMMIT */

DECLARE @lacks nvarchar(200) = NULL;
DECLARE @refusal nvarchar(2048);
IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL'), 0) = 0
    SET @lacks = N'CONTROL on the database';
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name = N'Redial.db_owner')
    SET @lacks = N'membership in db_owner (only members change that role, and a member is to be taken out)';
IF @lacks IS NOT NULL
BEGIN
    SET @refusal = REPLACE(CONCAT(N'User ', QUOTENAME(USER_NAME()), N' of database ', QUOTENAME(DB_NAME()),
        N' cannot remove configuration logging. Missing: ', @lacks,
        N'. Nothing was done. Next: have a member of db_owner run purge_data.sql, or let one run ALTER ROLE [db_owner] ADD MEMBER ',
        QUOTENAME(USER_NAME()), N';'), N'%', N'%%');   /* F-133 */
    THROW 50200, @refusal, 1;
END;

IF OBJECT_ID(N'[logging].[InitiatorQueue]', N'SQ') IS NOT NULL OR OBJECT_ID(N'[logging].[TargetQueue]', N'SQ') IS NOT NULL
    THROW 50141, N'The queues are still there: run uninstall.sql first.', 1;

DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging'));

/* Every table of every choice. */
DROP TABLE IF EXISTS [logging].[ConversationLog];
DROP TABLE IF EXISTS [logging].[DeadLetter];
DROP TABLE IF EXISTS [logging].[DeploymentHistory];
DROP TABLE IF EXISTS [logging].[ErrorLog];
DROP TABLE IF EXISTS [logging].[Everlasting];
DROP TABLE IF EXISTS [logging].[Gate];
DROP TABLE IF EXISTS [logging].[IdleWatch];
DROP TABLE IF EXISTS [logging].[Inbox];
DROP TABLE IF EXISTS [logging].[KeySequence];
DROP TABLE IF EXISTS [logging].[Landing];
DROP TABLE IF EXISTS [logging].[LandingAcknowledged];
DROP TABLE IF EXISTS [logging].[Migration];
DROP TABLE IF EXISTS [logging].[OperatorLog];
DROP TABLE IF EXISTS [logging].[OwnedObject];
DROP TABLE IF EXISTS [logging].[PoisonAttempt];
DROP TABLE IF EXISTS [logging].[SessionConversations];
DROP TABLE IF EXISTS [logging].[Setting];

/* What was there before the first deployment has no mark and stays. A role somebody is a member of is
   somebody's, and a schema with other objects in it too. */
IF DATABASE_PRINCIPAL_ID(N'logging_sender') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_sender')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'logging_sender';
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_sender')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_sender')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'logging_sender'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_sender')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'logging_sender';
        DROP ROLE [logging_sender];
    END;
    COMMIT TRANSACTION;
END;

IF DATABASE_PRINCIPAL_ID(N'logging_operator') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_operator')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'logging_operator';
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_operator')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_operator')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'logging_operator'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_operator')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'logging_operator';
        DROP ROLE [logging_operator];
    END;
    COMMIT TRANSACTION;
END;

IF DATABASE_PRINCIPAL_ID(N'logging_reader') IS NOT NULL
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_reader')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'logging_reader';
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_reader')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_reader')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
       AND NOT EXISTS (SELECT 1 FROM sys.database_role_members AS m
                       WHERE m.role_principal_id = DATABASE_PRINCIPAL_ID(N'logging_reader'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_reader')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'logging_reader';
        DROP ROLE [logging_reader];
    END;
    COMMIT TRANSACTION;
END;

/* The membership first: a user that was there before keeps only what it had. */
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name = N'Redial.db_owner')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
BEGIN
    IF IS_ROLEMEMBER(N'db_owner', N'logging_module') = 1
        ALTER ROLE [db_owner] DROP MEMBER [logging_module];
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name = N'Redial.db_owner')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.db_owner',
        @level0type = N'USER', @level0name = N'logging_module';
END;

/* Schema and user go together or not at all: the mark of the user carries the schema's id. */
BEGIN TRANSACTION;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name = CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
    EXECUTE sys.sp_dropextendedproperty @name = @mark,
        @level0type = N'USER', @level0name = N'logging_module';
IF SCHEMA_ID(N'logging') IS NOT NULL
BEGIN
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'logging')
                 AND ep.name = N'Redial.made')
       AND NOT EXISTS (SELECT 1 FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(N'logging'))
       AND NOT EXISTS (SELECT 1 FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(N'logging'))
       AND NOT EXISTS (SELECT 1 FROM sys.xml_schema_collections AS x WHERE x.schema_id = SCHEMA_ID(N'logging'))
    BEGIN
        IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'logging')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'SCHEMA', @level0name = N'logging';
        DROP SCHEMA [logging];
    END
    ELSE IF DATABASE_PRINCIPAL_ID(N'logging_module') IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 3   /* SCHEMA */
                 AND ep.major_id = SCHEMA_ID(N'logging')
                 AND ep.name = N'Redial.made')
            AND EXISTS (SELECT 1 FROM sys.schemas AS s
                        WHERE s.name = N'logging'
                          AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'logging_module'))
        REVOKE CONTROL ON SCHEMA::[logging] FROM [logging_module];
END;

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name = N'Redial.made')
   AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name LIKE N'Redial.user.%' AND ep.name <> CONCAT(N'Redial.user.', SCHEMA_ID(N'logging')))
   AND NOT EXISTS (SELECT 1 FROM sys.schemas AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_contracts AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
   AND NOT EXISTS (SELECT 1 FROM sys.services AS x WHERE x.principal_id = DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 4   /* USER */
                 AND ep.major_id = DATABASE_PRINCIPAL_ID(N'logging_module')
                 AND ep.name = N'Redial.made')
    EXECUTE sys.sp_dropextendedproperty @name = N'Redial.made',
        @level0type = N'USER', @level0name = N'logging_module';
    DROP USER [logging_module];
END;
COMMIT TRANSACTION;
GO
