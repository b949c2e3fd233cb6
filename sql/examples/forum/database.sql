/* What the thread's procedures need around them: it shows the first table, we guess the rest from what
   the procedures read. The target lands what it gets and ends first when EndOfStream comes. */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE DATABASE Forum;
GO
ALTER DATABASE Forum SET READ_COMMITTED_SNAPSHOT ON;     /* as the poster says */
GO
USE Forum;
GO
CREATE TABLE [dbo].[ServiceBrokerConversations] (
    [Identifier]     VARCHAR (50)     NOT NULL,
    [IdentifierType] VARCHAR (50)     NOT NULL,
    [FromService]    [sysname]        NOT NULL,
    [ToService]      [sysname]        NOT NULL,
    [OnContract]     [sysname]        NOT NULL,
    [Handle]         UNIQUEIDENTIFIER NOT NULL,
    [CreateDate]     DATETIME2 (7)    NULL,
    PRIMARY KEY CLUSTERED ([Identifier] ASC, [IdentifierType] ASC, [FromService] ASC, [ToService] ASC, [OnContract] ASC),
    UNIQUE NONCLUSTERED ([Handle] ASC)
);
CREATE TABLE [dbo].[ServiceBrokerEndpointConfig] (
    [GroupCode]           varchar(255) NOT NULL PRIMARY KEY,
    [FromService]         sysname      NOT NULL,
    [ToService]           sysname      NOT NULL,
    [OnContract]          sysname      NOT NULL,
    [MessageType]         sysname      NOT NULL,
    [ConversationTimeout] int          NOT NULL
);
INSERT INTO [dbo].[ServiceBrokerEndpointConfig]
    (GroupCode, FromService, ToService, OnContract, MessageType, ConversationTimeout)
VALUES
    ('audit', N'Initiator', N'Target', N'Audit', N'Event', 3600);
CREATE TABLE [dbo].[Landed] (
    [LandedId] int IDENTITY (1, 1) NOT NULL PRIMARY KEY,
    [Handle]   uniqueidentifier    NOT NULL,
    [Sequence] bigint              NOT NULL,
    [Type]     sysname             NOT NULL,
    [Body]     varbinary(max)      NULL
);
GO
CREATE MESSAGE TYPE [Event] VALIDATION = NONE;
CREATE MESSAGE TYPE [EndOfStream] VALIDATION = EMPTY;
CREATE CONTRACT [Audit] ([Event] SENT BY INITIATOR, [EndOfStream] SENT BY INITIATOR);
CREATE QUEUE [dbo].[InitiatorQueue];
CREATE QUEUE [dbo].[TargetQueue];
CREATE SERVICE [Initiator] ON QUEUE [dbo].[InitiatorQueue] ([Audit]);
CREATE SERVICE [Target] ON QUEUE [dbo].[TargetQueue] ([Audit]);
GO
CREATE PROCEDURE [dbo].[usp_Target]
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    DECLARE @handle uniqueidentifier;
    DECLARE @sequence bigint;
    DECLARE @type sysname;
    DECLARE @body varbinary(max);

    WHILE 1 = 1
    BEGIN
        SET @handle = NULL;
        BEGIN TRANSACTION;

        RECEIVE TOP (1)
            @handle = conversation_handle,
            @sequence = message_sequence_number,
            @type = message_type_name,
            @body = message_body
        FROM [dbo].[TargetQueue];

        IF @handle IS NULL
        BEGIN
            COMMIT TRANSACTION;
            RETURN;
        END;

        INSERT INTO [dbo].[Landed] ([Handle], [Sequence], [Type], [Body])
        VALUES (@handle, @sequence, @type, @body);

        IF @type IN (N'EndOfStream', N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog',
                     N'http://schemas.microsoft.com/SQL/ServiceBroker/Error')
            END CONVERSATION @handle;

        COMMIT TRANSACTION;
    END;
END;
GO
