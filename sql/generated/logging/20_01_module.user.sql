SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* The one principal every procedure of this configuration runs as: a user nobody can log in with.
   It owns the schema, the services and the contract, so ownership gives it all it needs and the
   application is granted EXECUTE on usp_Send alone. */
IF DATABASE_PRINCIPAL_ID(N'logging_module') IS NULL
BEGIN
    CREATE USER [logging_module] WITHOUT LOGIN;
END;
GO
/* sys.transmission_queue shows no row to anyone outside db_owner (F-113), and a row that cannot be
   seen cannot be accounted for. Without this membership usp_ResendPending refuses to end. */
IF ISNULL(IS_ROLEMEMBER(N'db_owner', N'logging_module'), 0) = 0   /* NULL: may not be seen */
BEGIN
    ALTER ROLE [db_owner] ADD MEMBER [logging_module];
END;
GO
