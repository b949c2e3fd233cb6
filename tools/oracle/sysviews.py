"""Stand-ins for the sys objects Service Broker code touches: no package has the real ones."""

from __future__ import annotations

# view: columns
SYS = """
services: name service_id principal_id service_queue_id
service_contracts: name service_contract_id principal_id
service_contract_usages: service_id service_contract_id
service_contract_message_usages: service_contract_id message_type_id is_sent_by_initiator \
 is_sent_by_target
service_message_types: name message_type_id principal_id validation validation_desc \
 xml_collection_id
message_type_xml_schema_collection_usages: message_type_id xml_collection_id
service_queues: name object_id principal_id schema_id parent_object_id type type_desc \
 create_date modify_date is_ms_shipped is_published is_schema_published max_readers \
 activation_procedure execute_as_principal_id is_activation_enabled is_receive_enabled \
 is_enqueue_enabled is_retention_enabled is_poison_message_handling_enabled
service_queue_usages: service_id service_queue_id
conversation_endpoints: conversation_handle conversation_id is_initiator service_contract_id \
 conversation_group_id service_id lifetime state state_desc far_service far_broker_instance \
 principal_id far_principal_id outbound_session_key_identifier inbound_session_key_identifier \
 security_timestamp dialog_timer send_sequence last_send_tran_id end_dialog_sequence \
 receive_sequence receive_sequence_frag system_sequence first_out_of_order_sequence \
 last_out_of_order_sequence last_out_of_order_frag is_system priority
conversation_groups: conversation_group_id service_id is_system
conversation_priorities: priority_id name service_contract_id local_service_id \
 remote_service_name priority
transmission_queue: conversation_handle to_service_name to_broker_instance from_service_name \
 service_contract_name enqueue_time message_sequence_number message_type_name \
 is_conversation_error is_end_of_dialog message_body transmission_status priority
routes: name route_id principal_id remote_service_name broker_instance lifetime address \
 mirror_address
remote_service_bindings: name remote_service_binding_id principal_id remote_service_name \
 service_contract_id remote_principal_id is_anonymous_on
service_broker_endpoints: name endpoint_id principal_id protocol protocol_desc type type_desc \
 state state_desc is_admin_endpoint is_message_forwarding_enabled message_forwarding_size \
 connection_auth connection_auth_desc certificate_id encryption_algorithm \
 encryption_algorithm_desc
event_notifications: name object_id parent_class parent_class_desc parent_id create_date \
 modify_date service_name broker_instance principal_id
databases: name database_id owner_sid create_date compatibility_level state state_desc \
 snapshot_isolation_state is_read_committed_snapshot_on is_trustworthy_on is_broker_enabled \
 service_broker_guid is_honor_broker_priority_on is_auto_close_on delayed_durability
objects: name object_id principal_id schema_id parent_object_id type type_desc create_date \
 modify_date is_ms_shipped
internal_tables: name object_id schema_id parent_object_id type type_desc internal_type \
 internal_type_desc parent_id
partitions: partition_id object_id index_id partition_number hobt_id rows
allocation_units: allocation_unit_id type type_desc container_id total_pages used_pages \
 data_pages
schemas: name schema_id principal_id
tables: name object_id schema_id parent_object_id type type_desc create_date modify_date \
 is_ms_shipped
views: name object_id schema_id parent_object_id type type_desc create_date modify_date \
 is_ms_shipped
procedures: name object_id schema_id parent_object_id type type_desc create_date modify_date \
 is_ms_shipped
columns: object_id name column_id system_type_id user_type_id max_length precision scale \
 is_nullable is_identity
indexes: object_id name index_id type type_desc is_unique is_primary_key is_unique_constraint
types: name system_type_id user_type_id schema_id is_user_defined is_table_type
xml_schema_collections: xml_collection_id schema_id principal_id name create_date modify_date
database_principals: name principal_id type type_desc default_schema_name sid
messages: message_id language_id severity is_event_logged text
dm_broker_queue_monitors: database_id queue_id state last_empty_rowset_time last_activated_time \
 tasks_waiting
dm_broker_activated_tasks: spid database_id queue_id procedure_name execute_as
dm_broker_connections: connection_id state state_desc connect_time login_time \
 authentication_method principal_name remote_user_name last_activity_time is_accept login_state \
 login_state_desc receives_posted sends_posted total_bytes_sent total_bytes_received total_sends \
 total_receives
dm_broker_forwarded_messages: conversation_id is_initiator to_service_name to_broker_instance \
 from_service_name from_broker_instance message_sequence_number message_fragment_number \
 hops_remaining time_to_live time_consumed message_id
dm_exec_sessions: session_id login_time host_name program_name login_name status is_user_process \
 database_id
dm_os_performance_counters: object_name counter_name instance_name cntr_value cntr_type
dm_tran_locks: resource_type resource_database_id resource_associated_entity_id request_mode \
 request_status request_session_id request_owner_type
dm_tran_session_transactions: session_id transaction_id is_user_transaction
dm_tran_active_transactions: transaction_id name transaction_begin_time transaction_type
database_role_members: role_principal_id member_principal_id
extended_properties: class class_desc major_id minor_id name value
sql_modules: object_id definition uses_ansi_nulls uses_quoted_identifier execute_as_principal_id
"""


FUNCTIONS = (
    "CREATE FUNCTION [sys].[dm_db_index_physical_stats] (@database SMALLINT, @object INT, @index INT, "
    "@partition INT, @mode NVARCHAR(20)) RETURNS TABLE AS RETURN (SELECT CONVERT(INT, 1) AS [index_id], "
    "CONVERT(NVARCHAR(60), N'') AS [alloc_unit_type_desc], CONVERT(BIGINT, 0) AS [page_count], "
    "CONVERT(FLOAT, 0) AS [avg_fragmentation_in_percent]);",
)
"""Stand-ins of table-valued functions."""


def sys_stub() -> str:
    """CREATE TABLE statements of the stand-ins, GO between them."""
    statements = []
    for line in SYS.replace("\\\n", "").strip().split("\n"):
        name, columns = line.split(":")
        typed = (
            f"[{c}] {'VARBINARY(MAX)' if c == 'message_body' else 'SQL_VARIANT'}"
            for c in columns.split()
        )
        statements.append(f"CREATE TABLE [sys].[{name}] ({', '.join(typed)});")
    return "\nGO\n".join([*statements, *FUNCTIONS])
