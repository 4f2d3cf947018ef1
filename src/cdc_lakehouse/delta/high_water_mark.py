"""Pack how far a table has read its source, a version of that, into a transaction number.

Delta commits the number of a transaction together with the rows, so the two never differ.
"""

# Delta takes only a number that is higher than the last; each rebuild of the reader, which reads
# the same versions again, counts from a new multiple of this.
EPOCH = 2**40


def mark_of(version: int, last: int | None, rebuild: bool = False) -> int:
    """Return the transaction number that names a version of the source, after the last one."""
    return (max(last or 0, 0) // EPOCH + rebuild) * EPOCH + version


def version_of(mark: int) -> int:
    """Return the version of the source that a transaction number names; -1 if there is none yet."""
    return mark % EPOCH if mark >= 0 else -1
