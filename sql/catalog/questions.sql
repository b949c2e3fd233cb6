/* What verify, plan and deploy ask a server about an installation: one batch, a result set for each
   question. A question's name stands in the comment before it; redial/deploy/fingerprint/found.py reads
   the columns by name. Before this stand @schema, the configuration's schema, and @names, a table of the
   names its files use for what is in no schema (principals, services, contracts, message types, priorities,
   certificates, bindings, routes), and @signer, how the names of the certificates begin that sign procedures.

   Only catalog views are read, so nothing waits for a lock of rows. Names of the broker's objects have a
   collation of their own and are compared byte for byte (F-376), users and schemas as the database does: the branches of a CASE say which they
   take, or a server has no collation for the result (451). */
DECLARE @mark sysname = CONCAT(N'Redial.user.', SCHEMA_ID(@schema));
DECLARE @ours TABLE (ObjectId int NOT NULL PRIMARY KEY);
INSERT INTO @ours (ObjectId)
SELECT o.object_id FROM sys.objects AS o WHERE o.schema_id = SCHEMA_ID(@schema) AND o.is_ms_shipped = 0;   /* in dbo the server has queues of its own (F-254) */

DECLARE @tables TABLE (ObjectId int NOT NULL PRIMARY KEY, Owner nvarchar(128) NOT NULL);
INSERT INTO @tables (ObjectId, Owner)
SELECT t.object_id, t.name COLLATE DATABASE_DEFAULT FROM sys.tables AS t WHERE t.schema_id = SCHEMA_ID(@schema)
UNION ALL
SELECT tt.type_table_object_id, tt.name COLLATE DATABASE_DEFAULT FROM sys.table_types AS tt WHERE tt.schema_id = SCHEMA_ID(@schema);

DECLARE @types TABLE (TypeId int NOT NULL PRIMARY KEY);
INSERT INTO @types (TypeId)
SELECT t.user_type_id FROM sys.types AS t WHERE t.schema_id = SCHEMA_ID(@schema);

/* database */
SELECT d.name, USER_NAME() AS who, @@VERSION AS version,
    CONVERT(nvarchar(128), SERVERPROPERTY(N'ServerName')) AS server, d.is_broker_enabled, d.delayed_durability_desc, d.is_auto_close_on,
    d.is_read_only, d.compatibility_level, d.user_access_desc,
    CONVERT(nvarchar(128), DATABASEPROPERTYEX(DB_NAME(), N'Collation')) AS collation,
    HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'VIEW DEFINITION') AS sees
FROM sys.databases AS d
WHERE d.database_id = DB_ID();

/* options */
/* What belongs to the database's owner and is as it was found: compared with the last deployment. */
SELECT SUSER_SNAME(d.owner_sid) AS [owner], CONVERT(nvarchar(36), d.service_broker_guid) AS service_broker_guid, d.is_trustworthy_on,
    d.is_db_chaining_on, d.is_honor_broker_priority_on, d.is_read_committed_snapshot_on, d.snapshot_isolation_state_desc,
    d.is_ansi_null_default_on, d.is_ansi_nulls_on, d.is_ansi_padding_on, d.is_ansi_warnings_on, d.is_arithabort_on,
    d.is_concat_null_yields_null_on, d.is_numeric_roundabort_on, d.is_quoted_identifier_on, d.is_recursive_triggers_on,
    d.is_cursor_close_on_commit_on, d.is_local_cursor_default, d.is_parameterization_forced, d.is_cdc_enabled,
    d.is_master_key_encrypted_by_server, d.is_memory_optimized_elevate_to_snapshot_on, d.containment_desc, d.compatibility_level
FROM sys.databases AS d
WHERE d.database_id = DB_ID();

/* schema */
SELECT s.name, USER_NAME(s.principal_id) AS owner
FROM sys.schemas AS s
WHERE s.name = @schema;

/* principals */
SELECT dp.name, dp.type, dp.authentication_type_desc AS authentication, dp.default_schema_name,
    USER_NAME(dp.owning_principal_id) AS owner
FROM sys.database_principals AS dp
WHERE dp.name IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)
   OR (dp.type = 'C' AND LEFT(dp.name, LEN(@signer)) = @signer);

