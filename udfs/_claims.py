"""Read the files in which TiCDC keeps messages that are too large for Kafka (claim check).

A message then has the address of its file. Its last name alone counts: files are read in the one
place that LAKEHOUSE_CLAIMS names, so that no message can name another. TiCDC's own reader takes the
last name, too (pingcap/tiflow, pkg/sink/codec/canal/canal_json_decoder.go).
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa

from udfs._json_reading import read_quickly
from udfs._json_values import Refused, kind_of

NAME = "LAKEHOUSE_CLAIMS"
# TiCDC names a file by a random UUID and `.json` (pkg/sink/kafka/claimcheck/claim_check.go).
FILE = re.compile(r"\w[\w.-]{0,254}", re.ASCII)
BUCKET = re.compile(r"s3a?://([\w.-]+(?:/[^/?#@]+)*)/?", re.ASCII)


class Unreadable(Exception):
    """The place cannot be read, so that nobody knows whether a file is there."""


def place_of(environment: Mapping[str, str], project_dir: Path) -> tuple[str, dict[str, str]]:
    """Return the place of the files, and how S3 is reached; nothing if the environment names none.

    The place is a folder, or `s3://bucket/prefix`. S3 is reached as for a lakehouse there, except
    that credentials stay in the environment of those who read.

    Raises:
        ValueError: LAKEHOUSE_CLAIMS names no such place.
    """
    said = environment.get(NAME, "").strip()
    if "://" not in said:
        return str((project_dir / said).absolute()) if said else "", {}
    bucket = BUCKET.fullmatch(said)
    if not bucket:  # what it is may hold a password
        raise ValueError(
            f"{NAME} is an address, but not like s3://bucket/prefix. Name that, or a folder"
        )
    access: dict[str, str] = {}
    if region := environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION"):
        access["region"] = region
    endpoint = environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")
    if endpoint:  # with one the bucket is in the path, not in the name of the server
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        access |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
    return f"s3://{bucket[1]}", access


def name_of(address: str) -> str:
    """Return the name of the file of an address: `s3://bucket/prefix/name`, `file:///folder/name`."""
    return address.rpartition("/")[2]


class Claims:
    """The files of a place, which is opened for the first of them.

    Attributes:
        size: how many bytes were read since somebody set it to 0.
    """

    def __init__(self, place: str, access: Mapping[str, str]) -> None:
        """Take what `place_of` gives."""
        self._place, self._access = place, access
        self._files: Any = None
        self._folder = place.removeprefix("s3://")
        self._is_s3 = self._folder != place
        self.size = 0

    def message(self, address: str, max_bytes: int) -> bytes:
        """Return the value of the message that the file of an address holds.

        Raises:
            Refused: there is no such file (missing_image), it is larger than `max_bytes`
                (too_large), or its value is no Base64 (wrong_type).
            Unreadable: the place cannot be read.
        """
        name = name_of(address)
        found = self._read(name, max_bytes) if self._place and FILE.fullmatch(name) else None
        if found is None:
            raise Refused(
                "missing_image",
                f"the row is not in the message but in {address[:300]}. Let {NAME} name the folder "
                "or s3:// address that has this file, where Spark is started, then run `lakehouse "
                "replay --reason missing_image`",
            )
        self.size += len(found)
        return _value_of(found, name)

    def _read(self, name: str, max_bytes: int) -> bytes | None:
        """Return what a file holds, None if there is no such file."""
        # Few lakehouses have a place, and the module loads the clients of all clouds.
        from pyarrow.fs import FileType, LocalFileSystem, S3FileSystem

        try:
            if self._files is None:
                self._files = S3FileSystem(**self._access) if self._is_s3 else LocalFileSystem()
            found = self._files.get_file_info(f"{self._folder}/{name}")
            if found.type == FileType.File:
                if found.size > max_bytes:
                    raise Refused(
                        "too_large",
                        f"the file {name} has {found.size} bytes, more than max_message_bytes of "
                        f"dbt_project.yml, {max_bytes}",
                    )
                with self._files.open_input_stream(found.path) as stream:
                    content: bytes = stream.read()
                return content
            root = self._folder.partition("/")[0] if self._is_s3 else self._folder
            if self._files.get_file_info(root).type != FileType.Directory:
                raise NotADirectoryError(
                    f"there is no {'bucket' if self._is_s3 else 'folder'} {root}"
                )
        except (OSError, pa.ArrowException) as error:
            why = " ".join(str(error).split()).rstrip(".")
            raise Unreadable(
                f"{NAME} names {self._place}, where {name} cannot be read: {why}. Correct {NAME}, "
                "or let Spark read there. Nothing was processed, and the next run begins where "
                "this did."
            ) from error
        return None


def _value_of(found: bytes, name: str) -> bytes:
    """Return the value of a message in a file.

    The file is the value (`claim-check-raw-value = true`), or {"key": ..., "value": ...} in Base64.
    """
    document: Any = read_quickly(found)
    if type(document) is not dict or document.keys() != {"key", "value"}:
        return found
    try:
        return b64decode(document["value"], validate=True)
    except (TypeError, ValueError):
        kind = kind_of(document["value"])
        said = f"in the file {name}: field value: expected Base64, found {kind}"
        raise Refused("wrong_type", said) from None
