"""Running Service Broker scripts that others have published, unmodified, on the embedded broker."""