/* members */
SELECT USER_NAME(m.member_principal_id) AS member, USER_NAME(m.role_principal_id) AS role
FROM sys.database_role_members AS m
WHERE USER_NAME(m.member_principal_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)
   OR LEFT(USER_NAME(m.member_principal_id), LEN(@signer)) = @signer;

/* members of roles */
SELECT USER_NAME(m.member_principal_id) AS member, USER_NAME(m.role_principal_id) AS role
FROM sys.database_role_members AS m
WHERE USER_NAME(m.role_principal_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)
  AND USER_NAME(m.member_principal_id) NOT IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n);

/* memberships */
SELECT USER_NAME(m.member_principal_id) AS member, dp.name AS role, dp.is_fixed_role
FROM sys.database_role_members AS m
INNER JOIN sys.database_principals AS dp ON dp.principal_id = m.role_principal_id
WHERE USER_NAME(m.member_principal_id) <> N'dbo' AND LEFT(USER_NAME(m.member_principal_id), LEN(@signer)) <> @signer;

/* other schemas */
SELECT s.name, USER_NAME(s.principal_id) AS owner
FROM sys.schemas AS s
WHERE s.name <> @schema
  AND USER_NAME(s.principal_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n);

/* objects */
SELECT o.name, o.type, USER_NAME(o.principal_id) AS owner
FROM sys.objects AS o
WHERE o.schema_id = SCHEMA_ID(@schema) AND o.type NOT IN ('D', 'C', 'PK', 'UQ', 'F');

/* tables */
SELECT t.name, t.lock_escalation_desc, t.is_memory_optimized, t.temporal_type, t.is_tracked_by_cdc, t.is_replicated,
    t.is_merge_published, t.lock_on_bulk_load, t.large_value_types_out_of_row, t.text_in_row_limit,
    t.is_remote_data_archive_enabled, t.is_filetable, t.is_external, t.is_node, t.is_edge, t.has_replication_filter,
    t.is_sync_tran_subscribed, t.durability, t.uses_ansi_nulls
FROM sys.tables AS t
WHERE t.schema_id = SCHEMA_ID(@schema);

/* types */
SELECT t.name, t.is_table_type, tt.is_memory_optimized, USER_NAME(t.principal_id) AS owner
FROM sys.types AS t
LEFT JOIN sys.table_types AS tt ON tt.user_type_id = t.user_type_id
WHERE t.schema_id = SCHEMA_ID(@schema);

/* columns */
SELECT x.Owner AS owner, c.name, c.column_id, t.name AS type_name, c.max_length, c.precision, c.scale, c.is_nullable, c.is_identity,
    c.is_rowguidcol, c.is_sparse, c.is_masked, c.is_hidden, c.is_filestream, c.is_replicated, c.is_column_set,
    c.is_ansi_padded, c.is_xml_document, c.xml_collection_id, c.rule_object_id, c.generated_always_type, c.is_merge_published,
    c.is_non_sql_subscribed, c.is_dts_replicated, CONVERT(nvarchar(40), ic.seed_value) AS seed,
    CONVERT(nvarchar(40), ic.increment_value) AS step, ic.is_not_for_replication, cc.is_persisted, cc.definition AS computed, c.collation_name, dc.name AS default_name, dc.definition AS default_value
FROM @tables AS x
INNER JOIN sys.columns AS c ON c.object_id = x.ObjectId
INNER JOIN sys.types AS t ON t.user_type_id = c.user_type_id
LEFT JOIN sys.computed_columns AS cc ON cc.object_id = c.object_id AND cc.column_id = c.column_id
LEFT JOIN sys.identity_columns AS ic ON ic.object_id = c.object_id AND ic.column_id = c.column_id
LEFT JOIN sys.default_constraints AS dc ON dc.object_id = c.default_object_id;

/* checks */
SELECT x.Owner AS owner, cc.name, cc.definition, cc.is_disabled, cc.is_not_trusted, cc.is_not_for_replication
FROM @tables AS x
INNER JOIN sys.check_constraints AS cc ON cc.parent_object_id = x.ObjectId;

/* foreign keys */
SELECT fk.name, OBJECT_SCHEMA_NAME(fk.parent_object_id) AS schema_name, OBJECT_NAME(fk.parent_object_id) AS owner,
    OBJECT_NAME(fk.referenced_object_id) AS to_table
