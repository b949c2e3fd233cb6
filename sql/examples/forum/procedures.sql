/* Seed 002's procedures, statement for statement as the poster shows them, without our comments; the same
   text as sql/comparators/forum_pair (tests/lab/explore/test_own.py compares them). */
SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
CREATE OR ALTER PROCEDURE [dbo].[usp_SendMessage]
    @endpointCode varchar(255) = NULL,
    @endpointGroup varchar(255) = NULL,
    @xmlPayload xml = NULL,
    @binaryPayload varbinary(max) = NULL,
    @varcharPayload varchar(max) = NULL,
    @identifier varchar(50) = @@SPID,
    @identifierType varchar(50) = '@@SPID'
AS
BEGIN
    SET NOCOUNT ON

    DECLARE @fromService sysname,
        @toService sysname,
        @onContract sysname,
        @messageType sysname,
        @conversationTimeout int

    SELECT @fromService = FromService
        , @toService = ToService
        , @onContract = OnContract
        , @messageType = MessageType
        , @conversationTimeout = ConversationTimeout
    FROM [dbo].[ServiceBrokerEndpointConfig]
    WHERE GroupCode = @endpointGroup

    IF @fromService IS NULL OR @toService IS NULL OR @onContract IS NULL OR @messageType IS NULL OR @conversationTimeout IS NULL
    BEGIN
        RAISERROR (N'Failed to get endpoint config for GroupCode ''%s''.', 16, 1, @endpointGroup) WITH LOG;
        RETURN;
    END

    DECLARE @SBDialog uniqueidentifier
    DECLARE @Message xml
    DECLARE @counter int
    DECLARE @error int
    DECLARE @handle uniqueidentifier;

    DECLARE @NotNullCount int = ((CASE WHEN @xmlPayload IS NULL THEN 0 ELSE 1 END)
        + (CASE WHEN @binaryPayload IS NULL THEN 0 ELSE 1 END)
        + (CASE WHEN @varcharPayload IS NULL THEN 0 ELSE 1 END))
    IF @NotNullCount > 1
    BEGIN
        RAISERROR (N'Failed to SEND because %i payload fields are filled in when no more than 1 is expected', 16, 1, @NotNullCount) WITH LOG;
        RETURN;
    END

    SET @counter = 1

    WHILE (1 = 1)
    BEGIN
        SET @handle = NULL

        SELECT @handle = Handle
        FROM [dbo].[ServiceBrokerConversations] WITH (UPDLOCK)
        WHERE Identifier = @identifier
            AND IdentifierType = @identifierType
            AND FromService = @fromService
            AND ToService = @toService
            AND OnContract = @onContract;

        IF @handle IS NULL
        BEGIN
            BEGIN DIALOG CONVERSATION @handle
                FROM SERVICE @fromService
                TO SERVICE @toService
                ON CONTRACT @onContract
                WITH ENCRYPTION = OFF;

            IF @conversationTimeout IS NOT NULL
            BEGIN
                BEGIN CONVERSATION TIMER (@handle) TIMEOUT = @conversationTimeout;
            END

            INSERT INTO [dbo].[ServiceBrokerConversations]
                (Identifier, IdentifierType, FromService, ToService, OnContract, Handle)
            VALUES
                (@identifier, @identifierType, @fromService, @toService, @onContract, @handle);
        END;

        IF @xmlPayload IS NOT NULL
        BEGIN
            ;SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@xmlPayload);
        END
        ELSE IF @binaryPayload IS NOT NULL
        BEGIN
            ;SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@binaryPayload);
        END
        ELSE
        BEGIN
            ;SEND ON CONVERSATION @handle MESSAGE TYPE @messageType (@varcharPayload);
        END

        SELECT @error = @@ERROR;

        IF @error = 0
        BEGIN
            BREAK;
        END

        SELECT @counter = @counter + 1;

        IF @counter > 10
        BEGIN
            RAISERROR (N'Failed to SEND on a conversation for more than 10 times. Error %i.', 16, 1, @error) WITH LOG;
            BREAK;
        END

        DELETE FROM [dbo].[ServiceBrokerConversations]
        WHERE Handle = @handle;

        SET @handle = NULL;
    END
END
GO
CREATE OR ALTER PROCEDURE [dbo].[usp_BrokerHandleInitiator]
    @handle uniqueidentifier,
    @messageTypeName sysname,
    @messageBody varbinary(max)
AS
BEGIN
    SET NOCOUNT ON

    IF @handle IS NOT NULL
    BEGIN
        IF @messageTypeName = N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer'
            OR @messageTypeName = N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'
        BEGIN
            DELETE FROM [dbo].[ServiceBrokerConversations]
            WHERE [Handle] = @handle;
        END

        IF @messageTypeName = N'http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer'
        BEGIN
            ;SEND ON CONVERSATION @handle MESSAGE TYPE [EndOfStream];
        END
        ELSE IF @messageTypeName = N'http://schemas.microsoft.com/SQL/ServiceBroker/EndDialog'
        BEGIN
            END CONVERSATION @handle;
        END
        ELSE IF @messageTypeName = N'http://schemas.microsoft.com/SQL/ServiceBroker/Error'
        BEGIN
            END CONVERSATION @handle;

            DECLARE @error int;
            DECLARE @description nvarchar(4000);
            WITH XMLNAMESPACES (N'http://schemas.microsoft.com/SQL/ServiceBroker/Error' AS ssb)
            SELECT
                @error = CAST(@messageBody AS xml).value('(//ssb:Error/ssb:Code)[1]', 'INT'),
                @description = CAST(@messageBody AS xml).value('(//ssb:Error/ssb:Description)[1]', 'NVARCHAR(4000)')

            RAISERROR (N'Received error Code:%i Description:"%s"', 16, 1, @error, @description) WITH LOG;
        END;
    END
END
GO
CREATE OR ALTER PROCEDURE [dbo].[usp_InitiatorQueueHandler]
AS
BEGIN
    SET NOCOUNT ON

    DECLARE @handle uniqueidentifier;
    DECLARE @messageTypeName sysname;
    DECLARE @messageBody varbinary(max);

    WHILE (1 = 1)
    BEGIN
        BEGIN TRAN;

        ;WAITFOR (RECEIVE TOP (1)
            @handle = conversation_handle,
            @messageTypeName = message_type_name,
            @messageBody = message_body
        FROM [dbo].[InitiatorQueue]), TIMEOUT 5000;

        IF (@@ROWCOUNT = 0)
        BEGIN
            COMMIT TRAN;
            BREAK;
        END

        EXEC [dbo].[usp_BrokerHandleInitiator] @handle, @messageTypeName, @messageBody

        COMMIT TRAN;
    END
END
GO
