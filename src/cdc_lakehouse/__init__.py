"""Ingest, Spark session and command line. The dbt project processes the messages."""