FROM sys.foreign_keys AS fk
WHERE fk.parent_object_id IN (SELECT o.ObjectId FROM @ours AS o)
   OR fk.referenced_object_id IN (SELECT o.ObjectId FROM @ours AS o);

/* indexes */
SELECT x.Owner AS owner, i.name, i.is_primary_key, i.is_unique_constraint, i.is_unique, i.type, i.allow_row_locks,
    i.allow_page_locks, i.ignore_dup_key, i.is_padded, i.fill_factor, i.is_disabled, i.is_hypothetical, i.filter_definition,
    i.object_id, i.index_id, st.no_recompute, st.is_incremental,
    (SELECT MAX(p.data_compression_desc) FROM sys.partitions AS p
     WHERE p.object_id = i.object_id AND p.index_id = i.index_id) AS compression,
    (SELECT COUNT(*) FROM sys.partitions AS p WHERE p.object_id = i.object_id AND p.index_id = i.index_id) AS partitions
FROM @tables AS x
INNER JOIN sys.indexes AS i ON i.object_id = x.ObjectId
LEFT JOIN sys.stats AS st ON st.object_id = i.object_id AND st.stats_id = i.index_id
WHERE i.index_id > 0;

/* statistics */
SELECT x.Owner AS owner, st.name, st.user_created
FROM @tables AS x
INNER JOIN sys.stats AS st ON st.object_id = x.ObjectId
WHERE st.user_created = 1;

/* index columns */
SELECT ic.object_id, ic.index_id, c.name, ic.is_descending_key, ic.is_included_column
FROM @tables AS x
INNER JOIN sys.index_columns AS ic ON ic.object_id = x.ObjectId
INNER JOIN sys.columns AS c ON c.object_id = ic.object_id AND c.column_id = ic.column_id
ORDER BY ic.object_id, ic.index_id, ic.key_ordinal, ic.index_column_id;

/* modules */
SELECT o.name, o.type, m.definition, m.uses_ansi_nulls, m.uses_quoted_identifier,
    OBJECT_NAME(NULLIF(o.parent_object_id, 0)) AS parent, tr.is_disabled
FROM sys.objects AS o
INNER JOIN sys.sql_modules AS m ON m.object_id = o.object_id
LEFT JOIN sys.triggers AS tr ON tr.object_id = o.object_id
WHERE o.schema_id = SCHEMA_ID(@schema);

/* triggers */
SELECT OBJECT_SCHEMA_NAME(tr.object_id) AS schema_name, tr.name, OBJECT_NAME(tr.parent_id) AS owner
FROM sys.triggers AS tr
WHERE tr.parent_id IN (SELECT o.ObjectId FROM @ours AS o);

/* run as ours */
SELECT OBJECT_SCHEMA_NAME(m.object_id) AS schema_name, OBJECT_NAME(m.object_id) AS name, USER_NAME(m.execute_as_principal_id) AS who
FROM sys.sql_modules AS m
WHERE m.object_id NOT IN (SELECT o.ObjectId FROM @ours AS o)
  AND USER_NAME(m.execute_as_principal_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)
UNION ALL
SELECT SCHEMA_NAME(q.schema_id), q.name, USER_NAME(q.execute_as_principal_id)
FROM sys.service_queues AS q
WHERE q.schema_id <> SCHEMA_ID(@schema)
  AND USER_NAME(q.execute_as_principal_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n);

/* xml schemas */
/* Those that no message type validates by; the others are the user's, and the message type names them. */
SELECT x.name
FROM sys.xml_schema_collections AS x
WHERE x.schema_id = SCHEMA_ID(@schema)
  AND NOT EXISTS (SELECT 1 FROM sys.service_message_types AS mt WHERE mt.xml_collection_id = x.xml_collection_id);

/* database triggers */
SELECT tr.name, tr.is_disabled, CONVERT(nvarchar(64), HASHBYTES('SHA2_256', m.definition), 2) AS digest
FROM sys.triggers AS tr
LEFT JOIN sys.sql_modules AS m ON m.object_id = tr.object_id
WHERE tr.parent_class = 0;   /* DATABASE */

/* queues */
SELECT q.name, q.is_receive_enabled, q.is_enqueue_enabled, q.is_retention_enabled, q.is_poison_message_handling_enabled,
    q.is_activation_enabled, OBJECT_SCHEMA_NAME(OBJECT_ID(q.activation_procedure)) AS procedure_schema,
    OBJECT_NAME(OBJECT_ID(q.activation_procedure)) AS procedure_name, q.max_readers,
    USER_NAME(q.execute_as_principal_id) AS execute_as
