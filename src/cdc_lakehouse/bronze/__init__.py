"""The table of delivered messages, and what was removed from it."""
