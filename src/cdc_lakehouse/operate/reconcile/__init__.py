"""Full extracts of source tables: read, compared with gold, and landed."""