FROM sys.service_queues AS q
WHERE q.schema_id = SCHEMA_ID(@schema) AND q.is_ms_shipped = 0;

/* services */
SELECT s.name, USER_NAME(s.principal_id) AS owner, OBJECT_SCHEMA_NAME(s.service_queue_id) AS queue_schema,
    OBJECT_NAME(s.service_queue_id) AS queue
FROM sys.services AS s
WHERE s.service_queue_id IN (SELECT o.ObjectId FROM @ours AS o)
   OR s.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* contracts of services */
SELECT s.name AS service, sc.name AS contract
FROM sys.service_contract_usages AS u
INNER JOIN sys.services AS s ON s.service_id = u.service_id
INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
WHERE s.service_queue_id IN (SELECT o.ObjectId FROM @ours AS o)
   OR s.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* contracts */
SELECT sc.name, USER_NAME(sc.principal_id) AS owner
FROM sys.service_contracts AS sc
WHERE sc.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* messages of contracts */
SELECT sc.name AS contract, mt.name AS message_type, u.is_sent_by_initiator, u.is_sent_by_target
FROM sys.service_contract_message_usages AS u
INNER JOIN sys.service_contracts AS sc ON sc.service_contract_id = u.service_contract_id
INNER JOIN sys.service_message_types AS mt ON mt.message_type_id = u.message_type_id
WHERE sc.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* message types */
SELECT mt.name, USER_NAME(mt.principal_id) AS owner, mt.validation, x.name AS xml_schema
FROM sys.service_message_types AS mt
LEFT JOIN sys.xml_schema_collections AS x ON x.xml_collection_id = mt.xml_collection_id
WHERE mt.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* broker priorities */
SELECT cp.name, sc.name AS contract, s.name AS local_service, cp.remote_service_name, cp.priority
FROM sys.conversation_priorities AS cp
LEFT JOIN sys.service_contracts AS sc ON sc.service_contract_id = cp.service_contract_id
LEFT JOIN sys.services AS s ON s.service_id = cp.local_service_id
WHERE cp.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n)
   /* Whatever matches a dialog of ours: a part that is NULL matches any (CREATE BROKER PRIORITY). */
   OR ((cp.local_service_id IS NULL OR s.service_queue_id IN (SELECT o.ObjectId FROM @ours AS o))
       AND (cp.service_contract_id IS NULL OR sc.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n))
       AND (cp.remote_service_name IS NULL OR cp.remote_service_name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n)));

/* certificates */
SELECT ct.name, USER_NAME(ct.principal_id) AS owner, ct.pvt_key_encryption_type, ct.is_active_for_begin_dialog,
    ct.expiry_date, CONVERT(nvarchar(64), HASHBYTES('SHA2_256', CERTENCODED(ct.certificate_id)), 2) AS public_key
FROM sys.certificates AS ct
WHERE ct.name IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)
   OR LEFT(ct.name, LEN(@signer)) = @signer;

/* signatures */
SELECT OBJECT_NAME(cp.major_id) AS module, cp.crypt_type_desc, ISNULL(ct.name, ak.name) AS signed_by
FROM sys.crypt_properties AS cp
LEFT JOIN sys.certificates AS ct ON ct.thumbprint = cp.thumbprint
LEFT JOIN sys.asymmetric_keys AS ak ON ak.thumbprint = cp.thumbprint
WHERE cp.class = 1 AND cp.major_id IN (SELECT o.ObjectId FROM @ours AS o);

/* remote service bindings */
SELECT b.name, USER_NAME(b.principal_id) AS owner, b.remote_service_name, USER_NAME(b.remote_principal_id) AS remote_user,
    b.is_anonymous_on
FROM sys.remote_service_bindings AS b
WHERE b.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n)
   OR b.remote_service_name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* security policies */
SELECT OBJECT_SCHEMA_NAME(sp.object_id) AS schema_name, OBJECT_NAME(sp.object_id) AS name,
    OBJECT_NAME(sp.target_object_id) AS owner
FROM sys.security_predicates AS sp
WHERE sp.target_object_id IN (SELECT o.ObjectId FROM @ours AS o);

