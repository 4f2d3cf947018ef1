"""The one exception whose text is meant for the person at the keyboard."""

import errno
import os
import re

# What a write fails with, whatever is written; a read fails with none of them.
DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}
# The same in the words of Java's exceptions, among much else.
JAVA_CANNOT_WRITE = re.compile(
    r"(?:^|\(|(?:Exception|Error): [^\n]*?)"
    rf"({'|'.join(map(os.strerror, sorted(DISK_FULL | {errno.EROFS})))})"
)
# A file of a Delta log that cannot be read, or is missing, in the words of Spark and Delta.
DAMAGED_LOG = re.compile(
    r"(?:FAILED_READ_FILE|DELTA_TRUNCATED_TRANSACTION_LOG)[^\n]*?"
    r"file:/*(?P<folder>/[^\n]*/(?P<schema>[^/\n]*)\.db/(?P<table>[^/\n]*)/_delta_log)"
    r"/(?P<file>\d{20}\.[\w.]*(?:json|parquet))"
)
# A commit that Delta refused because of one that was made meanwhile, in Delta's words.
CONFLICT = re.compile(r"\[(DELTA_(?:CONCURRENT_\w+|METADATA_CHANGED|PROTOCOL_CHANGED))\b")
# A place that a function of udfs/ cannot read, beneath the calls that led there.
UNREADABLE = re.compile(r"^\s*(?:\w+\.)*Unreadable: (.+)$", re.MULTILINE)
# What Spark adds to the error of a name that it does not know; it fits a DROP alone.
BESIDE_THE_POINT = ("Search path:", "If you did not qualify", "To tolerate the error on drop")


class LakehouseError(Exception):
    """Something a user can act on: the text names the thing, what was found and what to do."""


def cannot_write(path: object, error: OSError) -> LakehouseError:
    """Return the error of a path in LAKEHOUSE_DIR that cannot be written: why, and what to do."""
    if "://" in str(path):
        remedy = "Correct LAKEHOUSE_DIR, the endpoint or the credentials, and run again."
    elif error.errno in DISK_FULL:
        remedy = "Free room there and run again; that completes what was begun."
    elif error.errno in NOT_WRITABLE:
        remedy = "Make it writable, or let LAKEHOUSE_DIR name a folder that is."
    else:
        remedy = "Move away what is in its place, or let LAKEHOUSE_DIR name another folder."
    reason = os.strerror(error.errno) if error.errno else error
    return LakehouseError(f"{path} cannot be written: {reason}. {remedy}")


def short_message(error: BaseException, limit: int = 1500) -> str:
    """Return what a Spark error and its causes say, without query plans and Java stacks."""
    texts, java = [], getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        texts.append(java.getMessage() or java.toString())
        java = java.getCause()
    if failed := next(filter(None, map(JAVA_CANNOT_WRITE.search, texts)), None):
        return (
            f"{failed[1]}, where Spark writes. Free room in LAKEHOUSE_DIR, or make it writable, "
            "and run again."
        )
    if damaged := next(filter(None, map(DAMAGED_LOG.search, texts)), None):
        return _damaged_log(damaged)
    if refused := next(filter(None, map(CONFLICT.search, texts)), None):
        return (
            "Another process has changed the table while this one was at work on it "
            f"({refused[1]}). Nothing of this one's work is in the table: run again."
        )
    texts = texts or [str(error)]
    if unreadable := next(filter(None, map(UNREADABLE.search, texts)), None):
        return unreadable[1]
    lines: list[str] = []
    for text in texts:
        for line in re.split("JVM stacktrace|=== Streaming Query", text)[0].splitlines():
            if line.lstrip().startswith(("'", "+-", ":-", ": ", "at ")):
                break
            if line.startswith(BESIDE_THE_POINT):
                continue
            if line.strip() and line not in lines:
                lines.append(line)
    return "\n".join(lines)[:limit]


def _damaged_log(found: re.Match[str]) -> str:
    table = f"{found['schema']}.{found['table']}"
    damaged = f"The log of {table} is damaged: {found['folder']}/{found['file']} cannot be read."
    if "checkpoint" in found["file"]:
        return f"{damaged} Move it away: Delta reads the commits that it sums up instead."
    if found["schema"] == "bronze":
        then = (
            "run the ingest again: it lands again what that commit brought. The next run of dbt "
            "says what to do if silver had read that."
        )
    elif table == "silver.events":
        then = "run `dbt run`: it reads again what that commit had read."
    else:
        then = f"run `dbt run --full-refresh -s {found['table']}`."
    # Hadoop's checksum of the file that went would be held against the commit that comes.
    return (
        f"{damaged} Put it back from a backup. Without one, if it is the newest commit, move it "
        f"away, with .{found['file']}.crc beside it if that is there, and {then}"
    )
