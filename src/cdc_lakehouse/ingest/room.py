"""Limit what an ingest stages: how much a file may unpack to, and what the disk has room for."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.ingest.columns import Refused

VARIABLE = "LAKEHOUSE_MAX_FILE_BYTES"
MAX_FILE_BYTES = 8 << 30  # 8 GiB
# Left free on the disk, for what Spark and the logs of tables take beside the messages.
MARGIN = 16 << 20


def max_file_bytes() -> int:
    """Return how many bytes a file may have once it is unpacked.

    Raises:
        LakehouseError: the variable has no such number.
    """
    text = os.environ.get(VARIABLE) or str(MAX_FILE_BYTES)
    if not text.isdecimal() or int(text) == 0:
        raise LakehouseError(
            f"{VARIABLE} is {text!r}. Set it to the bytes that a file may have once it is "
            f"unpacked, a number above 0; without it, {MAX_FILE_BYTES:,} are allowed."
        )
    return int(text)


@dataclass
class Room:
    """The room that the files of one ingest share.

    Attributes:
        folder: where they are staged.
        limit: bytes of a file once it is unpacked.
        is_copied_here: whether bronze lies on the same disk, which then needs as much again.
        staged: bytes of the files that are staged already.
        values: bytes of their messages, which bronze takes if a large one is among them.
    """

    folder: Path
    limit: int = MAX_FILE_BYTES
    is_copied_here: bool = True
    staged: int = 0
    values: int = 0
    has_large: bool = False

    def check(self, unpacked: int, staged: int, values: int, is_large: bool) -> None:
        """Look whether a file may go on.

        Args:
            unpacked: bytes that were read of it so far, unpacked.
            staged: bytes that it takes in the folder.
            values: bytes of its messages.
            is_large: whether a message is so large that bronze is written without compression.

        Raises:
            Refused: it has more than the limit, or the disk has no room for it.
        """
        if unpacked > self.limit:
            raise Refused(
                f"has more than {self.limit:,} bytes once it is unpacked. Deliver it in parts, or "
                f"set {VARIABLE} to more if it is what it should be."
            )
        needed = MARGIN
        if self.is_copied_here:
            is_uncompressed = self.has_large or is_large
            needed += self.values + values if is_uncompressed else self.staged + staged
        free = shutil.disk_usage(self.folder).free
        if free < needed:
            raise Refused(
                f"takes more room than there is: {unpacked:,} bytes of it are unpacked, "
                f"{free:,} bytes are free in {self.folder.parent}, and landing them takes "
                f"{needed:,}. Free room there and run again, deliver it in parts, or remove it."
            )

    def take(self, staged: int, values: int, is_large: bool) -> None:
        """Count a file that is staged."""
        self.staged += staged
        self.values += values
        self.has_large |= is_large

    def empty(self) -> None:
        """Count the files that were staged as landed."""
        self.staged, self.values, self.has_large = 0, 0, False
