SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* Level 5 is what conversations have without any priority: one of an earlier choice is removed. */
IF EXISTS (SELECT 1 FROM [audit].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/audit/initiator')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/audit/initiator')
    BEGIN
        DROP BROKER PRIORITY [redial/audit/initiator];
    END;
    DELETE FROM [audit].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/audit/initiator';
END;
GO
IF EXISTS (SELECT 1 FROM [audit].[OwnedObject] AS o WHERE o.Kind = N'BROKER PRIORITY' AND o.Name = N'redial/audit/target')
BEGIN
    IF EXISTS (SELECT 1 FROM sys.conversation_priorities AS cp WHERE cp.name = N'redial/audit/target')
    BEGIN
        DROP BROKER PRIORITY [redial/audit/target];
    END;
    DELETE FROM [audit].[OwnedObject] WHERE Kind = N'BROKER PRIORITY' AND Name = N'redial/audit/target';
END;
GO
