SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* For sqlcmd, or SSMS in SQLCMD mode: -v name="billing". The name is the schema's, and stands in the
   names of roles, services, contract and message types. There is no default: a variable that nobody has set
   ends here. */
IF N'$(name)' NOT LIKE N'[a-z]%' COLLATE Latin1_General_BIN2
   OR N'$(name)' LIKE N'%[^a-z0-9_-]%' COLLATE Latin1_General_BIN2
   OR LEN(N'$(name)') > 64
    THROW 50231, N'The sqlcmd variable name is missing or no name: allowed are a lower case letter and up to 63 of a-z 0-9 _ -. Nothing was done. Next: sqlcmd -v name="billing", or :setvar name "billing" before.', 127;
/* Redial 0.1.0, configuration $(name) */
/* Who may do what with this configuration, from the catalog of this database: one result set for a
   ticket. Reads only. Run it as a member of db_owner: to others the catalog shows a part only, and the
   first row says so.

   PrincipalName, PrincipalType   who; a member of a role has a row for each right of the role
   Through                        the role that gives the right, or where else it comes from
   Permission                     the right; ALL where it is ownership or db_owner
   State                          GRANT, WITH GRANT OPTION, DENY, or what is not a permission (OWNER, MEMBER)
   Securable                      on what
   Meaning                        in a word, where the right reaches further than it reads

   Not to be seen from here: logins with sysadmin or CONTROL SERVER may do everything; who holds the
   password of the database owner's login too. */
SET NOCOUNT ON;

DECLARE @schemaId int = SCHEMA_ID(N'$(name)');
DECLARE @moduleId int = DATABASE_PRINCIPAL_ID(N'$(name)_module');

