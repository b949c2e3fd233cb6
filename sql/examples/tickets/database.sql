/* An invented pair: a sale takes a ticket and writes a booking, a cancellation gives the ticket back.
   There is no Service Broker in it: the explorer searches any procedures. */
CREATE DATABASE Tickets;
GO
USE Tickets;
GO
CREATE TABLE dbo.Show (
    ShowId int NOT NULL PRIMARY KEY,
    Free   int NOT NULL
);
CREATE TABLE dbo.Booking (
    BookingId int     NOT NULL PRIMARY KEY,
    ShowId    int     NOT NULL,
    State     char(1) NOT NULL      /* S sold, C cancelled */
);
INSERT INTO dbo.Show (ShowId, Free) VALUES (1, 1);
INSERT INTO dbo.Booking (BookingId, ShowId, State) VALUES (10, 1, 'S');
GO
