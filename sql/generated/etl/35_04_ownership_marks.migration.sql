SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Migration 4: what OwnedObject listed is marked on the objects themselves (F-190). Each object in a
   transaction of its own, and looked up before it is marked: again does nothing. */
SET XACT_ABORT ON;
IF NOT EXISTS (SELECT 1 FROM [etl].[Migration] AS m WHERE m.Number = 4)
BEGIN
    IF OBJECT_ID(N'[etl].[OwnedObject]', N'U') IS NOT NULL
    BEGIN
        DECLARE @adoptLeft int = (SELECT COUNT(*) FROM [etl].[OwnedObject] AS o WHERE o.Kind IN (N'SERVICE', N'CONTRACT', N'MESSAGE TYPE'));
        DECLARE @adoptKind nvarchar(30);
        DECLARE @adoptName sysname;
        DECLARE @adoptClass tinyint;
        DECLARE @adoptId int;
        DECLARE @adoptStatement nvarchar(400);
        DECLARE @adoptMark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(N'etl'));

        /* From before: then the principals and the schema were made the same way. */
        IF @adoptLeft > 0
        BEGIN
            IF DATABASE_PRINCIPAL_ID(N'etl_module') IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 4   /* USER */
                     AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_module')
                     AND ep.name = N'Redial.made')
                EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
            @level0type = N'USER', @level0name = N'etl_module';
            IF DATABASE_PRINCIPAL_ID(N'etl_sender') IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 4   /* USER */
                     AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_sender')
                     AND ep.name = N'Redial.made')
                EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
            @level0type = N'USER', @level0name = N'etl_sender';
            IF DATABASE_PRINCIPAL_ID(N'etl_operator') IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 4   /* USER */
                     AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_operator')
                     AND ep.name = N'Redial.made')
                EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
            @level0type = N'USER', @level0name = N'etl_operator';
            IF DATABASE_PRINCIPAL_ID(N'etl_reader') IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 4   /* USER */
                     AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_reader')
                     AND ep.name = N'Redial.made')
                EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
            @level0type = N'USER', @level0name = N'etl_reader';
            IF SCHEMA_ID(N'etl') IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 3   /* SCHEMA */
                     AND ep.major_id = SCHEMA_ID(N'etl')
                     AND ep.name = N'Redial.made')
                EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
            @level0type = N'SCHEMA', @level0name = N'etl';
            IF IS_ROLEMEMBER(N'db_owner', N'etl_module') = 1
               AND NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 4   /* USER */
                     AND ep.major_id = DATABASE_PRINCIPAL_ID(N'etl_module')
                     AND ep.name = N'Redial.db_owner')
                EXECUTE sys.sp_addextendedproperty @name = N'Redial.db_owner', @value = N'etl',
            @level0type = N'USER', @level0name = N'etl_module';
        END;

        WHILE @adoptLeft > 0
        BEGIN
            SELECT TOP (1) @adoptKind = o.Kind, @adoptName = o.Name
            FROM [etl].[OwnedObject] AS o
            WHERE o.Kind IN (N'SERVICE', N'CONTRACT', N'MESSAGE TYPE');
            SET @adoptClass = CASE @adoptKind WHEN N'SERVICE' THEN 17 WHEN N'CONTRACT' THEN 16 ELSE 15 END;
            SET @adoptId = CASE @adoptClass
                WHEN 17 THEN (SELECT x.service_id FROM sys.services AS x WHERE x.name = @adoptName)
                WHEN 16 THEN (SELECT x.service_contract_id FROM sys.service_contracts AS x WHERE x.name = @adoptName)
                ELSE (SELECT x.message_type_id FROM sys.service_message_types AS x WHERE x.name = @adoptName) END;

            BEGIN TRANSACTION;
            IF @adoptId IS NOT NULL
            BEGIN
                IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                               WHERE ep.class = @adoptClass AND ep.major_id = @adoptId AND ep.name = N'Redial.made')
                    EXECUTE sys.sp_addextendedproperty @name = N'Redial.made', @value = N'etl',
                        @level0type = @adoptKind, @level0name = @adoptName;
                IF NOT EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                               WHERE ep.class = @adoptClass AND ep.major_id = @adoptId AND ep.name = @adoptMark)
                    EXECUTE sys.sp_addextendedproperty @name = @adoptMark, @value = N'etl',
                        @level0type = @adoptKind, @level0name = @adoptName;
                IF @adoptClass <> 17
                BEGIN
                    SET @adoptStatement = CONCAT(N'ALTER AUTHORIZATION ON ', @adoptKind, N'::', QUOTENAME(@adoptName), N' TO [dbo];');
                    EXECUTE sys.sp_executesql @adoptStatement;
                END;
            END;
            DELETE FROM [etl].[OwnedObject] WHERE Kind = @adoptKind AND Name = @adoptName;
            COMMIT TRANSACTION;
            SET @adoptLeft = @adoptLeft - 1;
        END;
    END;

    INSERT INTO [etl].[Migration] (Number, Name)
    VALUES (4, N'ownership_marks');
END;
GO