/* routes */
SELECT r.name, r.remote_service_name, r.broker_instance, d.name AS leads_to, r.address, r.mirror_address, r.lifetime
FROM sys.routes AS r
LEFT JOIN sys.databases AS d ON CONVERT(nvarchar(36), d.service_broker_guid) = r.broker_instance
WHERE r.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n)
   OR r.remote_service_name IS NULL
   OR r.remote_service_name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n);

/* event notifications */
SELECT en.name, en.parent_class, OBJECT_NAME(NULLIF(en.parent_id, 0)) AS queue, en.service_name, e.type_desc,
    CASE WHEN en.broker_instance = CONVERT(nvarchar(36), d.service_broker_guid) OR en.broker_instance = N'current database' THEN N''
         ELSE en.broker_instance END AS broker,
    CASE WHEN HAS_PERMS_BY_NAME(QUOTENAME(DB_NAME()), N'DATABASE', N'CONTROL') = 1
          AND (SELECT COUNT(*) FROM sys.conversation_endpoints AS ce WITH (NOLOCK)
               WHERE ce.is_initiator = 1 AND ce.far_service = en.service_name AND ce.state IN ('SO', 'CO'))
            < (SELECT COUNT(*) FROM sys.event_notifications AS n WHERE n.service_name = en.service_name) THEN 0 ELSE 1 END AS lives
FROM sys.event_notifications AS en
INNER JOIN sys.databases AS d ON d.database_id = DB_ID()
LEFT JOIN sys.events AS e ON e.object_id = en.object_id
WHERE en.parent_class = 0 OR en.parent_id IN (SELECT o.ObjectId FROM @ours AS o);

/* permissions */
/* Of types and contracts that configurations share, and of roles they share: what another one has given to
   its own users, which carry its mark as the object or the schema does, is that one's. */
SELECT p.class_desc, p.permission_name, p.state, USER_NAME(p.grantee_principal_id) AS grantee, p.minor_id,
    USER_NAME(p.grantor_principal_id) AS grantor,
    /* Whose it is: REVOKE takes what the owner has granted, and with AS what another has. */
    USER_NAME(CASE p.class
        WHEN 1 THEN (SELECT ISNULL(x.principal_id, s.principal_id)
                     FROM sys.objects AS x
                     INNER JOIN sys.schemas AS s ON s.schema_id = x.schema_id
                     WHERE x.object_id = p.major_id)
        WHEN 3 THEN (SELECT s.principal_id FROM sys.schemas AS s WHERE s.schema_id = p.major_id)
        WHEN 4 THEN (SELECT x.owning_principal_id FROM sys.database_principals AS x WHERE x.principal_id = p.major_id)
        WHEN 6 THEN (SELECT ISNULL(x.principal_id, s.principal_id)
                     FROM sys.types AS x
                     INNER JOIN sys.schemas AS s ON s.schema_id = x.schema_id
                     WHERE x.user_type_id = p.major_id)
        WHEN 15 THEN (SELECT x.principal_id FROM sys.service_message_types AS x WHERE x.message_type_id = p.major_id)
        WHEN 16 THEN (SELECT x.principal_id FROM sys.service_contracts AS x WHERE x.service_contract_id = p.major_id)
        WHEN 17 THEN (SELECT x.principal_id FROM sys.services AS x WHERE x.service_id = p.major_id)
        WHEN 18 THEN (SELECT x.principal_id FROM sys.remote_service_bindings AS x WHERE x.remote_service_binding_id = p.major_id)
        WHEN 19 THEN (SELECT x.principal_id FROM sys.routes AS x WHERE x.route_id = p.major_id)
        WHEN 24 THEN (SELECT x.principal_id FROM sys.symmetric_keys AS x WHERE x.symmetric_key_id = p.major_id)
        WHEN 25 THEN (SELECT x.principal_id FROM sys.certificates AS x WHERE x.certificate_id = p.major_id)
        WHEN 26 THEN (SELECT x.principal_id FROM sys.asymmetric_keys AS x WHERE x.asymmetric_key_id = p.major_id)
    END) AS owner,
    OBJECT_SCHEMA_NAME(p.major_id) AS schema_name, OBJECT_NAME(p.major_id) AS object_name,
    COL_NAME(p.major_id, p.minor_id) AS column_name,
    CASE p.class
        WHEN 3 THEN SCHEMA_NAME(p.major_id) COLLATE DATABASE_DEFAULT
        WHEN 4 THEN USER_NAME(p.major_id) COLLATE DATABASE_DEFAULT
        WHEN 6 THEN (SELECT t.name COLLATE DATABASE_DEFAULT FROM sys.types AS t WHERE t.user_type_id = p.major_id)
        WHEN 15 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.service_message_types AS x WHERE x.message_type_id = p.major_id)
        WHEN 16 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.service_contracts AS x WHERE x.service_contract_id = p.major_id)
        WHEN 17 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.services AS x WHERE x.service_id = p.major_id)
        WHEN 18 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.remote_service_bindings AS x WHERE x.remote_service_binding_id = p.major_id)
        WHEN 19 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.routes AS x WHERE x.route_id = p.major_id)
        WHEN 24 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.symmetric_keys AS x WHERE x.symmetric_key_id = p.major_id)
        WHEN 25 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.certificates AS x WHERE x.certificate_id = p.major_id)
        WHEN 26 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.asymmetric_keys AS x WHERE x.asymmetric_key_id = p.major_id)
    END AS other_name, p.major_id
