SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF SCHEMA_ID(N'audit') IS NULL
BEGIN
    EXECUTE sys.sp_executesql
        N'CREATE SCHEMA [audit] AUTHORIZATION [audit_module];';
END;
GO
/* A schema that was there before keeps its owner; the module user needs its objects all the same. */
GRANT CONTROL ON SCHEMA::[audit] TO [audit_module];
GO
