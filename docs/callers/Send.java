import com.microsoft.sqlserver.jdbc.SQLServerDataTable;
import com.microsoft.sqlserver.jdbc.SQLServerPreparedStatement;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Calling a Redial configuration from Java, with Microsoft's JDBC driver and nothing else.
 *
 * <pre>
 * Send redial = new Send("jdbc:sqlserver://...;databaseName=shop", "orders");
 * redial.send(body, "customer 7", null);
 * redial.transaction(connection -> {               // your rows and the message: both or neither
 *     insertOrder(connection);
 *     redial.call(connection, body, "customer 7", null);
 * }, false);
 * </pre>
 *
 * What it returns, throws and tries again is what redial.client does in Python (docs/start/developer.md).
 * Particular here: every null has its type; the driver's commit() is content when there is no
 * transaction, or another one, so COMMIT looks at it; a batch is a table, which has no GUID.
 *
 * <p>To try it: {@code java -cp mssql-jdbc.jar Send.java URL CONFIG KEY MODE [once] < lines}, with the
 * arguments, lines and answers of send.py.
 */
public class Send implements AutoCloseable {
    /** The server's errors after which all of it is done again, and why that helps. */
    static final Map<Integer, String> AGAIN = Map.of(
            50101, "every dialog of the pool stayed busy: nothing was sent",
            50102, "the gate is closed, an operator drains or deploys: nothing was sent",
            1205, "deadlock victim: the server rolled everything back, the other one gets through",
            1222, "a lock did not come within LOCK_TIMEOUT: it may be free now",
            3960, "a row changed under SNAPSHOT: the server rolled everything back, a new snapshot has it");
    static final long SECONDS = 30;
    static final String CANCELLED = "HY008";        // SQLState of a cancel and of a query time-out

    static final String BEGIN = """
            SET XACT_ABORT ON;              /* an error or a cancel leaves no half of the work and no lock */
            BEGIN TRANSACTION;
            SET IMPLICIT_TRANSACTIONS ON;   /* after a rollback nobody was told of, nothing commits by itself */
            SELECT CURRENT_TRANSACTION_ID();""";

    static final String COMMIT = """
            IF @@TRANCOUNT <> 1 OR CURRENT_TRANSACTION_ID() <> %d
                THROW 50250, N'The transaction that was begun is not the one to be committed: an error or a \
            cancel in the work was caught or kept quiet, or the work ended it. Nothing was committed now. \
            Next: mend the work.', 1;
            COMMIT TRANSACTION;
            SET IMPLICIT_TRANSACTIONS OFF;""";

    static final String LOOK = """
            DECLARE @left int = @@TRANCOUNT;
            IF @left > 0 ROLLBACK TRANSACTION;
            SET IMPLICIT_TRANSACTIONS OFF;
            SELECT @left;""";

    /** What one transaction does. It neither commits nor rolls back, and lets errors through. */
    interface Work {
        void run(Connection connection) throws SQLException;
    }

    /** The connection went, or never came, before COMMIT was asked for: nothing is there. */
    static class Gone extends SQLException {
        Gone(String reason, SQLException cause) {
            super(reason, cause.getSQLState(), cause.getErrorCode(), cause);
        }
    }

    /** COMMIT was asked for and its answer is lost: all of the unit of work is there, or nothing. */
    static class Unknown extends SQLException {
        Unknown(String reason, Throwable cause) {
            super(reason, cause);
        }
    }

    private final String url;
    private final String schema;                    // in brackets
    private final Driver driver;
    private Connection connection;

    /** One for each thread, as with a connection. */
    Send(String url, String schema) throws SQLException {
        this.url = url;
        this.schema = "[" + schema.replace("]", "]]") + "]";
        driver = DriverManager.getDriver(url);      // getConnection would put the URL into its error
    }

    /**
     * One EXECUTE on a connection of yours, in its transaction if it has one open. Sends or throws.
     * Call it LAST in a transaction: from here to the commit, whoever shares the dialog waits.
     */
    void call(Connection connection, byte[] body, String key, UUID messageId) throws SQLException {
        try (PreparedStatement call = prepare(connection, "usp_Send @messageBody = ?, @key = ?, @messageId = ?")) {
            call.setObject(1, body, Types.VARBINARY);       // every null with its type
            call.setObject(2, key, Types.NVARCHAR);
            call.setObject(3, messageId == null ? null : messageId.toString(), microsoft.sql.Types.GUID);
            call.execute();
        }
    }

