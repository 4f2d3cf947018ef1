"""Decide in Python what a run of a model does; the macros of `engine/sql` render its SQL."""
