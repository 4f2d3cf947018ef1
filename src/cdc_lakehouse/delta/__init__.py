"""Read and write what only Delta knows: its log, its files, the columns of its tables."""
