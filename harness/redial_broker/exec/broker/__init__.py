"""Service Broker statements, compiled to calls of ``redial_broker.ssb``."""
