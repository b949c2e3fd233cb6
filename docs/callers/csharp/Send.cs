using System.Data;
using System.Text;
using Microsoft.Data.SqlClient;

/// <summary>
/// Calling a Redial configuration from C#, with Microsoft.Data.SqlClient and nothing else.
/// <code>dotnet run "Server=...;Database=shop" orders "customer 7"</code>
/// </summary>
/// <remarks>
/// 50100 an argument is wrong: a bug, never retried. 50101 every dialog of the pool is busy, 50102 the
/// gate is closed (maintenance), 1205 deadlock victim, 1222 lock time-out: roll back and do the WHOLE
/// transaction again, with growing random pauses. Severity 20 and up, or -2 (time-out): the connection or
/// the answer is gone; repeat only with a message id and delivery = exactly_once, or where twice does
/// no harm. Anything else is thrown.
/// </remarks>
public sealed class Redial
{
    private static readonly HashSet<int> Again = new() { 50101, 50102, 1205, 1222 };
    private const int Attempts = 8;
    private const int ClientTimeout = -2;
    private readonly string connectionString;
    private readonly string schema;

    public Redial(string connectionString, string schema)
    {
        this.connectionString = connectionString;
        this.schema = schema;
    }

    /// <summary>One EXECUTE in a transaction of yours. Sends or throws; call it LAST.</summary>
    public async Task CallAsync(
        SqlConnection connection, SqlTransaction transaction, byte[]? body, string? key = null, Guid? messageId = null)
    {
        using var command = new SqlCommand($"[{schema}].usp_Send", connection, transaction)
        {
            CommandType = CommandType.StoredProcedure,
        };
        foreach (var (parameter, name) in new[]
                 {
                     ("@fromService", "initiator"), ("@toService", "target"),
                     ("@onContract", "contract"), ("@messageType", "event"),
                 })
        {
            command.Parameters.Add(parameter, SqlDbType.NVarChar, 128).Value = $"//redial/{schema}/{name}";
        }
        // -1 is varbinary(max); DBNull: sent without a body.
        command.Parameters.Add("@messageBody", SqlDbType.VarBinary, -1).Value = (object?)body ?? DBNull.Value;
        command.Parameters.Add("@key", SqlDbType.NVarChar, 4000).Value = (object?)key ?? DBNull.Value;
        command.Parameters.Add("@messageId", SqlDbType.UniqueIdentifier).Value = (object?)messageId ?? DBNull.Value;
        await command.ExecuteNonQueryAsync();
    }

    /// <summary>One message in a transaction of its own, with retries.</summary>
    public Task SendAsync(byte[]? body, string? key = null, Guid? messageId = null) =>
        TransactionAsync((c, t) => CallAsync(c, t, body, key, messageId), messageId is not null);

    /// <summary>The work and its messages as one transaction; all of it again where that helps.</summary>
    public async Task TransactionAsync(Func<SqlConnection, SqlTransaction, Task> work, bool repeatable = false)
    {
        for (var attempt = 1; ; attempt++)
        {
            try
            {
                await using var connection = new SqlConnection(connectionString);
                await connection.OpenAsync();
                // Disposed without a commit, it is rolled back; 1222 would leave it open.
                await using var transaction = (SqlTransaction)await connection.BeginTransactionAsync();
                await work(connection, transaction);
                await transaction.CommitAsync();
                return;
            }
            catch (SqlException error) when (attempt < Attempts && WorthAnotherTry(error, repeatable))
            {
                await Task.Delay(Random.Shared.Next(50, 100 << Math.Min(attempt, 6)));
            }
        }
    }

    public static bool WorthAnotherTry(SqlException error, bool repeatable) =>
        Again.Contains(error.Number)
        || (repeatable && (error.Class >= 20 || error.Number == ClientTimeout));
}

public static class Program
{
    public static async Task Main(string[] arguments)
    {
        var redial = new Redial(arguments[0], arguments[1]);
        var key = arguments.Length > 2 ? arguments[2] : null;
        await redial.SendAsync(Encoding.UTF8.GetBytes("a message in a transaction of its own"), key);
        await redial.TransactionAsync(async (connection, transaction) =>
        {
            using var work = new SqlCommand(
                "CREATE TABLE #work (Id int NOT NULL); INSERT INTO #work VALUES (1);", connection, transaction);
            await work.ExecuteNonQueryAsync();
            await redial.CallAsync(
                connection, transaction, Encoding.UTF8.GetBytes("committed or rolled back with the row above"), key);
        });
        if (arguments[1] == "etl") // delivery = exactly_once
        {
            var id = Guid.NewGuid();
            for (var i = 0; i < 2; i++)
            {
                await redial.SendAsync(Encoding.UTF8.GetBytes("lands once, however often it is sent"), key, id);
            }
        }
        try
        {
            await redial.SendAsync(Encoding.UTF8.GetBytes("refused"), key is null ? "no keys here" : null);
        }
        catch (SqlException error)
        {
            Console.WriteLine($"wrong argument: {error.Number}");
        }
        Console.WriteLine("done");
    }
}
