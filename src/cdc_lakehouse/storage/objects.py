"""Paths in object storage, with the methods of pathlib that the rest of the code uses.

All questions go to the Hadoop file system that Spark and Delta use themselves: it finds endpoint
and credentials, in one way for all.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError

from cdc_lakehouse.errors import short_message

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Status:
    """What is known of an object, under the names of `os.stat_result`."""

    st_size: int  # bytes
    st_mtime: float  # seconds since 1970, as the storage has noted them


@dataclass(frozen=True)
class Hadoop:
    """The Java that is asked, and the configuration that its file systems have."""

    jvm: Any
    configuration: JavaObject


@dataclass(frozen=True, order=True)
class ObjectPath:
    """A path in object storage; a folder is there for as long as something lies in it.

    Args:
        address: scheme://bucket, and what is in it behind a slash.
        hadoop: returns whom to ask, and starts Java if need be.

    Raises:
        OSError: in each method that asks the storage, if it fails; FileNotFoundError if there is
            nothing of this name.
    """

    address: str
    hadoop: Callable[[], Hadoop] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.address

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(f"{self.address}/{name}", self.hadoop)

    @property
    def _key(self) -> PurePosixPath:
        """What follows the scheme: bucket and names."""
        return PurePosixPath(self.address.partition("://")[2])

    @property
    def name(self) -> str:
        return self._key.name

    @property
    def stem(self) -> str:
        return self._key.stem

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.address.rpartition("/")[0], self.hadoop)

    def with_name(self, name: str) -> ObjectPath:
        return self.parent / name

    def with_suffix(self, suffix: str) -> ObjectPath:
        return self.with_name(f"{self.stem}{suffix}")

    def exists(self) -> bool:
        return bool(self._ask(lambda files, path: files.exists(path)))

    def is_dir(self) -> bool:
        try:
            return bool(self._ask(lambda files, path: files.getFileStatus(path).isDirectory()))
        except FileNotFoundError:
            return False

    def stat(self) -> Status:
        return self._ask(lambda files, path: _status(files.getFileStatus(path)))

    def iterdir(self) -> Iterator[ObjectPath]:
        """Yield what lies in this folder; nothing if there is no such folder."""
        try:
            found = self._ask(lambda files, path: list(files.listStatus(path)))
        except FileNotFoundError:
            return
        for status in found:
            yield self / status.getPath().getName()

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        """Yield what lies in this folder under names that fit the pattern."""
        return (path for path in self.iterdir() if fnmatchcase(path.name, pattern))

    def walk(self) -> Iterator[tuple[ObjectPath, Status]]:
        """Yield all objects below this folder."""

        def found(files: JavaObject, path: JavaObject) -> list[tuple[str, Status]]:
            listed, each = [], files.listFiles(path, True)
            while each.hasNext():
                status = each.next()
                listed.append((status.getPath().toString(), _status(status)))
            return listed

        try:
            for address, status in self._ask(found):
                yield ObjectPath(address, self.hadoop), status
        except FileNotFoundError:
            return

    def read_text(self, encoding: str = "utf-8") -> str:
        def text(files: JavaObject, path: JavaObject) -> str:
            stream = files.open(path)
            try:
                utils = self.hadoop().jvm.org.apache.commons.io.IOUtils
                read: str = utils.toString(stream, encoding)
                return read
            finally:
                stream.close()

        return self._ask(text)

    def write_text(self, text: str) -> None:
        """Write an object: whole or not at all."""

        def write(files: JavaObject, path: JavaObject) -> None:
            stream = files.create(path, True)
            stream.write(text.encode())
            stream.close()

        self._ask(write)

    def upload(self, file: Path) -> None:
        """Write a new object that is a copy of a file of this machine: whole or not at all."""

        def copy(files: JavaObject, path: JavaObject) -> None:
            hadoop = self.hadoop()
            local, fs = hadoop.jvm.java.io.File(str(file)), hadoop.jvm.org.apache.hadoop.fs
            # S3A's own copyFromLocalFile is another client, which waits for ever on some servers.
            fs.FileUtil.copy(local, files, path, False, hadoop.configuration)

        self._ask(copy)

    def unlink(self, missing_ok: bool = False) -> None:
        if not self._ask(lambda files, path: files.delete(path, False)) and not missing_ok:
            raise FileNotFoundError(errno.ENOENT, "No such object", self.address)

    def remove_tree(self) -> None:
        """Delete this folder with all that lies in it; nothing if there is no such folder."""
        self._ask(lambda files, path: files.delete(path, True))

    def keeps_versions(self) -> bool:
        """Tell whether the storage keeps objects that were deleted, as a bucket with versions does.

        Raises:
            OSError: the credentials may not ask, or nobody knows how for storage other than S3.
        """

        def status(files: JavaObject, path: JavaObject) -> str | None:
            model = self.hadoop().jvm.software.amazon.awssdk.services.s3.model
            asked = model.GetBucketVersioningRequest.builder().bucket(self._key.parts[0]).build()
            client = files.getS3AInternals().getAmazonS3Client("an erasure")
            found: str | None = client.getBucketVersioning(asked).statusAsString()
            return found

        if not self.address.startswith("s3a://"):
            raise OSError(f"{self.address}: whether it keeps versions is asked of S3 alone")
        # Suspended, it keeps those that it had.
        return self._ask(status) in ("Enabled", "Suspended")

    def _ask(self, question: Callable[[JavaObject, JavaObject], _Answer]) -> _Answer:
        hadoop = self.hadoop()
        try:
            path = hadoop.jvm.org.apache.hadoop.fs.Path(self.address)
            return question(path.getFileSystem(hadoop.configuration), path)
        except Py4JJavaError as error:
            java = hadoop.jvm.java
            if java.lang.Class.forName("java.io.FileNotFoundException").isInstance(
                error.java_exception
            ):
                raise FileNotFoundError(errno.ENOENT, "No such object", self.address) from None
            raise OSError(f"{self.address}: {short_message(error)}") from error


def _status(found: JavaObject) -> Status:
    return Status(found.getLen(), found.getModificationTime() / 1000)
