/* Looks right, reads well, and passes every test that runs alone. */
USE Tickets;
GO
CREATE PROCEDURE dbo.usp_Sell
    @bookingId int,
    @showId int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @free int;

    BEGIN TRANSACTION;

    SELECT @free = s.Free
    FROM dbo.Show AS s
    WHERE s.ShowId = @showId;

    IF @free < 1
        THROW 50001, N'Sold out.', 1;

    UPDATE dbo.Show
    SET Free = @free - 1
    WHERE ShowId = @showId;

    INSERT INTO dbo.Booking (BookingId, ShowId, State)
    VALUES (@bookingId, @showId, 'S');

    COMMIT TRANSACTION;
END;
GO
CREATE PROCEDURE dbo.usp_Cancel
    @bookingId int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;
    DECLARE @showId int;

    BEGIN TRANSACTION;

    UPDATE b
    SET State = 'C',
        @showId = b.ShowId
    FROM dbo.Booking AS b
    WHERE b.BookingId = @bookingId
      AND b.State = 'S';

    UPDATE dbo.Show
    SET Free = Free + 1
    WHERE ShowId = @showId;

    COMMIT TRANSACTION;
END;
GO
