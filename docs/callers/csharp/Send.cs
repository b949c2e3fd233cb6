using System.Data;
using System.Text;
using Microsoft.Data.SqlClient;

/// <summary>
/// Calling a Redial configuration from C#, with Microsoft.Data.SqlClient and nothing else. It was read
/// beside Send.java, line by line; nobody has compiled or run it here.
/// <code>
/// var redial = new Redial("Server=...;Database=shop;...", "orders");
/// await redial.SendAsync(body, "customer 7");
/// await redial.TransactionAsync(async connection =>      // your rows and the message: both or neither
/// {
///     await InsertOrderAsync(connection);
///     await redial.CallAsync(connection, body, "customer 7");
/// });
/// </code>
/// </summary>
/// <remarks>
/// What it returns, throws and tries again is what redial.client does in Python (docs/start/developer.md).
/// Particular here: every null has its type. A SqlTransaction that the server has ended lets the commands
/// after it commit by themselves (dotnet/SqlClient issue 1509), so Begin and Commit see to it that the
/// transaction that commits is the one that began. After an error the connection is asked what is left,
/// rolled back, and given to the pool only if it has answered.
///
/// To try it: dotnet run CONNECTION CONFIG KEY MODE [once] &lt; lines, with the arguments, lines and
/// answers of send.py.
/// </remarks>
public sealed class Redial
{
    /// <summary>The server's errors after which all of it is done again, and why that helps.</summary>
    public static readonly IReadOnlyDictionary<int, string> Again = new Dictionary<int, string>
    {
        [50101] = "every dialog of the pool stayed busy: nothing was sent",
        [50102] = "the gate is closed, an operator drains or deploys: nothing was sent",
        [1205] = "deadlock victim: the server rolled everything back, the other one gets through",
        [1222] = "a lock did not come within LOCK_TIMEOUT: it may be free now",
        [3960] = "a row changed under SNAPSHOT: the server rolled everything back, a new snapshot has it",
    };

    private static readonly TimeSpan Seconds = TimeSpan.FromSeconds(30);

    private const string Begin = """
        SET XACT_ABORT ON;              /* an error or a cancel leaves no half of the work and no lock */
        BEGIN TRANSACTION;
        SET IMPLICIT_TRANSACTIONS ON;   /* after a rollback nobody was told of, nothing commits by itself */
        SELECT CURRENT_TRANSACTION_ID();
        """;

    private const string Commit = """
        IF @@TRANCOUNT <> 1 OR CURRENT_TRANSACTION_ID() <> {0}
            THROW 50250, N'The transaction that was begun is not the one to be committed: an error or a cancel in the work was caught or kept quiet, or the work ended it. Nothing was committed now. Next: mend the work.', 1;
        COMMIT TRANSACTION;
        SET IMPLICIT_TRANSACTIONS OFF;
        """;

    private const string Look = """
        DECLARE @left int = @@TRANCOUNT;
        IF @left > 0 ROLLBACK TRANSACTION;
        SET IMPLICIT_TRANSACTIONS OFF;
        SELECT @left;
        """;

    private readonly string connectionString;
    private readonly string schema; // in brackets

    public Redial(string connectionString, string schema)
    {
        this.connectionString = connectionString;
        this.schema = "[" + schema.Replace("]", "]]") + "]";
    }

    /// <summary>
    /// One EXECUTE on a connection of yours, in its transaction if it has one open. Sends or throws. Call it
    /// LAST in a transaction: from here to the commit, whoever shares the dialog waits.
    /// </summary>
    public async Task CallAsync(
        SqlConnection connection, byte[]? body, string? key = null, Guid? messageId = null,
        CancellationToken cancel = default)
    {
        using var call = Prepare(connection, "usp_Send");
        // Every null with its type; -1 is max.
        call.Parameters.Add("@messageBody", SqlDbType.VarBinary, -1).Value = (object?)body ?? DBNull.Value;
        call.Parameters.Add("@key", SqlDbType.NVarChar, 4000).Value = (object?)key ?? DBNull.Value;
        call.Parameters.Add("@messageId", SqlDbType.UniqueIdentifier).Value = (object?)messageId ?? DBNull.Value;
        await call.ExecuteNonQueryAsync(cancel);
    }

