"""Fetch the schemas that messages name by an id, each once, and keep them in bronze.avro_schemas.

The id is in the header of a value or of a key: a zero byte, and four bytes, or eight where the
first four are zero, as Apicurio writes them. `avro_schema` of a topic's line in seeds/topics.csv
names its registry: an address of Confluent's API, or a folder of the project that holds
`<id>.avsc`, or of Protobuf `<id>.desc`, a set of descriptors that `protoc --include_imports` makes.

A schema of Avro is kept as its text, one of Protobuf as a text that has the descriptors of its
files: {"protobuf": [Base64, ...]}, the schema's own behind those that it imports.
"""

import base64
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError
from pyspark.sql import SparkSession

from cdc_lakehouse.bronze import tables as bronze
from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.routes import Routes
from cdc_lakehouse.sql import quoted

AUTH = "LAKEHOUSE_REGISTRY_AUTH"
HEADERS = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
TIMEOUT, TRIES, PAUSE = 10, 3, 1  # seconds, of an answer; requests; seconds, between them
# Bytes that are no header look like ids that nobody has: of more than these, no more is asked.
MOST_UNKNOWN = 100
# What Confluent's API says of an id that it does not have; another 404 is not from a registry.
NO_SCHEMA = 40403
# Asks for a schema of Protobuf as its descriptor in Base64, in place of its text.
SERIALIZED = "?format=serialized"

# The ids of new messages, of their values and of their keys.
QUERY = """
    select distinct topic, id
    from (
        select
            topic,
            try_cast(
                conv(
                    hex(substring(header, 2, if(startswith(header, X'0000000000'), 8, 4))), 16, 10
                ) as bigint
            ) as id
        from (
            select topic, explode(array(left(value, 9), left(key, 9))) as header
            from new_messages
            where format in ({formats})
        )
        where startswith(header, X'00') and octet_length(header) >= 5
    )
    where id is not null"""


def learn_schemas(spark: SparkSession, routes: Routes, project: Path) -> None:
    """Fetch the schemas that new messages name and that bronze.avro_schemas does not have.

    One that its registry does not have is left out, and its messages are rejected.

    Raises:
        LakehouseError: a registry does not answer, or is none. Nothing was processed.
    """
    formats = {r.format for r in routes.in_precedence() if names_registry(r.avro_schema)}
    if not formats:
        return
    named = ", ".join(map(quoted, sorted(formats)))
    wanted = defaultdict(set)
    for topic, number in spark.sql(QUERY.format(formats=named)).collect():
        route = routes.route_of(topic)
        if route and names_registry(route.avro_schema):
            wanted[route.avro_schema].add(number)
    if not wanted:
        return
    kept = bronze.read(spark, bronze.AVRO_SCHEMAS).select("registry", "id")
    known = {tuple(row) for row in kept.collect()}
    now, rows = datetime.now(UTC), []
    for registry, ids in wanted.items():
        unknown = sorted(number for number in ids if (registry, number) not in known)
        rows += [
            {"registry": registry, "id": number, "schema": text, "fetched_at": now}
            for number, text in fetch(registry, unknown, project)
        ]
    if rows:
        bronze.append_rows(spark, bronze.AVRO_SCHEMAS, rows).save()


def names_registry(text: str) -> bool:
    """Tell whether an `avro_schema` names a registry or a folder, not one schema for all."""
    return bool(text) and not text.endswith(".avsc")


def fetch(registry: str, ids: list[int], project: Path) -> Iterator[tuple[int, str]]:
    """Yield (id, text) of the schemas of `ids`, in rising order, that a registry or folder has.

    Raises:
        LakehouseError: it does not answer, or is none.
    """
    find: Callable[[int], str | None]
    if registry.startswith(("http://", "https://")):
        find = Registry(registry).schema
    else:
        find = finder_in_folder(project / registry)
    misses = 0
    for number in ids:
        text = find(number)
        if text is not None:
            yield number, text
            continue
        misses += 1
        if misses == MOST_UNKNOWN:
            return


def finder_in_folder(folder: Path) -> Callable[[int], str | None]:
    """Return the function that gives the schema of `<id>.avsc` or `<id>.desc`, None without a file.

    Raises:
        LakehouseError: there is no such folder. The function raises it of a file that is no set of
            descriptors.
    """
    if not folder.is_dir():
        raise LakehouseError(
            f"seeds/topics.csv names {folder} as avro_schema, but there is no such folder. Give it "
            "a folder with <id>.avsc or <id>.desc, or the address of a schema registry: "
            "http://host:8081."
        )

    def find(number: int) -> str | None:
        text, described = folder / f"{number}.avsc", folder / f"{number}.desc"
        if text.is_file():
            return text.read_text(encoding="utf-8")
        if not described.is_file():
            return None
        try:
            files = FileDescriptorSet.FromString(described.read_bytes()).file
        except DecodeError:
            files = ()
        if not files:
            raise LakehouseError(
                f"{described} is no set of descriptors of Protobuf. Write it with `protoc "
                f"--include_imports --descriptor_set_out={described.name} FILE.proto`."
            )
        return _protobuf_text(files)

    return find