FROM sys.database_permissions AS p
WHERE (p.class = 1 AND p.major_id IN (SELECT o.ObjectId FROM @ours AS o))
   OR (p.class = 3 AND p.major_id = SCHEMA_ID(@schema))
   OR (p.class = 6 AND p.major_id IN (SELECT t.TypeId FROM @types AS t))
   OR (p.class = 0 AND NOT (p.state = 'G' AND ((p.permission_name = N'CONNECT' AND USER_NAME(p.grantee_principal_id) <> N'guest'
                                          AND USER_NAME(p.grantee_principal_id) NOT IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)) OR p.permission_name LIKE N'VIEW ANY COLUMN %')))
   OR (p.class = 4 AND USER_NAME(p.major_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n))
   OR (p.class = 15
       AND p.major_id IN (SELECT x.message_type_id
                          FROM sys.service_message_types AS x
                          WHERE x.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n))
       AND NOT EXISTS (SELECT 1
                       FROM sys.extended_properties AS om
                       INNER JOIN sys.extended_properties AS um ON um.name = om.name
                       WHERE om.class = 15 AND om.major_id = p.major_id
                         AND um.class = 4 AND um.major_id = p.grantee_principal_id
                         AND om.name LIKE N'Redial.user.%' AND om.name <> @mark))
   OR (p.class = 16
       AND p.major_id IN (SELECT x.service_contract_id
                          FROM sys.service_contracts AS x
                          WHERE x.name COLLATE Latin1_General_BIN2 IN (SELECT n.Name FROM @names AS n))
       AND NOT EXISTS (SELECT 1
                       FROM sys.extended_properties AS om
                       INNER JOIN sys.extended_properties AS um ON um.name = om.name
                       WHERE om.class = 16 AND om.major_id = p.major_id
                         AND um.class = 4 AND um.major_id = p.grantee_principal_id
                         AND om.name LIKE N'Redial.user.%' AND om.name <> @mark))
   OR (p.class = 17 AND p.major_id IN (SELECT s.service_id
                                       FROM sys.services AS s
                                       WHERE s.service_queue_id IN (SELECT o.ObjectId FROM @ours AS o)))
   OR (USER_NAME(p.grantee_principal_id) IN (SELECT n.Name COLLATE DATABASE_DEFAULT FROM @names AS n)
       AND p.class <> 0
       AND (p.class NOT IN (15, 16)     /* an earlier version of the contract is ours as well */
            OR NOT EXISTS (SELECT 1
                           FROM sys.extended_properties AS om
                           WHERE om.class = p.class AND om.major_id = p.major_id AND om.name = @mark))
       AND NOT EXISTS (SELECT 1
                       FROM sys.extended_properties AS um
                       WHERE um.class = 4 AND um.major_id = p.grantee_principal_id AND um.name <> @mark
                         AND um.name = CONCAT(N'Redial.user.',
                                              CASE p.class WHEN 1 THEN (SELECT o.schema_id FROM sys.objects AS o WHERE o.object_id = p.major_id)
                                                           WHEN 3 THEN p.major_id
                                                           WHEN 6 THEN (SELECT t.schema_id FROM sys.types AS t WHERE t.user_type_id = p.major_id)
                                              END)));

