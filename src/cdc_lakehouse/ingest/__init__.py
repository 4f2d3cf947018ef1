"""Landing messages in bronze, from files and from Kafka."""
