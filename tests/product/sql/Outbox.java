import com.microsoft.sqlserver.jdbc.*;
import java.sql.*;

/** Microsoft's JDBC driver sends in bulk; prints one "name=value" line per finding. */
public class Outbox {
    static final String TYPE = "//redial/audit/event";

    static void say(String name, Object value) { System.out.println(name + "=" + value); }

    static byte[] body(int number) { return new byte[] {(byte) (number >> 8), (byte) number}; }

    public static void main(String[] args) throws Exception {
        try (Connection c = DriverManager.getConnection(args[0])) {
            c.setAutoCommit(false);
            say("batch", batch(c));
            c.rollback();
            say("batch again", batch(c));
            c.commit();
            c.setAutoCommit(true);
            table(c);
            say("bulk copy", bulk(c));
        }
        try (Connection c = DriverManager.getConnection(args[0] + ";useBulkCopyForBatchInsert=true")) {
            say("batch as bulk copy", batch(c));
        } catch (SQLException error) {
            say("batch as bulk copy", "refused");
        }
    }

    /** addBatch of 300 INSERTs, as df.write.jdbc does it. */
    static int batch(Connection c) throws SQLException {
        int total = 0;
        try (PreparedStatement p = c.prepareStatement(
                "INSERT INTO audit.Outbox (Ordinal, MessageType, MessageBody) VALUES (?, ?, ?)")) {
            for (int i = 0; i < 300; i++) {
                p.setInt(1, i);
                p.setString(2, TYPE);
                p.setBytes(3, body(i));
                p.addBatch();
            }
            for (int n : p.executeBatch()) total += n;
        }
        return total;
    }

    /** A table-valued parameter, its rows upside down. */
    static void table(Connection c) throws SQLException {
        SQLServerDataTable rows = new SQLServerDataTable();
        rows.addColumnMetadata("Ordinal", Types.INTEGER);
        rows.addColumnMetadata("MessageType", Types.NVARCHAR);
        rows.addColumnMetadata("MessageBody", Types.VARBINARY);
        rows.addColumnMetadata("MessageKey", Types.NVARCHAR);
        rows.addColumnMetadata("MessageId", Types.CHAR);  // the driver has no GUID in a table
        for (int i = 599; i >= 300; i--) rows.addRow(i, TYPE, body(i), null, null);
        try (SQLServerPreparedStatement p = (SQLServerPreparedStatement) c.prepareStatement(
                "EXECUTE audit.usp_SendBatch N'//redial/audit/initiator', N'//redial/audit/target', "
                + "N'//redial/audit/contract', ?")) {
            p.setStructured(1, "audit.MessageBatch", rows);
            try (ResultSet r = p.executeQuery()) {
                r.next();
                say("table", r.getInt(1) + "/" + r.getInt(2) + "/" + r.getInt(4) + "/" + r.getInt(5));
            }
        }
    }

    /** A bulk copy of one row that fires no trigger. */
    static String bulk(Connection c) throws SQLException {
        try (Statement s = c.createStatement(); SQLServerBulkCopy bulk = new SQLServerBulkCopy(c)) {
            bulk.setDestinationTableName("audit.Outbox");
            try (ResultSet r = s.executeQuery("SELECT 600 AS Ordinal, N'" + TYPE + "' AS MessageType, "
                    + "0x0258 AS MessageBody, CONVERT(nvarchar(10), NULL) AS MessageKey, "
                    + "CONVERT(uniqueidentifier, NULL) AS MessageId")) {
                bulk.writeToServer(r);
            }
            return "done";
        } catch (SQLException error) {
            return "refused";
        }
    }
}
