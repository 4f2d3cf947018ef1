"""What a process needs to run: folders and locks of a lakehouse, Java, jars, the Spark session."""
