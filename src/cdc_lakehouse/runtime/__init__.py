"""The process that runs: folders and locks of a lakehouse, Java, jars, the Spark session."""
