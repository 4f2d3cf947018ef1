"""What this project costs, beside what else one could do with the same topics."""