    /// <summary>Thousands of messages in one round trip: all or none, in this order.</summary>
    public async Task BatchAsync(
        SqlConnection connection, IReadOnlyList<byte[]> bodies, string? key = null,
        IReadOnlyList<Guid>? messageIds = null, CancellationToken cancel = default)
    {
        var rows = new DataTable();
        rows.Columns.Add("Ordinal", typeof(int));
        rows.Columns.Add("MessageType", typeof(string));
        rows.Columns.Add("MessageBody", typeof(byte[]));
        rows.Columns.Add("MessageKey", typeof(string));
        rows.Columns.Add("MessageId", typeof(Guid));
        for (var i = 0; i < bodies.Count; i++)
        {
            rows.Rows.Add(i, DBNull.Value, bodies[i], (object?)key ?? DBNull.Value,
                messageIds is null ? DBNull.Value : (object)messageIds[i]);
        }
        using var call = Prepare(connection, "usp_SendBatch");
        var messages = call.Parameters.Add("@messages", SqlDbType.Structured);
        messages.TypeName = $"{schema}.MessageBatch";
        messages.Value = rows;
        await call.ExecuteNonQueryAsync(cancel);
    }

    private SqlCommand Prepare(SqlConnection connection, string procedure) =>
        new($"{schema}.{procedure}", connection) { CommandType = CommandType.StoredProcedure };

    /// <summary>One message, which usp_Send commits by itself; with retries under the same id.</summary>
    public Task SendAsync(
        byte[]? body, string? key = null, Guid? messageId = null, CancellationToken cancel = default) =>
        UntilDoneAsync(c => CallAsync(c, body, key, messageId, cancel), true, messageId is not null, cancel);

    /// <summary>
    /// The work and its messages as one transaction; all of it again where that helps, so it may be called
    /// several times. It neither commits nor rolls back, uses no SqlTransaction, and lets errors through.
    /// repeatable: what UnknownException says; make the ids outside the work.
    /// </summary>
    public Task TransactionAsync(
        Func<SqlConnection, Task> work, bool repeatable = false, CancellationToken cancel = default) =>
        UntilDoneAsync(work, false, repeatable, cancel);

    /// <summary>Attempts with growing random pauses between them. Once unknown, it stays unknown.</summary>
    private async Task UntilDoneAsync(
        Func<SqlConnection, Task> work, bool alone, bool repeatable, CancellationToken cancel)
    {
        var end = DateTime.UtcNow + Seconds;
        var doubt = false;
        for (var attempt = 1; ; attempt++)
        {
            try
            {
                await OnceAsync(work, alone, cancel);
                return;
            }
            catch (Exception error)
            {
                var told = doubt && error is not UnknownException
                    ? new UnknownException("an earlier try may have been committed", error) : error;
                doubt = doubt || told is UnknownException;
                if (!WorthAnotherTry(told, repeatable) || DateTime.UtcNow > end || cancel.IsCancellationRequested)
                {
                    if (ReferenceEquals(told, error)) throw;
                    throw told;
                }
            }
            // A random part of 0.1 s, 0.2 s, ... 5 s; a cancel is heard after it, so that doubt is not lost.
            await Task.Delay(Random.Shared.Next(Math.Min(5000, 100 << Math.Min(attempt, 10))));
        }
    }

    public static bool WorthAnotherTry(Exception? error, bool repeatable) => error switch
    {
        UnknownException unknown => repeatable && WorthAnotherTry(unknown.InnerException, true),
        GoneException => true,
        SqlException known => Again.ContainsKey(known.Number),
        _ => false,
    };

    /// <summary>One attempt. alone: one statement that commits by itself; else one transaction.</summary>
    private async Task OnceAsync(Func<SqlConnection, Task> work, bool alone, CancellationToken cancel)
    {
        await using var connection = await OpenAsync(cancel);
        var commitAsked = alone;
        try
        {
            if (alone)
            {
                await work(connection);
                return;
            }
            var begun = await ValueAsync(connection, Begin);
            await work(connection);
            commitAsked = true;
            using var commit = new SqlCommand(string.Format(Commit, begun), connection);
            await commit.ExecuteNonQueryAsync(); // without the token: a cancel comes before it or too late
        }
        catch (Exception error)
        {
            var told = await SettledAsync(connection, error, commitAsked);
            if (ReferenceEquals(told, error)) throw;
            throw told;
        }
    }

    /// <summary>A connection of the pool. Throws GoneException when nobody answers.</summary>
    private async Task<SqlConnection> OpenAsync(CancellationToken cancel)
    {
        var connection = new SqlConnection(connectionString);
        try
        {
            await connection.OpenAsync(cancel);
            return connection;
        }
        catch (SqlException error)
        {
            await connection.DisposeAsync();
            // 20 and more: the network or the server, not the login (18456 is of severity 14); -2: time-out.
            if (error.Class >= 20 || error.Number == -2) throw new GoneException("the server did not answer: nothing was sent", error);
            throw;
        }
    }

