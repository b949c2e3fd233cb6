"""What somebody does by hand to rights and roles: how it is mended, the statement, the finding."""

from __future__ import annotations

from .by_hand import ALLOWED, FILES, UNASKED, Change

CHANGES: dict[str, Change] = {
    "a right revoked": Change(
        FILES,
        "REVOKE EXECUTE ON audit.usp_Send FROM audit_sender;",
        "permission EXECUTE to audit_sender on OBJECT usp_Send is missing",
    ),
    "a right denied": Change(
        ALLOWED,
        "DENY EXECUTE ON audit.usp_SendBatch TO audit_sender;",
        "permission EXECUTE to audit_sender on OBJECT usp_SendBatch: state is deny, not grant",
    ),
    "a right to be passed on": Change(
        ALLOWED,
        "GRANT EXECUTE ON audit.usp_Send TO audit_sender WITH GRANT OPTION;",
        "permission EXECUTE to audit_sender on OBJECT usp_Send: state is grant with option",
    ),
    "SELECT to public": Change(
        ALLOWED,
        "GRANT SELECT ON audit.Landing TO public;",
        "permission SELECT to public on OBJECT Landing is there, and no file",
    ),
    "a column's SELECT": Change(
        ALLOWED,
        "GRANT SELECT ON audit.Landing (Body) TO public;",
        "permission SELECT to public on OBJECT Landing (Body) is there, and no file",
    ),
    "rights on a type": Change(
        ALLOWED,
        "GRANT EXECUTE ON TYPE::audit.MessageBatch TO public;",
        "permission EXECUTE to public on TYPE MessageBatch is there, and no file",
    ),
    "SEND to public": Change(
        ALLOWED,
        "GRANT SEND ON SERVICE::[//redial/audit/target] TO public;",
        "permission SEND to public on SERVICE //redial/audit/target is there, and no file",
    ),
    "CONTROL of the schema": Change(
        ALLOWED,
        "GRANT CONTROL ON SCHEMA::audit TO audit_sender;",
        "permission CONTROL to audit_sender on SCHEMA audit is there, and no file",
    ),
    "a right on the database": Change(
        ALLOWED,
        "GRANT VIEW DATABASE STATE TO audit_operator;",
        "permission VIEW DATABASE STATE to audit_operator on DATABASE is there, and no file",
    ),
    "a role of the module user": Change(
        ALLOWED,
        "ALTER ROLE db_datareader ADD MEMBER audit_module;",
        "role membership db_datareader of audit_module is there, and no file",
    ),
    "a role is gone": Change(
        FILES,
        "DROP ROLE audit_reader;",
        "role audit_reader is missing",
    ),
    "the owner of the schema": Change(
        ALLOWED,
        "ALTER AUTHORIZATION ON SCHEMA::audit TO dbo;",
        "schema audit: owner is dbo, not audit_module",
    ),
    "a schema of somebody's, and rights on what is in it as before": Change(
        ALLOWED,
        "CREATE USER joe WITHOUT LOGIN; ALTER AUTHORIZATION ON SCHEMA::audit TO joe; "
        "GRANT CONTROL ON SCHEMA::audit TO audit_module;",
        "schema audit: owner is joe, not audit_module",
    ),
    "a module user in db_owner": Change(
        FILES,
        "ALTER ROLE db_owner ADD MEMBER audit_module;",
        "'audit_module' is a member of db_owner, so whoever may ALTER one of its procedures",
    ),
    "EXECUTE denied to everybody": Change(
        ALLOWED,
        "DENY EXECUTE TO public;",
        "permission EXECUTE to public on DATABASE is there, and no file",
    ),
    "everybody may be the module user": Change(
        ALLOWED,
        "GRANT IMPERSONATE ON USER::audit_module TO public;",
        "permission IMPERSONATE to public on USER audit_module is there, and no file",
    ),
    "the contract denied to everybody": Change(
        ALLOWED,
        "DENY REFERENCES ON CONTRACT::[//redial/audit/contract] TO public;",
        "permission REFERENCES to public on CONTRACT //redial/audit/contract is there, and no file",
    ),
    "a module user who may not enter": Change(
        ALLOWED,
        "DENY CONNECT TO audit_module;",
        "permission CONNECT to audit_module on DATABASE: state is deny, not grant",
    ),
    "a right of our role elsewhere": Change(
        ALLOWED,
        "EXECUTE (N'CREATE TABLE dbo.T (A int);'); GRANT SELECT ON dbo.T TO audit_sender;",
        "permission SELECT to audit_sender on OBJECT dbo.T is there, and no file",
    ),
    "everybody may run everything": Change(
        ALLOWED,
        "GRANT EXECUTE TO public;",
        "permission EXECUTE to public on DATABASE is there, and no file",
    ),
    "who may change our role": Change(
        ALLOWED,
        "CREATE USER joe WITHOUT LOGIN; GRANT ALTER ON ROLE::audit_operator TO joe;",
        "permission ALTER to joe on ROLE audit_operator is there, and no file",
    ),
    "who may change our contract": Change(
        ALLOWED,
        "CREATE USER joe WITHOUT LOGIN; GRANT CONTROL ON CONTRACT::[//redial/audit/contract] TO "
        "joe;",
        "permission CONTROL to joe on CONTRACT //redial/audit/contract is there, and no file",
    ),
    "a right of our role on somebody's certificate": Change(
        ALLOWED,
        "CREATE CERTIFICATE theirs ENCRYPTION BY PASSWORD = N'Pa55word!' WITH SUBJECT = N'x'; "
        "GRANT CONTROL ON CERTIFICATE::theirs TO audit_sender;",
        "permission CONTROL to audit_sender on CERTIFICATE theirs is there, and no file",
    ),
    "our user may not enter any more": Change(
        UNASKED,
        "REVOKE CONNECT FROM audit_module;",
        "permission CONNECT to audit_module on DATABASE is missing",
    ),
    "everybody who may enter may send": Change(
        ALLOWED,
        "ALTER ROLE audit_sender ADD MEMBER guest;",
        "role membership audit_sender of guest is there, and no file",
    ),
    "a role that is renamed": Change(
        ALLOWED,
        "ALTER ROLE audit_reader WITH NAME = audit_r2;",
        "permission SELECT to audit_r2 on OBJECT Landing is there",
    ),
    "a right that somebody has passed on": Change(
        ALLOWED,
        "CREATE USER ann WITHOUT LOGIN; CREATE USER joe WITHOUT LOGIN; "
        "GRANT SELECT ON audit.Landing TO ann WITH GRANT OPTION; "
        "GRANT SELECT ON audit.Landing TO joe AS ann;",
        "permission SELECT to joe by ann on OBJECT Landing is there, and no file",
    ),
    "a right that was passed on twice": Change(
        ALLOWED,
        "CREATE USER ann WITHOUT LOGIN; CREATE USER bob WITHOUT LOGIN; CREATE USER joe WITHOUT LOGIN; "
        "GRANT SELECT ON audit.Landing TO ann WITH GRANT OPTION; "
        "GRANT SELECT ON audit.Landing TO bob WITH GRANT OPTION AS ann; "
        "GRANT SELECT ON audit.Landing TO joe AS bob;",
        "permission SELECT to bob by ann on OBJECT Landing is there, and no file",
    ),
    "a right that somebody has from two": Change(
        ALLOWED,
        "CREATE USER ann WITHOUT LOGIN; CREATE USER joe WITHOUT LOGIN; "
        "GRANT SELECT ON audit.Landing TO ann WITH GRANT OPTION; "
        "GRANT SELECT ON audit.Landing TO joe AS ann; GRANT SELECT ON audit.Landing TO joe;",
        "permission SELECT to joe on OBJECT Landing is there, and no file",
    ),
    "a right of ours that another has given too": Change(
        ALLOWED,
        "CREATE USER ann WITHOUT LOGIN; GRANT EXECUTE ON audit.usp_Send TO ann WITH GRANT OPTION; "
        "GRANT EXECUTE ON audit.usp_Send TO audit_sender AS ann;",
        "permission EXECUTE to audit_sender by ann on OBJECT usp_Send is there, and no file",
    ),
    "a right that the database's owner has given": Change(
        ALLOWED,
        "CREATE USER joe WITHOUT LOGIN; GRANT SELECT ON audit.Landing TO joe AS dbo;",
        "permission SELECT to joe on OBJECT Landing is there, and no file",
    ),
    "a right on a column with a name that looks like another": Change(
        ALLOWED,
        "CREATE USER [joe to ann (x)] WITHOUT LOGIN; "
        "EXECUTE (N'CREATE TABLE dbo.[a (b)] ([c (d)] int);'); "
        "GRANT SELECT ON dbo.[a (b)] ([c (d)]) TO audit_sender;",
        "permission SELECT to audit_sender on OBJECT [dbo.a (b)] ([c (d)]) is there, and no file",
    ),
    "a right of somebody with a name that looks like another": Change(
        ALLOWED,
        "CREATE USER [joe to ann (x)] WITHOUT LOGIN; "
        "GRANT SELECT ON audit.Landing TO [joe to ann (x)];",
        "permission SELECT to [joe to ann (x)] on OBJECT Landing is there, and no file",
    ),
    "a right of our role on what has a point in its name": Change(
        ALLOWED,
        "EXECUTE (N'CREATE TABLE dbo.[a.b] (A int);'); GRANT SELECT ON dbo.[a.b] TO audit_sender;",
        "permission SELECT to audit_sender on OBJECT dbo.a.b is there, and no file",
    ),
}
