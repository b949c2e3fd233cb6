/* The same pair, mended: the show's row first in both, under UPDLOCK, and the figure computed where it
   is written. */
USE Tickets;
GO
CREATE PROCEDURE dbo.usp_Sell
    @bookingId int,
    @showId int
AS
BEGIN
    SET NOCOUNT ON;
    SET XACT_ABORT ON;

    BEGIN TRANSACTION;

    UPDATE s
    SET Free = s.Free - 1
    FROM dbo.Show AS s
    WHERE s.ShowId = @showId
      AND s.Free > 0;

    IF @@ROWCOUNT = 0
        THROW 50001, N'Sold out.', 1;

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

    SELECT @showId = b.ShowId       /* never changes: no lock has to keep it */
    FROM dbo.Booking AS b
    WHERE b.BookingId = @bookingId;

    BEGIN TRANSACTION;

    SELECT s.Free
    FROM dbo.Show AS s WITH (UPDLOCK)
    WHERE s.ShowId = @showId;

    UPDATE dbo.Booking
    SET State = 'C'
    WHERE BookingId = @bookingId
      AND State = 'S';

    IF @@ROWCOUNT = 1
        UPDATE dbo.Show
        SET Free = Free + 1
        WHERE ShowId = @showId;

    COMMIT TRANSACTION;
END;
GO
