"""Ingest, Spark session and command line; what is done with the messages is the dbt project."""
