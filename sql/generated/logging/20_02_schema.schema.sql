SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
IF SCHEMA_ID(N'logging') IS NULL
BEGIN
    DECLARE @property int;
    SET XACT_ABORT ON;
    BEGIN TRANSACTION;
    EXECUTE sys.sp_executesql
        N'CREATE SCHEMA [logging] AUTHORIZATION [logging_module];';
    EXECUTE @property = sys.sp_addextendedproperty @name = N'Redial.made', @value = N'logging',
        @level0type = N'SCHEMA', @level0name = N'logging';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    COMMIT TRANSACTION;
END
/* A schema that was there before keeps its owner; the module user needs its objects all the same.
   Only then: a grant to the owner itself is refused with message 4624 (F-140). */
ELSE IF EXISTS (SELECT 1 FROM sys.schemas AS s
                WHERE s.name = N'logging'
                  AND s.principal_id <> DATABASE_PRINCIPAL_ID(N'logging_module'))
BEGIN
    GRANT CONTROL ON SCHEMA::[logging] TO [logging_module];
END;
GO
