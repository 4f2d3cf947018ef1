"""What a run of a model decides, in Python; the macros render its SQL."""
