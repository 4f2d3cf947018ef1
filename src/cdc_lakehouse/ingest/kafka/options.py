"""The options for Kafka and for Spark's Kafka source; secrets reach Kafka's clients alone."""

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.runtime.jvm import jvm_of

Partition = tuple[str, int]
Offsets = dict[Partition, int]  # of the next message to read

SERVERS = "kafka.bootstrap.servers"
# Options that have a flag of their own, or only one right value, in lower case as Spark takes them.
TAKEN = {
    "subscribe": "Use --subscribe.",
    "subscribepattern": "Use --subscribe-pattern.",
    "assign": "Use --assign.",
    "startingoffsets": "Use --starting-offsets.",
    "startingtimestamp": "Use --starting-timestamp.",
    "startingoffsetsbytimestamp": "Use --starting-timestamp.",
    "maxoffsetspertrigger": "Use --max-offsets.",
    "failondataloss": "It is always true here: nothing is skipped in silence.",
    "includeheaders": "It is always true here.",
}
DOTTED = ("kafka.", "kafkaconsumer.", "fetchoffset.")  # of Spark, for all their dots
SECRET = re.compile(r"(password|passphrase|secret|jaas\.config|\.key)$", re.IGNORECASE)
SECRET_FIELD = re.compile(
    r'\w*(?:password|passphrase|secret)\s*=\s*(?!"?\$\{)(?=\S)', re.IGNORECASE
)
_VARIABLE = re.compile(r"\$\{env:([^}]*)\}")
PROVIDERS = {
    name: f"org.apache.kafka.common.config.provider.{kind}ConfigProvider"
    for name, kind in (("env", "EnvVar"), ("file", "File"), ("directory", "Directory"))
}


@dataclass(frozen=True)
class Request:
    """What a user asks of one run; one of subscribe, subscribe_pattern and assign is given.

    Args:
        bootstrap_servers: host:port, separated by commas; empty where an option or a file tells.
        subscribe: names of topics, separated by commas.
        subscribe_pattern: a regular expression of Java that matches the whole name of a topic.
        assign: JSON, {"topic": [partition, ...]}.
        starting_offsets: earliest, latest, or JSON {"topic": {"partition": offset}}; it counts only
            where the stream has no checkpoint. Empty is earliest, if bronze has none of the topics.
        starting_timestamp: milliseconds since 1970, in place of starting_offsets.
        max_offsets: the most offsets that a micro-batch reads.
        limit: the most offsets that a run reads.
        options: of Spark's Kafka source, by name.
        options_file: Java properties; what they say of Kafka's clients is read by those alone.
        name: that of the stream, of its checkpoint and of its lock.
        every: seconds between two micro-batches of a run that stays up; None ends with what is new.
        accept_gaps: continue after offsets that Kafka deleted before they were read; record them.
        recover: continue after the offsets that bronze has, where there is no sound checkpoint.
    """

    bootstrap_servers: str = ""
    subscribe: str = ""
    subscribe_pattern: str = ""
    assign: str = ""
    starting_offsets: str = ""
    starting_timestamp: int | None = None
    max_offsets: int | None = None
    limit: int | None = None
    options: dict[str, str] = field(default_factory=dict)
    options_file: str = ""
    name: str = "kafka"
    every: float | None = None
    accept_gaps: bool = False
    recover: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", self.name):
            raise LakehouseError(
                f"--name {self.name!r}: letters, digits, '-' and '_' make the name of a stream."
            )
        if sum(map(bool, (self.subscribe, self.subscribe_pattern, self.assign))) != 1:
            raise LakehouseError(
                "Name the topics in one way: --subscribe A,B or --subscribe-pattern REGEX or "
                "--assign '{\"A\": [0, 1]}'."
            )
        if self.starting_offsets and self.starting_timestamp is not None:
            raise LakehouseError("Give --starting-offsets or --starting-timestamp, not both.")
        if self.limit and (self.max_offsets or self.every is not None):
            raise LakehouseError("--limit is one micro-batch: leave --max-offsets, --continuous.")
        if self.assign:
            self.assigned()
        if self.starting_offsets[:1] == "{":
            self.explicit_offsets()

    def topics(self) -> list[str]:
        """Return the topics that are named; none for a pattern."""
        if self.assign:
            return sorted({topic for topic, _ in self.assigned()})
        return sorted({topic.strip() for topic in self.subscribe.split(",") if topic.strip()})

    def assigned(self) -> set[Partition]:
        """Return the partitions that --assign names."""
        try:
            given = json.loads(self.assign)
            return {(topic, int(number)) for topic, numbers in given.items() for number in numbers}
        except (ValueError, TypeError, AttributeError):
            raise LakehouseError(
                f'--assign {self.assign} is not of the kind {{"A": [0, 1]}}.'
            ) from None

    def explicit_offsets(self) -> Offsets:
        """Return the offsets that --starting-offsets names by partition."""
        if self.starting_offsets[:1] != "{":
            return {}
        try:
            return read_offsets(self.starting_offsets)
        except (ValueError, TypeError, AttributeError):
            raise LakehouseError(
                f"--starting-offsets {self.starting_offsets} is neither earliest nor latest nor of "
                'the kind {"A": {"0": 17}}.'
            ) from None


