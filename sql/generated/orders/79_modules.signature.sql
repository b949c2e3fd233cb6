SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Nothing is signed. What an earlier deployment with security.signing = "certificate" made is dropped. */
SET XACT_ABORT ON;

DECLARE @signer sysname = NULL;

BEGIN TRANSACTION;

DECLARE @oldSigner sysname;
DECLARE @dropSigner nvarchar(max);
/* Asked anew each time, no cursor: outside a transaction each DROP commits, and CURSOR_CLOSE_ON_COMMIT
   may be on (F-372). */
WHILE 1 = 1
BEGIN
    SET @oldSigner = NULL;
    SELECT TOP (1) @oldSigner = ct.name
    FROM sys.certificates AS ct
    WHERE LEFT(ct.name, LEN(N'redial_orders_signing_')) = N'redial_orders_signing_'
      AND LEN(ct.name) = LEN(N'redial_orders_signing_') + 36   /* a GUID behind it: no other configuration's */
      AND ct.name <> ISNULL(@signer, N'')
    ORDER BY ct.name;
    IF @oldSigner IS NULL
        BREAK;

    SET @dropSigner = NULL;
    SELECT TOP (1) @dropSigner = CONCAT(N'DROP SIGNATURE FROM ', QUOTENAME(OBJECT_SCHEMA_NAME(cp.major_id)),
        N'.', QUOTENAME(OBJECT_NAME(cp.major_id)), N' BY CERTIFICATE ', QUOTENAME(@oldSigner), N';')
    FROM sys.crypt_properties AS cp
    INNER JOIN sys.certificates AS ct ON ct.thumbprint = cp.thumbprint
    WHERE ct.name = @oldSigner AND cp.class = 1;

    IF @dropSigner IS NULL
    BEGIN
        IF DATABASE_PRINCIPAL_ID(@oldSigner) IS NOT NULL
            SET @dropSigner = CONCAT(N'ALTER ROLE [db_owner] DROP MEMBER ', QUOTENAME(@oldSigner),
                N'; DROP USER ', QUOTENAME(@oldSigner), N'; ');
        SET @dropSigner = CONCAT(@dropSigner, N'DROP CERTIFICATE ', QUOTENAME(@oldSigner), N';');
    END;

    EXECUTE sys.sp_executesql @dropSigner;
END;

COMMIT TRANSACTION;
GO