    /** Thousands of messages in one round trip: all or none, in this order. messageIds: null for none. */
    void batch(Connection connection, List<byte[]> bodies, String key, List<UUID> messageIds)
            throws SQLException {
        SQLServerDataTable rows = new SQLServerDataTable();
        rows.addColumnMetadata("Ordinal", Types.INTEGER);
        rows.addColumnMetadata("MessageType", Types.NVARCHAR);
        rows.addColumnMetadata("MessageBody", Types.VARBINARY);
        rows.addColumnMetadata("MessageKey", Types.NVARCHAR);
        rows.addColumnMetadata("MessageId", Types.CHAR);    // the driver has no GUID in a table
        for (int i = 0; i < bodies.size(); i++)
            rows.addRow(i, null, bodies.get(i), key,
                    messageIds == null ? null : messageIds.get(i).toString());
        try (PreparedStatement call = prepare(connection, "usp_SendBatch @messages = ?")) {
            call.unwrap(SQLServerPreparedStatement.class)
                    .setStructured(1, schema + ".MessageBatch", rows);
            call.execute();
            while (call.getMoreResults() || call.getUpdateCount() != -1) { }    // errors behind its row
        }
    }

    private PreparedStatement prepare(Connection connection, String call) throws SQLException {
        return connection.prepareStatement("EXECUTE " + schema + "." + call + ";");
    }

    /** One message, which usp_Send commits by itself; with retries under the same id. */
    void send(byte[] body, String key, UUID messageId) throws SQLException {
        untilDone(connection -> call(connection, body, key, messageId), true, messageId != null);
    }

    /**
     * The work and its messages as one transaction; all of it again where that helps, so it may be called
     * several times. repeatable: what Unknown says; make the ids outside the work.
     */
    void transaction(Work work, boolean repeatable) throws SQLException {
        untilDone(work, false, repeatable);
    }

    /** Attempts with growing random pauses between them. Once unknown, it stays unknown. */
    private void untilDone(Work work, boolean alone, boolean repeatable) throws SQLException {
        long end = System.nanoTime() + SECONDS * 1_000_000_000L;
        boolean doubt = false;
        for (int attempt = 1; ; attempt++) {
            try {
                once(work, alone);
                return;
            } catch (SQLException error) {
                boolean unknown = error instanceof Unknown;
                SQLException told = doubt && !unknown
                        ? new Unknown("an earlier try may have been committed", error) : error;
                doubt = doubt || unknown;
                if (!worthAnotherTry(told, repeatable) || System.nanoTime() > end || !pause(attempt))
                    throw told;
            }
        }
    }

    static boolean worthAnotherTry(Throwable error, boolean repeatable) {
        if (error instanceof Unknown) return repeatable && worthAnotherTry(error.getCause(), true);
        return error instanceof Gone
                || error instanceof SQLException known && AGAIN.containsKey(known.getErrorCode());
    }