    /// <summary>Roll back what the error left; the error, or Gone or Unknown if that is what it means.</summary>
    private static async Task<Exception> SettledAsync(SqlConnection connection, Exception error, bool commitAsked)
    {
        long? left;
        try
        {
            left = await ValueAsync(connection, Look);
        }
        catch (Exception lost) when (lost is SqlException or InvalidOperationException)
        {
            left = null; // no answer, so the server rolls back
            SqlConnection.ClearPool(connection); // closed for good, not lent to somebody else
        }
        if (error is not (SqlException or OperationCanceledException or InvalidOperationException)) return error;
        if (left is null)
        {
            var gone = new GoneException("the connection went", error);
            return commitAsked
                ? new UnknownException("the connection went, and the answer to COMMIT with it", gone) : gone;
        }
        // -2: time-out; 0: cancelled by the client.
        var cancelled = error is OperationCanceledException or SqlException { Number: -2 or 0 };
        return commitAsked && left == 0 && cancelled ? new UnknownException("a cancel met COMMIT", error) : error;
    }

    private static async Task<long> ValueAsync(SqlConnection connection, string sql)
    {
        using var command = new SqlCommand(sql, connection);
        return Convert.ToInt64(await command.ExecuteScalarAsync());
    }
}

/// <summary>The connection went, or never came, before COMMIT was asked for: nothing is there.</summary>
public sealed class GoneException : Exception
{
    public GoneException(string message, Exception inner) : base(message, inner) { }
}

/// <summary>COMMIT was asked for and its answer is lost: all of the unit of work is there, or nothing.</summary>
public sealed class UnknownException : Exception
{
    public UnknownException(string message, Exception inner) : base(message, inner) { }
}

public static class Program
{
    /// <summary>Send the lines of standard input; say of each what became of it.</summary>
    public static async Task Main(string[] arguments)
    {
        if (arguments.Length < 4 || arguments[3] is not ("autocommit" or "transaction" or "batch"))
        {
            Console.Error.WriteLine("CONNECTION CONFIG KEY autocommit|transaction|batch [once]: see the first lines");
            Environment.Exit(1);
        }
        var server = arguments[0] == "-" ? Environment.GetEnvironmentVariable("REDIAL_SERVER")! : arguments[0];
        var redial = new Redial(server, arguments[1]);
        var key = arguments[2] == "-" ? null : arguments[2];
        var alone = arguments[3] == "autocommit";
        var unit = new List<string>();
        for (string? line = ""; line is not null;)
        {
            line = Console.ReadLine();
            var filled = !string.IsNullOrWhiteSpace(line);
            if (filled) unit.Add(line!.Trim());
            if (unit.Count == 0 || (filled && !alone)) continue;
            var said = await OutcomeAsync(redial, unit, key, arguments[3], arguments.Length > 4);
            var word = said.Split(' ', 2);
            foreach (var one in unit) Console.WriteLine($"{word[0]} {one.Split(' ', 2)[0]} {word.ElementAtOrDefault(1)}".Trim());
            unit.Clear();
        }
    }

    /// <summary>What became of one unit of work: the answer to each of its lines.</summary>
    private static async Task<string> OutcomeAsync(
        Redial redial, List<string> unit, string? key, string mode, bool once)
    {
        var bodies = unit.Select(line => Encoding.UTF8.GetBytes($"{line} ".Split(' ', 2)[1].Trim())).ToList();
        var ids = once ? unit.Select(line => Guid.Parse(line.Split(' ', 2)[0])).ToList() : null;
        try
        {
            switch (mode)
            {
                case "autocommit":
                    await redial.SendAsync(bodies[0], key, ids?[0]);
                    break;
                case "batch":
                    await redial.TransactionAsync(c => redial.BatchAsync(c, bodies, key, ids), once);
                    break;
                default:
                    await redial.TransactionAsync(async c =>
                    {
                        for (var i = 0; i < bodies.Count; i++) await redial.CallAsync(c, bodies[i], key, ids?[i]);
                    }, once);
                    break;
            }
            return "ok";
        }
        catch (UnknownException error)
        {
            return Told("unknown", error);
        }
        catch (Exception error) when (error is GoneException or SqlException)
        {
            return Told("failed", error);
        }
    }

    /// <summary>The word; the server's number and words, and what they mean for the unit of work.</summary>
    private static string Told(string word, Exception error)
    {
        var first = error;
        while (first is not SqlException && first.InnerException is not null) first = first.InnerException;
        var why = ReferenceEquals(first, error) ? "" : $"{error.Message}: ";
        var number = first is SqlException known ? known.Number : 0;
        return $"{word} {number} {string.Join(' ', (why + first.Message).Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries))}";
    }
}