def read_offsets(text: str) -> Offsets:
    """Read offsets as Spark's Kafka source writes them: {"topic": {"partition": offset}}."""
    return {
        (topic, int(number)): int(offset)
        for topic, numbers in json.loads(text).items()
        for number, offset in numbers.items()
    }


def write_offsets(offsets: Offsets) -> str:
    """Write offsets as Spark's Kafka source reads them."""
    nested: dict[str, dict[str, int]] = {}
    for (topic, number), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[str(number)] = offset
    return json.dumps(nested)


def parse_options(lines: list[str]) -> dict[str, str]:
    """Read NAME=VALUE options of the command line.

    Raises:
        LakehouseError: one is no such pair, has a flag of its own, or shows a secret to everyone
            who can list processes.
    """
    options: dict[str, str] = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise LakehouseError(
                "--option takes NAME=VALUE, for example kafka.security.protocol=SSL."
            )
        name = full_name(name.strip())
        if is_open_secret(name, value):
            raise LakehouseError(
                f"--option {name}: a secret on the command line is seen by all who list processes. "
                "Put it in a file and give --options-file FILE, or in the environment and write "
                "${env:NAME} in its place; and change it, for it was seen."
            )
        options[name] = value
    return options


def full_name(name: str) -> str:
    """Return the option's name as Spark takes it; Kafka's own names get their prefix.

    Raises:
        LakehouseError: it has a flag of its own.
    """
    if name.lower() in TAKEN:
        raise LakehouseError(f"The option {name} is not passed through. {TAKEN[name.lower()]}")
    return f"kafka.{name}" if "." in name and not name.lower().startswith(DOTTED) else name


def is_open_secret(name: str, value: str) -> bool:
    """Tell whether an option shows a secret, instead of where Kafka's clients find it."""
    if not SECRET.search(name):
        return False
    if name.lower().endswith("jaas.config"):
        return SECRET_FIELD.search(value) is not None
    return not value.startswith("${")


def variables_of(request: Request) -> set[str]:
    """Return the names that options take from the environment: Kafka's client, which is Java, does.

    A file that cannot be read is named later, where its options are needed.
    """
    texts = list(request.options.values())
    with suppress(OSError):
        texts += [Path(request.options_file).read_text(errors="replace")]
    return set(chain.from_iterable(map(_VARIABLE.findall, texts)))


def source_options(spark: SparkSession, request: Request) -> dict[str, str]:
    """Return all options for Spark's Kafka source but those that say where to start.

    Raises:
        LakehouseError: the options file cannot be read, no broker is named, or the environment
            lacks what an option takes from it.
    """
    given = _of_file(spark, request.options_file) if request.options_file else {}
    given |= request.options
    if request.bootstrap_servers:
        given[SERVERS] = request.bootstrap_servers
    if not given.get(SERVERS):
        raise LakehouseError(
            "No broker is named. Give --bootstrap-servers HOST:PORT or set KAFKA_BOOTSTRAP_SERVERS."
        )
    for name, value in given.items():
        for variable in _VARIABLE.findall(value):
            if variable not in os.environ:
                raise LakehouseError(f"The environment has no {variable}, which {name} needs.")
    own = [name for name in given.get("kafka.config.providers", "").split(",") if name]
    added = {name: kind for name, kind in PROVIDERS.items() if name not in own}
    options = {
        "kafka.isolation.level": "read_committed",
        **given,
        "kafka.config.providers": ",".join([*own, *added]),
        **{f"kafka.config.providers.{name}.class": kind for name, kind in added.items()},
        "includeHeaders": "true",
        "failOnDataLoss": "true",
    }
    if request.assign:
        options["assign"] = request.assign
    elif request.subscribe:
        options["subscribe"] = ",".join(request.topics())
    else:
        # Spark looks for it anywhere in a name.
        options["subscribePattern"] = f"^(?:{request.subscribe_pattern})$"
    if limit := request.limit or request.max_offsets:
        options["maxOffsetsPerTrigger"] = str(limit)
    return options


def _of_file(spark: SparkSession, file: str) -> dict[str, str]:
    """Read Java properties; of Kafka's own, Spark learns only where its clients find them."""
    path = Path(file).absolute()
    if not path.is_file() or set(":{}") & set(str(path)):
        raise LakehouseError(
            f"{path} is not a regular file, or has one of :{{}} in its name. Kafka's clients read "
            "the options file themselves, so it has to be one, and to stay while they run."
        )
    jvm = jvm_of(spark)
    properties = jvm.java.util.Properties()
    try:
        reader = jvm.java.nio.file.Files.newBufferedReader(jvm.java.io.File(str(path)).toPath())
        properties.load(reader)
        reader.close()
    except (Py4JJavaError, PySparkException) as error:
        raise LakehouseError(f"{path} cannot be read: {short_message(error)}") from None
    options = {}
    for name in properties.stringPropertyNames():
        value, option = properties.getProperty(name), full_name(name)
        plain = "${" in value or option == SERVERS or not option.startswith("kafka.")
        options[option] = value if plain else f"${{file:{path}:{name}}}"
    return options