/* marks */
SELECT ep.class, o.type, CONVERT(nvarchar(128), ep.value) AS value,
    CASE WHEN ep.name = N'Redial.made' AND ep.class NOT IN (1, 6) THEN 1 ELSE 0 END AS made,
    CASE WHEN ep.name <> N'Redial.made' AND ep.name <> @mark THEN ep.name ELSE N'' END AS others,
    CASE WHEN o.schema_id <> SCHEMA_ID(@schema) THEN SCHEMA_NAME(o.schema_id) COLLATE DATABASE_DEFAULT ELSE N'' END AS elsewhere,
    CASE ep.class
        WHEN 1 THEN o.name COLLATE DATABASE_DEFAULT
        WHEN 3 THEN SCHEMA_NAME(ep.major_id) COLLATE DATABASE_DEFAULT
        WHEN 4 THEN USER_NAME(ep.major_id) COLLATE DATABASE_DEFAULT
        WHEN 6 THEN (SELECT t.name COLLATE DATABASE_DEFAULT FROM sys.types AS t WHERE t.user_type_id = ep.major_id)
        WHEN 15 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.service_message_types AS x WHERE x.message_type_id = ep.major_id)
        WHEN 16 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.service_contracts AS x WHERE x.service_contract_id = ep.major_id)
        WHEN 17 THEN (SELECT x.name COLLATE DATABASE_DEFAULT FROM sys.services AS x WHERE x.service_id = ep.major_id)
    END AS name
FROM sys.extended_properties AS ep
LEFT JOIN sys.objects AS o ON ep.class = 1 AND o.object_id = ep.major_id
WHERE ep.minor_id = 0
  AND (ep.name = @mark
       OR (ep.class = 17 AND ep.name LIKE N'Redial.user.%' AND ep.major_id IN (SELECT s.service_id
                                                                               FROM sys.services AS s
                                                                               WHERE s.service_queue_id IN (SELECT u.ObjectId FROM @ours AS u)))
       OR (ep.name = N'Redial.made' AND ep.class IN (3, 4, 15, 16, 17)
           AND (EXISTS (SELECT 1 FROM sys.extended_properties AS um
                        WHERE um.class = ep.class AND um.major_id = ep.major_id AND um.name = @mark)
                OR (ep.class = 3 AND ep.major_id = SCHEMA_ID(@schema))))
       OR (ep.name = N'Redial.made' AND ep.class = 1 AND ep.major_id IN (SELECT u.ObjectId FROM @ours AS u))
       /* Tables that somebody has put into a schema where nothing is installed, or another configuration is, which
          its queues say. Others are of what is installed there. */
       OR (ep.name = N'Redial.made' AND ep.class = 1 AND o.type = 'U' AND o.schema_id <> SCHEMA_ID(@schema)
           AND (NOT EXISTS (SELECT 1 FROM sys.extended_properties AS um
                            WHERE um.name = CONCAT(N'Redial.user.', o.schema_id))
                OR EXISTS (SELECT 1
                           FROM sys.extended_properties AS qm
                           INNER JOIN sys.objects AS q ON q.object_id = qm.major_id
                           WHERE qm.class = 1 AND qm.name = N'Redial.made' AND q.type = 'SQ' AND q.schema_id = o.schema_id
                             AND CONVERT(nvarchar(128), qm.value) <> CONVERT(nvarchar(128), ep.value))))
       OR (ep.name = N'Redial.made' AND ep.class = 6 AND ep.major_id IN (SELECT t.TypeId FROM @types AS t)));

/* sequential */
/* OPTIMIZE_FOR_SEQUENTIAL_KEY came with 2019; a row of NULLs from a server that lacks the column. */
IF EXISTS (SELECT 1 FROM sys.all_columns AS c
           WHERE c.object_id = OBJECT_ID(N'sys.indexes') AND c.name = N'optimize_for_sequential_key')
    EXECUTE sys.sp_executesql N'SELECT i.object_id, i.index_id FROM sys.indexes AS i WHERE i.optimize_for_sequential_key = 1;';
ELSE
    SELECT CONVERT(int, NULL) AS object_id, CONVERT(int, NULL) AS index_id;
