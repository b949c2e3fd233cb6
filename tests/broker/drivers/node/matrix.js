"use strict";
// tedious, one check per capability; prints one JSON line for each.

const fs = require("fs");
const net = require("net");
const { Connection, Request, TYPES, ISOLATION_LEVEL } = require("tedious");

const GIVEN = JSON.parse(process.argv[2]);
const ONLY = process.argv[3];

// -------------------------------------------------------------------- promises around callbacks
function connect(options = {}, more = {}) {
  const config = {
    server: "127.0.0.1",
    authentication: { type: "default", options: { userName: GIVEN.user, password: GIVEN.password } },
    options: Object.assign({
      port: GIVEN.port, database: "matrix", encrypt: true, trustServerCertificate: true,
      connectTimeout: 300000, requestTimeout: 1800000, useUTC: true,
    }, options),
    ...more,
  };
  return new Promise((resolve, reject) => {
    const connection = new Connection(config);
    connection.heard = [];
    connection.on("infoMessage", (message) => connection.heard.push(message));
    connection.on("error", (error) => { connection.failure = error; });
    connection.connect((error) => (error ? reject(error) : resolve(connection)));
  });
}

function close(connection) {
  return new Promise((resolve) => {
    connection.once("end", resolve);
    connection.close();
  });
}

async function using(body, options, more) {
  const connection = await connect(options, more);
  try {
    return await body(connection);
  } finally {
    if (!connection.closed) await close(connection);
  }
}

/** Runs a request: {sets: [[row]], columns, outputs, status, count}. */
function run(connection, sql, parameters = [], how = "execSql") {
  return new Promise((resolve, reject) => {
    const found = { sets: [], columns: [], outputs: {}, status: undefined };
    const request = new Request(sql, (error, count) => {
      found.count = count;
      return error ? reject(error) : resolve(found);
    });
    for (const [name, type, value, options] of parameters) {
      if (value === OUT) request.addOutputParameter(name, type, null, options);
      else request.addParameter(name, type, value, options);
    }
    request.on("columnMetadata", (columns) => {
      found.columns.push(columns.map((column) => column.colName));
      found.sets.push([]);
    });
    request.on("row", (row) => found.sets[found.sets.length - 1].push(row.map((cell) => cell.value)));
    request.on("returnValue", (name, value) => { found.outputs[name] = value; });
    request.on("doneProc", (count, more, status) => { if (status !== undefined) found.status = status; });
    connection.last = request;
    connection[how](request);
  });
}

