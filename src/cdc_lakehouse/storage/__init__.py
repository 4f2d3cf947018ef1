"""Files of a lakehouse, in a folder or in object storage."""
