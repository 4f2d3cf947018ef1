"""A process that stays up: SQL for other programs, runs on a schedule, health and figures."""