const OUT = Symbol("output");
const batch = (connection, sql) => run(connection, sql, [], "execSqlBatch");
const hurried = (connection, sql, milliseconds) => new Promise((resolve, reject) => {
  const request = new Request(sql, (error) => (error ? reject(error) : resolve()));
  request.setTimeout(milliseconds);
  connection.execSqlBatch(request);
});
const value = async (connection, sql, parameters) => (await run(connection, sql, parameters)).sets[0][0][0];
const once = (sql, options, more) => using((connection) => value(connection, sql), options, more);
const call = (connection, method, ...rest) => new Promise((resolve, reject) => {
  connection[method]((error) => (error ? reject(error) : resolve()), ...rest);
});
const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function equal(found, expected) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${(a || "").slice(0, 300)} is not ${(b || "").slice(0, 300)}`);
}

async function fails(promise, ...words) {
  let result;
  try {
    result = await promise;
  } catch (error) {
    const text = `${error.number} ${error.code} ${error.message} ${error.cause ? error.cause.message : ""}`;
    for (const word of words) if (!text.includes(word)) throw new Error(`${word} not in ${text}`);
    return error;
  }
  throw new Error(`no error but ${result}`);
}

/** A wire to the broker that can be cut; seen.first: the first byte the client sent. */
async function proxy() {
  const ends = [];
  const seen = {};
  const listener = net.createServer((client) => {
    const server = net.connect(GIVEN.port, "127.0.0.1");
    ends.push(client, server);
    for (const end of [client, server]) end.on("error", () => {});
    client.once("data", (data) => { [seen.first] = data; });
    client.pipe(server).pipe(client);
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const cut = () => ends.forEach((end) => end.destroy());
  return { port: listener.address().port, seen, cut, stop: () => listener.close() };
}

class Refused {
  constructor(saw) { this.saw = saw; }
}

const CHECKS = {};

// -------------------------------------------------------------------- connecting
const OF_CONNECTION = "FROM sys.dm_exec_connections WHERE session_id = @@SPID";

CHECKS.tls = async () => {
  equal(await once(`SELECT encrypt_option ${OF_CONNECTION}`), "TRUE");
  return "encrypt: true";
};

CHECKS.login_tls = async () => {
  equal(await once(`SELECT encrypt_option ${OF_CONNECTION}`, { encrypt: false }), "FALSE");
  return "encrypt: false";
};

CHECKS.strict = async () => {
  const trust = { ca: fs.readFileSync(GIVEN.pem) };
  const { port, seen, stop } = await proxy();
  equal(await once(`SELECT encrypt_option ${OF_CONNECTION}`, { encrypt: "strict", trustServerCertificate: false,
    cryptoCredentialsDetails: trust, serverName: "localhost", port }), "TRUE");
  stop();
  equal(seen.first, 0x16);  // a TLS handshake before anything else
  return "encrypt: 'strict'";
};

CHECKS.certificate = async () => {
  await fails(connect({ trustServerCertificate: false }), "self-signed");
  const trust = { ca: fs.readFileSync(GIVEN.pem) };
  equal(await once("SELECT 4", { trustServerCertificate: false, cryptoCredentialsDetails: trust,
    serverName: "localhost" }), 4);
  return "by cryptoCredentialsDetails";
};

CHECKS.wrong_password = async () => {
  const authentication = { type: "default", options: { userName: GIVEN.user, password: "wrong" } };
  return (await fails(connect({}, { authentication }), "ELOGIN", "Login failed")).message;
};

CHECKS.wrong_database = async () => (await fails(connect({ database: "nowhere" }), "ELOGIN")).message;

CHECKS.integrated = async () => {
  const options = { domain: "D", userName: "u", password: "p" };
  const error = await fails(connect({}, { authentication: { type: "ntlm", options } }), "integrated");
  return new Refused(error.message);
};

CHECKS.column_encryption = async () => {
  equal(await once("SELECT 5", { columnEncryptionSetting: true }), 5);
  const sql = "CREATE COLUMN MASTER KEY k WITH (KEY_STORE_PROVIDER_NAME = N'x', KEY_PATH = N'y')";
  return new Refused((await fails(once(sql), "COLUMN")).message);
};

CHECKS.intent = () => once("SELECT DB_NAME()", { readOnlyIntent: true });

CHECKS.packets = async () => {
  const sizes = [512, 4096, 8000, 32767];
  for (const packetSize of sizes) {
    await using(async (connection) => {
      const text = "ü".repeat(20000);
      equal(await value(connection, "SELECT @t", [["t", TYPES.NVarChar, text]]), text);
      equal((await run(connection, "SELECT id FROM dbo.numbers")).sets[0].length, 500);
      equal(await value(connection, `SELECT net_packet_size ${OF_CONNECTION}`), packetSize);
    }, { packetSize });
  }
  return sizes.join(", ");
};

// -------------------------------------------------------------------- values
const MOMENT = "2024-02-29T13:14:15.123Z";
const TEXTS = [
  255, -32768, -2147483648, "4611686018427387904", true, -123.45, 7.25, -1.2345, 2.5, 1.5, -0.25,
  "2024-02-29T00:00:00.000Z", "1970-01-01T13:14:15.123Z", MOMENT, MOMENT, "2024-02-29T13:14:00.000Z",
  "2024-02-29T11:14:15.123Z", "abc  ", "ü€", "v".repeat(9000), "ab  ", "ünï\u{1F600}", "ñ".repeat(9000),
  Buffer.from("abc"), Buffer.from([1, 2]), Buffer.alloc(9000, "b"), "12345678-9ABC-DEF0-1234-56789ABCDEF0",
  "<a>ü</a>", "v", "text", "löng", Buffer.from("im")];

CHECKS.types = () => using(async (connection) => {
  const [[first, second]] = (await run(connection, "SELECT * FROM dbo.types ORDER BY id")).sets;
  TEXTS.forEach((expected, i) => equal(first[i + 1], expected));
  equal(second.slice(1), TEXTS.map(() => null));
  return `${TEXTS.length} types`;
});

CHECKS.parameters = () => using(async (connection) => {
  const types = [
    TYPES.TinyInt, TYPES.SmallInt, TYPES.Int, TYPES.BigInt, TYPES.Bit, TYPES.Decimal, TYPES.Numeric, TYPES.Money,
    TYPES.SmallMoney, TYPES.Float, TYPES.Real, TYPES.Date, TYPES.Time, TYPES.DateTime2, TYPES.DateTime,
    TYPES.SmallDateTime, TYPES.DateTimeOffset, TYPES.Char, TYPES.VarChar, TYPES.VarChar, TYPES.NChar, TYPES.NVarChar,
    TYPES.NVarChar, TYPES.Binary, TYPES.VarBinary, TYPES.VarBinary, TYPES.UniqueIdentifier];
  const options = { 5: { precision: 38, scale: 10 }, 6: { precision: 9, scale: 2 }, 12: { scale: 3 }, 13: { scale: 3 },
    16: { scale: 3 }, 19: { length: Infinity }, 22: { length: Infinity }, 25: { length: Infinity } };
  for (const [i, type] of types.entries()) {
    const sent = type === TYPES.BigInt || !(typeof TEXTS[i] === "string" && TEXTS[i].endsWith("Z"))
      ? TEXTS[i] : new Date(TEXTS[i]);
    const parameters = [["p", type, sent, options[i] || {}]];
    const right = [12, 13, 16].includes(i) ? "ABS(DATEDIFF(MILLISECOND, @p, c" + i + ")) <= 0"
      : `c${i} = @p`;
    equal(await value(connection, `SELECT COUNT(*) FROM dbo.types WHERE ${right}`, parameters), 1);
  }
  equal(await value(connection, "SELECT @p", [["p", TYPES.Int, null]]), null);
  return `${types.length} types, and NULL`;
});

CHECKS.results = () => using(async (connection) => {
  const found = await batch(connection, "SELECT 1 AS a WHERE 1 = 0; SELECT 2 AS b; SELECT 3 AS c, 4 AS d");
  equal([found.columns, found.sets], [[["a"], ["b"], ["c", "d"]], [[], [[2]], [[3, 4]]]]);
  equal((await batch(connection, "UPDATE dbo.numbers SET v = v WHERE id <= 3")).count, 3);
  return "0 rows, 1 row, 1 row; a count of 3";
});

CHECKS.messages = () => using(async (connection) => {
  connection.heard.length = 0;
  await batch(connection, "PRINT N'grüße'; RAISERROR(N'quiet', 10, 1)");
  equal(connection.heard.map((message) => message.message), ["grüße", "quiet"]);
  return "event infoMessage";
});

CHECKS.errors = () => using(async (connection) => {
  const cases = [
    ["SELECT * FROM dbo.nothing", [208, 16, 1, 1, ""]], ["SELECT 1/0", [8134, 16, 1, 1, ""]],
    ["\nEXEC dbo.fails", [50000, 16, 5, 3, "fails"]], ["THROW 51234, N'mine', 9", [51234, 16, 9, 1, ""]],
    ["SELECT * FORM x", [102, 15, 1, 1, ""]]];
  for (const [sql, expected] of cases) {
    const e = await fails(batch(connection, sql));
    equal([e.number, e.class, e.state, e.lineNumber, e.procName], expected);
  }
  await fails(batch(connection, "SELECT 1; RAISERROR(N'after rows', 16, 1)"), "after rows");
  return "number, class, state, lineNumber, procName";
});

CHECKS.procedures = () => using(async (connection) => {
  const found = await run(connection, "dbo.twice", [
    ["a", TYPES.Int, 21], ["twice", TYPES.Int, OUT], ["text", TYPES.NVarChar, OUT, { length: 50 }]], "callProcedure");
  equal([found.sets, found.outputs, found.status], [[[[21]]], { twice: 42, text: "ü21" }, 7]);
  return "callProcedure: rows, status, values";
});

CHECKS.prepared = () => using(async (connection) => {
  const rows = [];
  const request = new Request("SELECT v FROM dbo.numbers WHERE id = @id", () => {});
  request.addParameter("id", TYPES.Int);
  await new Promise((resolve, reject) => {
    request.once("prepared", resolve);
    request.once("error", reject);
    connection.prepare(request);
  });
  request.on("row", (row) => rows.push(row[0].value));
  for (const id of [1, 2, 900, 3]) {
    await new Promise((resolve) => {
      request.once("requestCompleted", resolve);
      connection.execute(request, { id });
    });
  }
  await new Promise((resolve) => {
    request.once("requestCompleted", resolve);
    connection.unprepare(request);
  });
  equal(rows, ["row", "row", "row"]);
  return "prepare, execute, unprepare";
});

CHECKS.large = () => using(async (connection) => {
  const item = `<i>${"x".repeat(993)}</i>`;
  const xml = `<r>${item.repeat(Math.floor(GIVEN.large / 2 / item.length))}</r>`;
  const binary = Buffer.alloc(GIVEN.large);
  for (let i = 0; i < binary.length; i += 1) binary[i] = i % 256;
  const cases = [["n", TYPES.NVarChar, "ß".repeat(GIVEN.large / 2)], ["b", TYPES.VarBinary, binary], ["x", TYPES.NVarChar, xml]];
  for (const [column, type, sent] of cases) {
    await batch(connection, "TRUNCATE TABLE dbo.large");
    await run(connection, `INSERT INTO dbo.large (${column}) VALUES (@p)`, [["p", type, sent, { length: Infinity }]]);
    const found = await value(connection, `SELECT ${column} FROM dbo.large`);
    if (Buffer.isBuffer(sent) ? !sent.equals(found) : sent !== found) throw new Error(`${column} differs`);
  }
  await batch(connection, "TRUNCATE TABLE dbo.large");
  return "text, binary and XML, each as it was sent";
});

// -------------------------------------------------------------------- many rows
CHECKS.bulk = () => using(async (connection) => {
  const count = await new Promise((resolve, reject) => {
    const load = connection.newBulkLoad("dbo.rows", { keepNulls: true, checkConstraints: true, fireTriggers: true,
      lockTable: true }, (error, rows) => (error ? reject(error) : resolve(rows)));
    load.addColumn("id", TYPES.Int, { nullable: false });
    load.addColumn("v", TYPES.NVarChar, { length: 50, nullable: true });
    load.addColumn("b", TYPES.VarBinary, { length: Infinity, nullable: true });
    load.addColumn("d", TYPES.Decimal, { precision: 18, scale: 4, nullable: true });
    load.addColumn("m", TYPES.DateTime2, { scale: 6, nullable: true });
    const rows = [];
    for (let id = 2000; id < 3000; id += 1) {
      rows.push({ id, v: id % 7 ? `Grüße ${id}` : null, b: Buffer.from([id % 256]), d: id / 4, m: new Date(MOMENT) });
    }
    connection.execBulkLoad(load, rows);
  });
  equal(count, 1000);
  equal(await value(connection, "SELECT COUNT(*) FROM dbo.rows WHERE id >= 2000 AND d = id / 4.0 AND (v = CONCAT(N'Grüße ', id)"
    + " OR v IS NULL AND id % 7 = 0) AND m = '2024-02-29T13:14:15.123'"), 1000);
  await batch(connection, "DELETE FROM dbo.rows WHERE id >= 2000");
  return "execBulkLoad of 1000 rows";
});

CHECKS.table_values = () => using(async (connection) => {
  const table = {
    columns: [{ name: "id", type: TYPES.Int }, { name: "v", type: TYPES.NVarChar, length: 50 }],
    rows: [[1, "a"], [2, "ü"], [3, null]],
  };
  const found = await run(connection, "dbo.take", [["p", TYPES.TVP, table]], "callProcedure");
  equal(found.sets[0], [[3, 6, "ü"]]);
  return "TYPES.TVP";
});

// -------------------------------------------------------------------- ends of requests
CHECKS.cancel = () => using(async (connection) => {
  connection.cancel();
  const again = setInterval(() => connection.cancel(), 300);  // once may be too early
  const error = await fails(batch(connection, "WAITFOR DELAY '00:10:00'"), "ECANCEL");
  clearInterval(again);
  equal(await value(connection, "SELECT 1"), 1);
  const partly = batch(connection, "SELECT a.id FROM dbo.numbers AS a CROSS JOIN dbo.numbers AS b");
  connection.last.once("row", () => connection.cancel());
  await fails(partly, "ECANCEL");
  equal(await value(connection, "SELECT 2"), 2);
  return error.code;
});

CHECKS.timeout = () => using(async (connection) => {
  const error = await fails(hurried(connection, "WAITFOR DELAY '00:10:00'", 1000), "ETIMEOUT");
  equal(await value(connection, "SELECT 1"), 1);
  return error.code;
});

CHECKS.killed = async () => using(async (killer) => {
  const victim = await connect();
  const spid = await value(victim, "SELECT @@SPID");
  const failed = fails(batch(victim, "WAITFOR DELAY '00:10:00'"));  // heard from the start
  await sleep(300);
  await batch(killer, `KILL ${spid}`);
  const error = await failed;
  const idle = await connect();
  const other = await value(idle, "SELECT @@SPID");
  const ended = new Promise((resolve) => idle.once("end", resolve));
  await batch(killer, `KILL ${other}`);
  await ended;
  await fails(batch(idle, "SELECT 1"));
  equal(await once("SELECT 1"), 1);
  return `${error.number || error.code}: ${error.message}`.slice(0, 80);
});

CHECKS.lost = async () => {
  const { port, cut, stop } = await proxy();
  const connection = await connect({ port });
  await call(connection, "beginTransaction");
  await run(connection, "INSERT INTO dbo.rows (id) VALUES (6)");
  setTimeout(cut, 300);
  const error = await fails(batch(connection, "WAITFOR DELAY '00:10:00'"));
  stop();
  equal(await once("SELECT COUNT(*) FROM dbo.rows WHERE id = 6"), 0);
  return error.code;
};

CHECKS.pool = () => using(async (connection) => {
  const first = await value(connection, "SELECT @@SPID");
  await batch(connection, "CREATE TABLE #left (i int); SET XACT_ABORT ON; USE other");
  await call(connection, "reset");
  equal(await value(connection, "SELECT @@SPID"), first);
  const state = "SELECT CONCAT(DB_NAME(), N'/', OBJECT_ID('tempdb..#left'), N'/', @@OPTIONS & 16384, N'/', @@TRANCOUNT)";
  equal(await value(connection, state), "matrix//0/0");
  return "reset, as its pools do";
});

// -------------------------------------------------------------------- transactions
const LEFT = "SELECT COUNT(*) FROM dbo.rows WHERE id < 10";

CHECKS.transactions = () => using(async (connection) => {
  await call(connection, "beginTransaction");
  await run(connection, "INSERT INTO dbo.rows (id) VALUES (1)");
  await call(connection, "rollbackTransaction");
  await call(connection, "beginTransaction");
  await run(connection, "INSERT INTO dbo.rows (id) VALUES (2)");
  await call(connection, "commitTransaction");
  equal(await value(connection, LEFT), 1);
  await run(connection, "DELETE FROM dbo.rows WHERE id < 10");
  equal(await value(connection, "SELECT @@TRANCOUNT"), 0);
  return "beginTransaction, commitTransaction, rollbackTransaction";
});

CHECKS.savepoints = () => using(async (connection) => {
  await call(connection, "beginTransaction");
  await run(connection, "INSERT INTO dbo.rows (id) VALUES (1)");
  await call(connection, "saveTransaction", "one");
  await run(connection, "INSERT INTO dbo.rows (id) VALUES (2)");
  await call(connection, "rollbackTransaction", "one");
  equal(await value(connection, LEFT), 1);
  await call(connection, "rollbackTransaction");
  equal(await value(connection, LEFT), 0);
  return "saveTransaction";
});

CHECKS.isolation = async () => {
  const query = "SELECT transaction_isolation_level FROM sys.dm_exec_sessions WHERE session_id = @@SPID";
  const levels = { READ_UNCOMMITTED: 1, READ_COMMITTED: 2, REPEATABLE_READ: 3, SERIALIZABLE: 4, SNAPSHOT: 5 };
  await using(async (connection) => {
    for (const [name, expected] of Object.entries(levels)) {
      await call(connection, "beginTransaction", "", ISOLATION_LEVEL[name]);
      equal(await value(connection, query), expected);
      await call(connection, "rollbackTransaction");
    }
    equal(await once(query, { connectionIsolationLevel: ISOLATION_LEVEL.SNAPSHOT }), 5);
    await call(connection, "beginTransaction", "", ISOLATION_LEVEL.SNAPSHOT);
    equal(await value(connection, LEFT), 0);
    await using((other) => run(other, "INSERT INTO dbo.rows (id) VALUES (5)"));
    equal(await value(connection, LEFT), 0);
    await call(connection, "commitTransaction");
    equal(await value(connection, LEFT), 1);
    await run(connection, "DELETE FROM dbo.rows WHERE id < 10");
  });
  return "5 levels by beginTransaction, SNAPSHOT included";
};

// -------------------------------------------------------------------- metadata
CHECKS.database = () => using(async (connection) => {
  let heard;
  connection.once("databaseChange", (name) => { heard = name; });
  await batch(connection, "USE other");
  equal([heard, await value(connection, "SELECT DB_NAME()")], ["other", "other"]);
  return "USE, event databaseChange";
});

CHECKS.catalog = () => using(async (connection) => {
  const parameters = [["table_name", TYPES.NVarChar, "rows"], ["table_owner", TYPES.NVarChar, "dbo"]];
  const names = async (procedure, column) =>
    (await run(connection, procedure, parameters, "callProcedure")).sets[0].map((row) => row[column]);
  equal(await names("sp_columns", 3), ["id", "v", "b", "d", "m"]);
  equal(await names("sp_pkeys", 3), ["id"]);
  return "sp_columns, sp_pkeys by callProcedure";
});

CHECKS.describe = () => using(async (connection) => {
  const found = await run(connection, "sp_describe_first_result_set",
    [["tsql", TYPES.NVarChar, "SELECT id, v FROM dbo.rows"]], "callProcedure");
  equal(found.sets[0].map((row) => row[2]), ["id", "v"]);
  const only = await batch(connection, "SET FMTONLY ON SELECT id, v FROM dbo.rows SET FMTONLY OFF");
  equal([only.columns, only.sets], [[["id", "v"]], [[]]]);
  return "sp_describe_first_result_set, SET FMTONLY";
});

// -------------------------------------------------------------------- the frame
async function main() {
  for (const [capability, check] of Object.entries(CHECKS)) {
    if (ONLY && ONLY !== capability) continue;
    const began = process.hrtime.bigint();
    let outcome = "yes";
    let saw;
    try {
      saw = await check();
      if (saw instanceof Refused) [outcome, saw] = ["refused", saw.saw];
    } catch (error) {
      outcome = "failed";
      saw = String(error.stack || error).slice(0, 1500);
    }
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    console.log(JSON.stringify({ capability, outcome, saw: String(saw), seconds }).replace('{"capability":', '{"capability": '));
  }
}

main().then(() => process.exit(0));
