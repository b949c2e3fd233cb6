"""Numbers of the wire: packet types, token ids, status bits, limits (MS-TDS 2.2.3, 2.2.7)."""

from __future__ import annotations

# Packet types (2.2.3.1.1)
SQL_BATCH, RPC, REPLY, ATTENTION, BULK_LOAD = 0x01, 0x03, 0x04, 0x06, 0x07
TRANSACTION_MANAGER, LOGIN7, PRELOGIN = 0x0E, 0x10, 0x12
TLS_RECORD = 0x16
"""First byte of a client that starts with TLS at once: strict encryption, TDS 8.0."""

# Packet status bits (2.2.3.1.2)
EOM, IGNORE, RESET, RESET_KEEP_TRANSACTION = 0x01, 0x02, 0x08, 0x10

# Tokens (2.2.7)
COLMETADATA, ROW, NBCROW, DONE, DONEPROC, DONEINPROC = 0x81, 0xD1, 0xD2, 0xFD, 0xFE, 0xFF
ERROR, INFO, LOGINACK, ENVCHANGE, FEATUREEXTACK = 0xAA, 0xAB, 0xAD, 0xE3, 0xAE
RETURNSTATUS, RETURNVALUE = 0x79, 0xAC

# DONE status bits (2.2.7.6)
DONE_MORE, DONE_ERROR, DONE_COUNT, DONE_ATTN = 0x01, 0x02, 0x10, 0x20
"""DONE_INXACT (0x04) is not among them: a server does not set it (F-534)."""

# Flags of a column, of a result set and of a table-valued parameter alike (2.2.7.4, 2.2.5.5.5)
COLUMN_NULLABLE, COLUMN_IDENTITY, COLUMN_COMPUTED = 0x01, 0x10, 0x20

# ENVCHANGE types (2.2.7.9)
ENV_DATABASE, ENV_LANGUAGE, ENV_PACKET_SIZE, ENV_COLLATION = 1, 2, 4, 7
ENV_BEGIN, ENV_COMMIT, ENV_ROLLBACK, ENV_RESET = 8, 9, 10, 18

# Commands named in the CurCmd of a DONE
CMD_SELECT, CMD_INSERT, CMD_UPDATE, CMD_EXECUTE = 0xC1, 0xC3, 0xC5, 0xE0
CMD_BEGIN, CMD_COMMIT, CMD_ROLLBACK, CMD_SAVE, CMD_BULK = 0xD4, 0xD5, 0xD2, 0xD3, 0xF0
CMD_NOTHING = 0xFD
"""Of a batch none of whose statements tells its end."""

FEATURE_UTF8, FEATURE_END = 0x0A, 0xFF

TDS_7_2, TDS_7_4, TDS_8_0 = 0x72090002, 0x74000004, 0x08000000
"""Versions as LOGIN7 carries them; 8.0 is numerically the smallest and means the newest."""

COLLATION = bytes.fromhex("0904d00034")
"""SQL_Latin1_General_CP1_CI_AS: LCID 0x0409, ignore case, kana and width, sort id 52."""

HOST = "127.0.0.1"
"""The loopback address: the embedded broker is a test double and never listens elsewhere."""

SERVER_NAME = "REDIAL"
PROGRAM_NAME = "Microsoft SQL Server"
PROGRAM_VERSION = (16, 0, 4100)
"""Major, minor, build: drivers choose their catalog procedures by it."""

PACKET_HEADER = 8
PACKET_DEFAULT, PACKET_MIN, PACKET_MAX = 4096, 512, 32767
MESSAGE_MAX_BYTES = 256 * 1024 * 1024
LOGIN_MAX_BYTES = 128 * 1024 - 1  # 2.2.6.4: a LOGIN7 may not be longer
MESSAGE_MAX_PACKETS = 1_000_000
CALLS_MAX = 100_000  # RPCs in one message
QUEUED_MAX = 64  # requests waiting behind a running one
FATAL_SEVERITY = 20
"""A message of this severity or more ends the connection."""

PROTOCOL_ERROR = 4002
"""Server message for a broken stream; no client request can cause it by valid means."""