    /** A random part of 0.1 s, 0.2 s, ... 5 s. False: the thread was told to stop. */
    private static boolean pause(int attempt) {
        try {
            Thread.sleep(ThreadLocalRandom.current().nextLong(Math.min(5000, 100L << Math.min(attempt, 10))));
            return true;
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** One attempt. alone: one statement that commits by itself; else one transaction. */
    private void once(Work work, boolean alone) throws SQLException {
        Connection connection = open();
        boolean commitAsked = alone;
        try {
            if (alone) {
                work.run(connection);
                return;
            }
            long begun = value(connection, BEGIN);
            work.run(connection);
            commitAsked = true;
            try (Statement commit = connection.createStatement()) {
                commit.execute(COMMIT.formatted(begun));
            }
        } catch (SQLException error) {
            throw settled(error, commitAsked);
        } catch (RuntimeException | Error error) {
            look();
            throw error;
        }
    }

    /** The connection: the kept one, or a new one. Throws Gone when nobody answers. */
    private Connection open() throws SQLException {
        if (connection == null) {
            try {
                connection = driver.connect(url, new Properties());
            } catch (SQLException error) {
                String state = error.getSQLState() == null ? "" : error.getSQLState();
                throw error.getErrorCode() == 0 && state.startsWith("08")
                        ? new Gone("the server did not answer: nothing was sent", error) : error;
            }
        }
        return connection;
    }

    /** Roll back what the error left; the error, or Gone or Unknown if that is what it means. */
    private SQLException settled(SQLException error, boolean commitAsked) {
        Long left = look();
        if (left == null) {
            Gone gone = new Gone("the connection went", error);
            return commitAsked
                    ? new Unknown("the connection went, and the answer to COMMIT with it", gone) : gone;
        }
        if (commitAsked && left == 0 && CANCELLED.equals(error.getSQLState()))
            return new Unknown("a cancel met COMMIT", error);
        return error;
    }

    /** @@TRANCOUNT as it was found, rolled back to 0; null: no answer, so the server rolls back. */
    private Long look() {
        try {
            return value(connection, LOOK);
        } catch (SQLException gone) {
            return null;
        } finally {
            close();
        }
    }

    /** One value. All rows are read: closing an unread result could send a cancel after it. */
    private static long value(Connection connection, String sql) throws SQLException {
        long value = 0;
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) value = rows.getLong(1);
        }
        return value;
    }

    /** Give the connection back; the next unit of work makes a new one. */
    @Override
    public void close() {
        Connection old = connection;
        connection = null;
        try {
            if (old != null) old.close();
        } catch (SQLException gone) {
            // it was closed already
        }
    }

    /** Send the lines of standard input; say of each what became of it. */
    public static void main(String[] arguments) throws Exception {
        if (!String.join(" ", arguments).matches("(\\S.* ){3}(autocommit|transaction|batch)( once)?")) {
            System.err.println("Send.java URL CONFIG KEY autocommit|transaction|batch [once]: see its first lines");
            System.exit(1);
        }
        String url = arguments[0].equals("-") ? System.getenv("REDIAL_SERVER") : arguments[0];
        String key = arguments[2].equals("-") ? null : arguments[2];
        boolean alone = arguments[3].equals("autocommit");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<String> unit = new ArrayList<>();
        try (Send redial = new Send(url, arguments[1])) {
            for (String line = ""; line != null; ) {
                line = input.readLine();
                boolean filled = line != null && !line.isBlank();
                if (filled) unit.add(line.strip());
                if (unit.isEmpty() || filled && !alone) continue;
                String said = redial.outcome(unit, key, arguments[3], arguments.length > 4);
                String[] word = said.split(" ", 2);
                for (String one : unit)
                    System.out.println(word[0] + " " + one.split(" ", 2)[0] + (word.length > 1 ? " " + word[1] : ""));
                System.out.flush();
                unit.clear();
            }
        }
    }

    /** What became of one unit of work: the answer to each of its lines. */
    private String outcome(List<String> unit, String key, String mode, boolean once) {
        List<byte[]> bodies = new ArrayList<>();
        List<UUID> ids = new ArrayList<>();
        for (String line : unit) {
            String[] parts = (line + " ").split(" ", 2);
            bodies.add(parts[1].strip().getBytes(StandardCharsets.UTF_8));
            ids.add(once ? UUID.fromString(parts[0]) : null);
        }
        try {
            switch (mode) {
                case "autocommit" -> send(bodies.get(0), key, ids.get(0));
                case "batch" -> transaction(c -> batch(c, bodies, key, once ? ids : null), once);
                default -> transaction(c -> {
                    for (int i = 0; i < bodies.size(); i++) call(c, bodies.get(i), key, ids.get(i));
                }, once);
            }
            return "ok";
        } catch (Unknown unknown) {
            return "unknown " + told(unknown);
        } catch (SQLException error) {
            return "failed " + told(error);
        }
    }

    /** The server's number and words, in one line, and what they mean for the unit of work. */
    private static String told(SQLException error) {
        Throwable first = error;
        while (first.getCause() instanceof SQLException cause) first = cause;
        String why = first == error ? "" : error.getMessage() + ": ";
        return (((SQLException) first).getErrorCode() + " " + why + first.getMessage()).replaceAll("\\s+", " ");
    }
}