def _protobuf_text(files: Iterable[FileDescriptorProto]) -> str:
    """Return the text in which a schema of Protobuf is kept, of its files, its own last."""
    written = [base64.b64encode(each.SerializeToString()).decode() for each in files]
    return json.dumps({"protobuf": written})


class Registry:
    """A schema registry that speaks Confluent's API over HTTP."""

    def __init__(self, address: str):
        """Take the address of a registry; user and password are in LAKEHOUSE_REGISTRY_AUTH.

        Raises:
            LakehouseError: the address has a password in it.
        """
        self.address = address.rstrip("/")
        if "@" in urlsplit(address).netloc:
            host = urlsplit(address).netloc.rpartition("@")[2]
            raise LakehouseError(
                f"avro_schema of seeds/topics.csv has a user in the address of {host}: files of a "
                f"project are read by many. Set {AUTH}=user:password and leave it out there."
            )

    def schema(self, number: int) -> str | None:
        """Return the text of a schema, after those that it refers to in one list, if any.

        None if the registry has no such id, or cannot give a schema of Protobuf as descriptors.

        Raises:
            LakehouseError: it does not answer, or is no registry.
        """
        found = self._get(f"/schemas/ids/{number}")
        if found is None:
            return None
        referred = list(self._referred(found, set()))
        if found.get("schemaType") == "PROTOBUF":
            named = [*((each["id"], name) for name, each in referred), (number, f"{number}.proto")]
            files = [file for each in named if (file := self._descriptor(*each))]
            return _protobuf_text(files) if len(files) == len(named) else None
        texts = [*(each["schema"] for _, each in referred), found["schema"]]
        return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"

    def _descriptor(self, number: int, name: str) -> FileDescriptorProto | None:
        """Return a file of Protobuf by its id, under the name by which others import it.

        None where its text comes all the same, as from registries without the parameter.
        """
        found = self._get(f"/schemas/ids/{number}{SERIALIZED}")
        if found is None:
            return None
        try:
            file = FileDescriptorProto.FromString(base64.b64decode(found["schema"], validate=True))
        except (ValueError, DecodeError):
            return None
        file.name = name
        return file

    def _referred(
        self, found: dict[str, Any], seen: set[tuple[str, int]]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the names by which a schema refers to others, and these, each behind its own."""
        for each in found.get("references") or ():
            place = each["subject"], each["version"]
            if place not in seen:
                seen.add(place)
                subject = quote(each["subject"], safe="")
                other = self._get(f"/subjects/{subject}/versions/{each['version']}")
                if other is not None:
                    yield from self._referred(other, seen)
                    yield each["name"], other

    def _get(self, path: str) -> dict[str, Any] | None:
        """Return what the registry says, None if it has no such schema."""
        headers = dict(HEADERS)
        if os.environ.get(AUTH):
            headers["Authorization"] = (
                f"Basic {base64.b64encode(os.environ[AUTH].encode()).decode()}"
            )
        request = Request(self.address + path, headers=headers)
        for attempt in range(TRIES):
            time.sleep(PAUSE if attempt else 0)
            try:
                with urlopen(request, timeout=TIMEOUT) as answer:
                    found: dict[str, Any] = json.load(answer)
                    return found
            except HTTPError as error:
                if error.code == 404 and _code_of(error) == NO_SCHEMA:
                    return None
                said = f"{error.code} {error.reason}"
                if error.code < 500:
                    break
            except (OSError, HTTPException) as error:
                said = str(getattr(error, "reason", error))
            except ValueError as error:
                said = f"no JSON: {error}"
                break
        raise LakehouseError(self._advice(path, said))

    def _advice(self, path: str, said: str) -> str:
        what = "Is it the address of a schema registry, and is it running?"
        if said.startswith(("401", "403")):
            what = f"Set {AUTH}=user:password to what it lets in."
        elif path.endswith(SERIALIZED):
            what = (
                "If it gives no descriptors of Protobuf, name a folder with <id>.desc in its place."
            )
        return (
            f"The schema registry {self.address} did not give a schema that new messages need: GET "
            f"{path}: {said}. {what} Nothing was processed, and the next run begins where this did."
        )


def _code_of(error: HTTPError) -> int | None:
    """Return the code that a registry gives beside the one of HTTP."""
    try:
        code: int | None = json.load(error).get("error_code")
    except (ValueError, AttributeError):
        return None
    return code
