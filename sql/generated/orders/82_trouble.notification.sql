SET ANSI_NULLS ON;
SET QUOTED_IDENTIFIER ON;
GO
/* operations.notify_queue_off is false: what an earlier choice made goes. */
DECLARE @property int;
SET XACT_ABORT ON;
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[orders].[InitiatorQueue]', N'SQ') AND n.name = N'redial_orders_trouble')
    DROP EVENT NOTIFICATION [redial_orders_trouble] ON QUEUE [orders].[InitiatorQueue];
IF EXISTS (SELECT 1 FROM sys.event_notifications AS n
           WHERE n.parent_class = 1 AND n.parent_id = OBJECT_ID(N'[orders].[TargetQueue]', N'SQ') AND n.name = N'redial_orders_trouble')
    DROP EVENT NOTIFICATION [redial_orders_trouble] ON QUEUE [orders].[TargetQueue];

IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 17   /* SERVICE */
                 AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/orders/trouble')
                 AND ep.name = N'Redial.made')
BEGIN
    BEGIN TRANSACTION;
    IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
                   WHERE ep.class = 17   /* SERVICE */
                     AND ep.major_id = (SELECT x.service_id FROM sys.services AS x WHERE x.name COLLATE Latin1_General_BIN2 = N'redial/orders/trouble')
                     AND ep.name = N'Redial.made')
    BEGIN
        EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made',
            @level0type = N'SERVICE', @level0name = N'redial/orders/trouble';
        IF ISNULL(@property, 1) <> 0
            THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    END;
    DROP SERVICE [redial/orders/trouble];
    COMMIT TRANSACTION;
END;
IF EXISTS (SELECT 1 FROM sys.extended_properties AS ep
               WHERE ep.class = 1 AND ep.minor_id = 0 AND ep.name = N'Redial.made'
                 AND ep.major_id = OBJECT_ID(N'[orders].[TroubleQueue]'))
BEGIN
    BEGIN TRANSACTION;
    EXECUTE @property = sys.sp_dropextendedproperty @name = N'Redial.made', @level0type = N'SCHEMA',
        @level0name = N'orders', @level1type = N'QUEUE', @level1name = N'TroubleQueue';
    IF ISNULL(@property, 1) <> 0
        THROW 50209, N'A mark of ownership could not be set or taken away: the message before this one says why. Next: mend that, run this again.', 1;
    DROP QUEUE [orders].[TroubleQueue];
    COMMIT TRANSACTION;
END;

GO
