SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* May the deployer do all of what follows, and are the principals what they must be? Asked before
   anything is done, because a deployment that stops half-way through is the harder thing to explain. */
DECLARE @errors nvarchar(4000) = N'';
DECLARE @missing nvarchar(2000) = N'';

/* ----------------------------------------------------------------------------------------- */
/* 1  Rights. CONTROL covers the rest: CREATE for every kind of object, AUTHORIZATION and       */
/*    EXECUTE AS another user (IMPERSONATE), GRANT, ALTER DATABASE. The others only tell what   */
/*    is missing. Membership in a fixed role is changed by members of db_owner (ALTER ROLE page) */
/* ----------------------------------------------------------------------------------------- */
IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL'), 0) = 0
BEGIN
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE SCHEMA'), 0) = 0
        SET @missing = @missing + N', CREATE SCHEMA';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE TABLE'), 0) = 0
        SET @missing = @missing + N', CREATE TABLE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE PROCEDURE'), 0) = 0
        SET @missing = @missing + N', CREATE PROCEDURE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE QUEUE'), 0) = 0
        SET @missing = @missing + N', CREATE QUEUE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE SERVICE'), 0) = 0
        SET @missing = @missing + N', CREATE SERVICE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE CONTRACT'), 0) = 0
        SET @missing = @missing + N', CREATE CONTRACT';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE MESSAGE TYPE'), 0) = 0
        SET @missing = @missing + N', CREATE MESSAGE TYPE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CREATE ROLE'), 0) = 0
        SET @missing = @missing + N', CREATE ROLE';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'ALTER ANY USER'), 0) = 0
        SET @missing = @missing + N', ALTER ANY USER';
    IF ISNULL(HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'ALTER ANY SCHEMA'), 0) = 0
        SET @missing = @missing + N', ALTER ANY SCHEMA';
    SET @missing = N'CONTROL on the database' + @missing;
END
ELSE IF ISNULL(IS_MEMBER(N'db_owner'), 0) = 0 AND USER_ID() <> 1   /* the page of IS_MEMBER says 0 for dbo */
        AND ISNULL(IS_ROLEMEMBER(N'db_owner', N'etl_module'), 0) = 0
    SET @missing = N'membership in db_owner (only members change that role, and this configuration adds one)';

IF @missing <> N''
BEGIN
    SET @errors = LEFT(CONCAT(N'User ', QUOTENAME(USER_NAME()), N' of database ', QUOTENAME(DB_NAME()),
        N' cannot deploy configuration etl. Missing: ', @missing,
        N'. Nothing was done. Next: have a member of db_owner deploy, or let one run ALTER ROLE [db_owner] ADD MEMBER ',
        QUOTENAME(USER_NAME()), N';'), 2000);
    SET @errors = REPLACE(@errors, N'%', N'%%');   /* F-133 */
    THROW 50200, @errors, 1;
END;

/* ----------------------------------------------------------------------------------------- */
/* 2  Principals that are there already must be of the kind we would make                      */
/* ----------------------------------------------------------------------------------------- */
/* A type_desc has Latin1_General_CI_AS_KS_WS whatever the database has, and two collations in one
   concatenation are refused (468) before anything runs (page Collation Precedence). */
SELECT @errors = CONCAT(@errors, N'[roles].module ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')),
    N' somebody can log in as or nobody can run as; allowed: a new name, or a user without login. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'etl_module'
  AND NOT (dp.type = 'S' AND dp.authentication_type = 0 AND dp.principal_id > 4);
SELECT @errors = CONCAT(@errors, N'[roles].sender ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')),
    CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END, N'; allowed: a new name, or a database role of yours. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'etl_sender'
  AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0);
SELECT @errors = CONCAT(@errors, N'[roles].operator ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')),
    CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END, N'; allowed: a new name, or a database role of yours. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'etl_operator'
  AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0);
SELECT @errors = CONCAT(@errors, N'[roles].reader ', QUOTENAME(dp.name), N' is a ', LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')),
    CASE dp.is_fixed_role WHEN 1 THEN N' that is fixed' ELSE N'' END, N'; allowed: a new name, or a database role of yours. ')
FROM sys.database_principals AS dp
WHERE dp.name = N'etl_reader'
  AND (dp.type <> 'R' OR dp.is_fixed_role = 1 OR dp.principal_id = 0);

IF @errors <> N''
BEGIN
    SET @errors = REPLACE(LEFT(CONCAT(RTRIM(@errors), N' Nothing was done. Next: change the names in the configuration, render, deploy.'), 2000), N'%', N'%%');
    THROW 50202, @errors, 1;
END;

/* ----------------------------------------------------------------------------------------- */
/* 3  One principal per configuration: an owner of two could end the conversations of both     */
/* ----------------------------------------------------------------------------------------- */
SELECT TOP (1) @errors = CONCAT(N'[roles].module ', QUOTENAME(dp.name), N' owns schema ', QUOTENAME(s.name),
    N' as well, so the procedures of this configuration could change what is in it. Nothing was done. ',
    N'Next: another name for [roles].module, render, deploy.')
FROM sys.database_principals AS dp
INNER JOIN sys.schemas AS s ON s.principal_id = dp.principal_id
WHERE dp.name = N'etl_module'
  AND s.schema_id <> ISNULL(SCHEMA_ID(N'etl'), -1)
ORDER BY s.schema_id;

IF @errors <> N''
BEGIN
    SET @errors = REPLACE(LEFT(@errors, 2000), N'%', N'%%');
    THROW 50203, @errors, 1;
END;
GO
