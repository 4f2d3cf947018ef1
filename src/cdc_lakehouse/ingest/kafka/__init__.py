"""Reading a Kafka cluster."""