/* ----------------------------------------------------------------------------------------- */
/* 1  What belongs to the configuration                                                        */
/* ----------------------------------------------------------------------------------------- */
DECLARE @ours TABLE
(
    Class tinyint NOT NULL,             /* as in sys.database_permissions */
    Id int NOT NULL,
    Securable nvarchar(600) NOT NULL,
    PRIMARY KEY (Class, Id)
);
INSERT INTO @ours (Class, Id, Securable)
SELECT 0, 0, CONCAT(N'database ', QUOTENAME(DB_NAME()))
UNION ALL
SELECT 3, @schemaId, N'schema [$(name)]'
WHERE @schemaId IS NOT NULL
UNION ALL
SELECT 1, o.object_id, CONCAT(LOWER(REPLACE(o.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')), N' ', N'[$(name)].', QUOTENAME(o.name))
FROM sys.objects AS o
WHERE o.schema_id = @schemaId AND o.parent_object_id = 0
UNION ALL
SELECT 6, t.user_type_id, CONCAT(N'type ', N'[$(name)].', QUOTENAME(t.name))
FROM sys.types AS t
WHERE t.schema_id = @schemaId
UNION ALL
SELECT 17, s.service_id, CONCAT(N'service ', QUOTENAME(s.name) COLLATE DATABASE_DEFAULT)
FROM sys.services AS s
WHERE s.name COLLATE Latin1_General_BIN2 IN (N'//redial/$(name)/initiator', N'//redial/$(name)/target')
UNION ALL
SELECT 16, sc.service_contract_id, CONCAT(N'contract ', QUOTENAME(sc.name) COLLATE DATABASE_DEFAULT)
FROM sys.service_contracts AS sc
WHERE sc.name COLLATE Latin1_General_BIN2 IN (N'//redial/$(name)/contract')
UNION ALL
SELECT 15, mt.message_type_id, CONCAT(N'message type ', QUOTENAME(mt.name) COLLATE DATABASE_DEFAULT)
FROM sys.service_message_types AS mt
WHERE mt.name COLLATE Latin1_General_BIN2 IN (N'//redial/$(name)/event', N'EndOfStream')
UNION ALL
SELECT 4, dp.principal_id, CONCAT(LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')), N' ', QUOTENAME(dp.name))
FROM sys.database_principals AS dp
WHERE dp.name IN (N'$(name)_module', N'$(name)_sender', N'$(name)_operator', N'$(name)_reader')
UNION ALL
SELECT 25, ct.certificate_id, CONCAT(N'certificate ', QUOTENAME(ct.name))
FROM sys.certificates AS ct
WHERE ct.principal_id = @moduleId
   OR LEFT(ct.name, LEN(N'redial_$(name)_')) = N'redial_$(name)_';

/* ----------------------------------------------------------------------------------------- */
/* 2  Who stands behind whom: members of roles, at any depth                                   */
/* ----------------------------------------------------------------------------------------- */
DECLARE @members TABLE (RoleId int NOT NULL, MemberId int NOT NULL, PRIMARY KEY (RoleId, MemberId));
WITH chain AS (
    SELECT drm.role_principal_id AS RoleId, drm.member_principal_id AS MemberId
    FROM sys.database_role_members AS drm
    UNION ALL
    SELECT up.role_principal_id, chain.MemberId
    FROM chain
    INNER JOIN sys.database_role_members AS up ON up.member_principal_id = chain.RoleId
)

INSERT INTO @members (RoleId, MemberId)
SELECT DISTINCT chain.RoleId, chain.MemberId FROM chain;

DECLARE @rights TABLE
(
    RightId int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    Section int NOT NULL,
    PrincipalId int NULL,
    PrincipalName nvarchar(128) NOT NULL,
    Through nvarchar(300) NOT NULL,
    Permission nvarchar(128) NOT NULL,
    State nvarchar(60) NOT NULL,
    Securable nvarchar(600) NOT NULL,
    Meaning nvarchar(300) NOT NULL
);

/* ----------------------------------------------------------------------------------------- */
/* 3  Everything: the owner of the database, db_owner, CONTROL                                 */
/* ----------------------------------------------------------------------------------------- */
INSERT INTO @rights (Section, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 0, USER_NAME(), N'this report', N'-', N'INCOMPLETE', CONCAT(N'database ', QUOTENAME(DB_NAME())),
    N'The reader lacks VIEW DEFINITION on the database: what is hidden from that reader is not listed.'
WHERE HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION') = 0;

INSERT INTO @rights (Section, PrincipalId, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 1, NULL, ISNULL(SUSER_SNAME(d.owner_sid), N'(no such login)'), N'database owner (dbo)', N'ALL', N'OWNER',
    CONCAT(N'database ', QUOTENAME(d.name)), N'may do everything, and grant it'
FROM sys.databases AS d
WHERE d.database_id = DB_ID();

INSERT INTO @rights (Section, PrincipalId, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 1, m.MemberId, USER_NAME(m.MemberId), CONCAT(N'role ', QUOTENAME(USER_NAME(m.RoleId))),
    CASE USER_NAME(m.RoleId) WHEN N'db_owner' THEN N'ALL' ELSE USER_NAME(m.RoleId) END, N'MEMBER',
    CONCAT(N'database ', QUOTENAME(DB_NAME())),
    CASE USER_NAME(m.RoleId)
        WHEN N'db_owner' THEN N'may do everything, and grant it'
        WHEN N'db_securityadmin' THEN N'may make anybody a member of the configuration''s roles'
        WHEN N'db_accessadmin' THEN N'may let logins into the database'
        WHEN N'db_ddladmin' THEN N'may change every procedure and table'
        WHEN N'db_datareader' THEN N'may read every table, landed messages too'
        WHEN N'db_datawriter' THEN N'may change every table, landed messages too'
        ELSE N'is refused what the role denies' END
FROM @members AS m
WHERE USER_NAME(m.RoleId) IN (N'db_owner', N'db_securityadmin', N'db_accessadmin', N'db_ddladmin',
                              N'db_datareader', N'db_datawriter', N'db_denydatareader', N'db_denydatawriter')
  AND m.MemberId <> 1;

/* ----------------------------------------------------------------------------------------- */
/* 4  Ownership                                                                                */
/* ----------------------------------------------------------------------------------------- */
INSERT INTO @rights (Section, PrincipalId, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 2, owned.PrincipalId, ISNULL(USER_NAME(owned.PrincipalId), N'?'), N'owner', N'ALL', N'OWNER', o.Securable,
    CASE o.Class WHEN 3 THEN N'every object in it, unless an object has an owner of its own' ELSE N'' END
FROM (SELECT 3 AS Class, s.schema_id AS Id, s.principal_id AS PrincipalId FROM sys.schemas AS s
      UNION ALL
      SELECT 1, ob.object_id, ob.principal_id FROM sys.objects AS ob WHERE ob.principal_id IS NOT NULL
      UNION ALL
      SELECT 17, sv.service_id, sv.principal_id FROM sys.services AS sv
      UNION ALL
      SELECT 16, sc.service_contract_id, sc.principal_id FROM sys.service_contracts AS sc
      UNION ALL
      SELECT 15, mt.message_type_id, mt.principal_id FROM sys.service_message_types AS mt
      UNION ALL
      SELECT 4, dp.principal_id, dp.owning_principal_id FROM sys.database_principals AS dp WHERE dp.owning_principal_id IS NOT NULL
      UNION ALL
      SELECT 25, ct.certificate_id, ct.principal_id FROM sys.certificates AS ct) AS owned
INNER JOIN @ours AS o ON o.Class = owned.Class AND o.Id = owned.Id;

/* ----------------------------------------------------------------------------------------- */
/* 5  What is granted or denied on it, to whom, and to whom through him                        */
/* ----------------------------------------------------------------------------------------- */
INSERT INTO @rights (Section, PrincipalId, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 3, who.PrincipalId, USER_NAME(who.PrincipalId),
    CASE WHEN who.PrincipalId = p.grantee_principal_id THEN N'granted directly'
         ELSE CONCAT(N'role ', QUOTENAME(USER_NAME(p.grantee_principal_id))) END,
    p.permission_name COLLATE DATABASE_DEFAULT,
    REPLACE(REPLACE(p.state_desc, N'GRANT_WITH_GRANT_OPTION', N'WITH GRANT OPTION'), N'_', N' ') COLLATE DATABASE_DEFAULT,
    CASE WHEN p.class = 1 AND p.minor_id > 0
         THEN CONCAT(o.Securable, N', column ', QUOTENAME(COL_NAME(p.major_id, p.minor_id))) ELSE o.Securable END,
    CASE
        WHEN p.state = 'D' THEN N'refused, whoever grants it'
        WHEN p.class = 4 AND p.permission_name IN (N'IMPERSONATE', N'CONTROL') AND p.major_id = @moduleId
            THEN N'may act as the module user: everything the procedures can'
        WHEN p.class = 4 AND p.permission_name IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP')
            THEN N'may make anybody a member of the role'
        WHEN p.class = 0 AND p.permission_name IN (N'CONTROL', N'ALTER ANY ROLE', N'ALTER ANY USER', N'ALTER')
            THEN N'leads to everything here'
        WHEN p.class IN (1, 3) AND p.permission_name IN (N'ALTER', N'CONTROL', N'TAKE OWNERSHIP')
            THEN N'may change it, a procedure''s text and with it what the module user does'
        WHEN p.grantee_principal_id = 0 THEN N'everybody who enters the database'
        WHEN p.class = 3 THEN N'on every object of the schema'
        WHEN p.class = 0 THEN N'on every object of the database'
        ELSE N'' END
FROM sys.database_permissions AS p
INNER JOIN @ours AS o ON o.Class = p.class AND o.Id = p.major_id
CROSS APPLY (SELECT p.grantee_principal_id AS PrincipalId
             UNION ALL
             SELECT m.MemberId FROM @members AS m WHERE m.RoleId = p.grantee_principal_id) AS who
WHERE p.permission_name NOT IN (N'CONNECT');

/* ----------------------------------------------------------------------------------------- */
/* 6  Members of the configuration's roles, and rights that come with a signature              */
/* ----------------------------------------------------------------------------------------- */
INSERT INTO @rights (Section, PrincipalId, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 4, m.MemberId, USER_NAME(m.MemberId), CONCAT(N'role ', QUOTENAME(USER_NAME(m.RoleId))), N'-', N'MEMBER',
    o.Securable, N'has every right of the role'
FROM @members AS m
INNER JOIN @ours AS o ON o.Class = 4 AND o.Id = m.RoleId;

INSERT INTO @rights (Section, PrincipalId, PrincipalName, Through, Permission, State, Securable, Meaning)
SELECT 5, dp.principal_id, dp.name, CONCAT(N'certificate ', QUOTENAME(ct.name)), N'-',
    CASE ct.pvt_key_encryption_type WHEN 'NA' THEN N'SIGNED' ELSE N'SIGNED, PRIVATE KEY PRESENT' END,
    o.Securable,
    CASE ct.pvt_key_encryption_type
        WHEN 'NA' THEN N'its rights hold while this procedure runs'
        ELSE N'whoever may use the private key can give these rights to any procedure' END
FROM sys.crypt_properties AS cp
INNER JOIN @ours AS o ON o.Class = cp.class AND o.Id = cp.major_id
INNER JOIN sys.certificates AS ct ON ct.thumbprint = cp.thumbprint
INNER JOIN sys.database_principals AS dp ON dp.sid = ct.sid;

/* ----------------------------------------------------------------------------------------- */
/* 7  Answer                                                                                   */
/* ----------------------------------------------------------------------------------------- */
SELECT
    N'$(name)' AS Configuration,
    DB_NAME() AS DatabaseName,
    r.PrincipalName,
    ISNULL(LOWER(REPLACE(dp.type_desc COLLATE DATABASE_DEFAULT, N'_', N' ')), N'login') AS PrincipalType,
    r.Through,
    r.Permission,
    r.State,
    r.Securable,
    r.Meaning
FROM @rights AS r
LEFT OUTER JOIN sys.database_principals AS dp ON dp.principal_id = r.PrincipalId
ORDER BY r.Section, r.PrincipalName, r.Securable, r.Permission, r.Through, r.RightId;
GO
