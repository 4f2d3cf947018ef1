"""A process that stays: SQL for other programs, runs on a schedule, health and figures."""
