import java.nio.charset.StandardCharsets;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Calling a Redial configuration from Java, with Microsoft's JDBC driver and nothing else.
 *
 * <pre>java -cp mssql-jdbc.jar Send.java "jdbc:sqlserver://...;databaseName=shop" orders "customer 7"</pre>
 *
 * <p>50100 an argument is wrong: a bug, never retried. 50101 every dialog of the pool is busy, 50102
 * the gate is closed (maintenance), 1205 deadlock victim, 1222 lock time-out: roll back and do the
 * WHOLE transaction again, with growing random pauses. SQLState 08xxx: the connection is gone and so
 * is the answer; repeat only with a message id and delivery = exactly_once, or where twice does no
 * harm. Anything else is thrown.
 */
public class Send {
    private static final Set<Integer> AGAIN = Set.of(50101, 50102, 1205, 1222);
    private static final int ATTEMPTS = 8;

    /** What one transaction does; it may send any number of messages, last. */
    interface Work {
        void run(Connection connection) throws SQLException;
    }

    private final String url;
    private final String schema;

    Send(String url, String schema) {
        this.url = url;
        this.schema = schema;
    }

    /** One EXECUTE on a connection of yours, in its transaction. Sends or throws. */
    void call(Connection connection, byte[] body, String key, UUID messageId) throws SQLException {
        String names = "//redial/" + schema + "/";
        try (CallableStatement call = connection.prepareCall(
                "{call [" + schema + "].usp_Send(?, ?, ?, ?, ?, ?, ?)}")) {
            call.setString(1, names + "initiator");
            call.setString(2, names + "target");
            call.setString(3, names + "contract");
            call.setString(4, names + "event");
            call.setBytes(5, body);                 // null: sent without a body
            call.setString(6, key);
            call.setObject(7, messageId == null ? null : messageId.toString(),
                    microsoft.sql.Types.GUID);
            call.execute();
        }
    }

    /** One message in a transaction of its own, with retries. */
    void send(byte[] body, String key, UUID messageId) throws SQLException {
        transaction(connection -> call(connection, body, key, messageId), messageId != null);
    }

    /** The work and its messages as one transaction; all of it again where that helps. */
    void transaction(Work work, boolean repeatable) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try (Connection connection = DriverManager.getConnection(url)) {
                connection.setAutoCommit(false);
                try {
                    work.run(connection);
                    connection.commit();
                    return;
                } catch (SQLException error) {
                    rollback(connection);           // 1222 leaves the transaction open
                    throw error;
                }
            } catch (SQLException error) {
                if (attempt == ATTEMPTS || !worthAnotherTry(error, repeatable)) throw error;
                pause(attempt);
            }
        }
    }

    static boolean worthAnotherTry(SQLException error, boolean repeatable) {
        String state = error.getSQLState() == null ? "" : error.getSQLState();
        return AGAIN.contains(error.getErrorCode()) || (repeatable && state.startsWith("08"));
    }

    private static void rollback(Connection connection) {
        try {
            connection.rollback();
        } catch (SQLException gone) {
            // the connection is gone, and its transaction with it
        }
    }

    private static void pause(int attempt) {
        try {
            Thread.sleep(ThreadLocalRandom.current().nextLong(50, 100L << Math.min(attempt, 6)));
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
    }

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws SQLException {
        Send redial = new Send(arguments[0], arguments[1]);
        String key = arguments.length > 2 ? arguments[2] : null;
        redial.send(utf8("a message in a transaction of its own"), key, null);
        redial.transaction(connection -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE #work (Id int NOT NULL); INSERT INTO #work VALUES (1);");
            }
            redial.call(connection, utf8("committed or rolled back with the row above"), key, null);
        }, false);
        if (arguments[1].equals("etl")) {           // delivery = exactly_once
            UUID id = UUID.randomUUID();
            for (int i = 0; i < 2; i++) redial.send(utf8("lands once, however often it is sent"), key, id);
        }
        try {
            redial.send(utf8("refused"), key == null ? "no keys here" : null, null);
        } catch (SQLException error) {
            System.out.println("wrong argument: " + error.getErrorCode());
        }
        System.out.println("done");
    }
}
