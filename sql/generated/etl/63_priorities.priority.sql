SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Level 5 is what conversations have without any priority: one of an earlier choice is removed. */
IF EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/etl/initiator')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/etl/initiator')
    BEGIN
        DROP BROKER PRIORITY [redial/etl/initiator];
    END;
    DELETE FROM [etl].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/etl/initiator';
END;
GO
IF EXISTS (SELECT 1 FROM [etl].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/etl/target')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/etl/target')
    BEGIN
        DROP BROKER PRIORITY [redial/etl/target];
    END;
    DELETE FROM [etl].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/etl/target';
END;
GO
