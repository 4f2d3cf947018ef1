"""seeds/topics.csv: which topic carries which format, and what the bytes do not say."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from pathlib import Path
from zoneinfo import available_timezones

from cdc_lakehouse.package import PACKAGE
from cdc_lakehouse.seeds import Line, read_seed, use_one_of

UNROUTED = "unrouted"
# The topic and the format of full extracts of tables. Kafka has no topic with a colon in its name.
EXTRACT_TOPIC, EXTRACT = "extract:", "full_extract"
NAMES_IN_TOPIC = ("database", "schema", "table")
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
# The columns of a line that concern the topic as a whole.
NOT_OF_MESSAGES = ("source", "partitions", "idle_after")
# What Java takes for a time zone beside the IANA's names: offsets, and names of three letters.
OFFSET = re.compile(r"Z|(?:UTC|GMT|UT)?[+-](?:\d|0\d|1[0-8])(?::?[0-5]\d(?::?[0-5]\d)?)?")
SHORT_ZONES = (
    "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT EST HST IET IST JST MIT MST NET NST PLT "
    "PNT PRT PST SST UT VST"
)


@dataclass(frozen=True)
class Route:
    """One line of seeds/topics.csv; an empty field is an empty text."""

    topic: str
    format: str
    time_zone: str
    avro_schema: str
    delete_image: str
    database: str
    table: str = ""
    key: str = ""
    topic_pattern: str = ""
    operation_column: str = ""
    sequence_column: str = ""
    missing_columns: str = ""
    source: str = ""
    partitions: str = ""
    idle_after: str = ""

    @property
    def idle_seconds(self) -> int | None:
        """After how many seconds without a message a partition is not waited for; None is never."""
        number, _, unit = self.idle_after.partition(" ")
        return int(number) * SECONDS[unit.removesuffix("s")] if self.idle_after else None

    @property
    def pattern(self) -> str:
        """The regular expression, for Python and for Spark, that finds what the route covers."""
        return pattern_of(self.topic)

    def for_silver(self) -> dict[str, object]:
        """Return what the line says, without what is empty; `key` as a list of columns.

        `in_topic` has, for each name that `topic_pattern` reads, a pattern whose group it is.
        """
        said: dict[str, object] = {
            name: text
            for name, text in asdict(self).items()
            if text and name not in NOT_OF_MESSAGES
        }
        if self.key:
            said["key"] = [name.strip() for name in self.key.split(",")]
        if self.topic_pattern:
            said["in_topic"] = {name: self._finding(name) for name in NAMES_IN_TOPIC}
        return said

    def _finding(self, wanted: str) -> str:
        pattern = pattern_of(self.topic_pattern)
        for name in NAMES_IN_TOPIC:
            part = "(.+?)" if name == wanted else "(?:.+?)"
            pattern = pattern.replace(re.escape(f"{{{name}}}"), part)
        # Without a group of its own, a name is found nowhere.
        return pattern if f"{{{wanted}}}" in self.topic_pattern else f"{pattern}()"


COLUMNS = tuple(field.name for field in fields(Route) if field.default is MISSING)
# Columns that few formats need: a file may leave them out.
FURTHER_COLUMNS = tuple(field.name for field in fields(Route) if field.name not in COLUMNS)


class Routes:
    """The routes of a project, by topic: the rule by which ingest, Kafka and silver choose."""

    def __init__(self, routes: list[Route]):
        self._exact = {route.topic: route for route in routes if "*" not in route.topic}
        globs = [route for route in routes if "*" in route.topic]
        self._globs = sorted(globs, key=lambda r: (-len(r.topic.replace("*", "")), r.topic))

    def route_of(self, topic: str) -> Route | None:
        """Return the exact route, else the glob with the most literal characters, else None."""
        if topic in self._exact:
            return self._exact[topic]
        return next((route for route in self._globs if covers(route.topic, topic)), None)

    def format_of(self, topic: str) -> str:
        """Return the topic's format, `unrouted` if no route covers it."""
        if topic.startswith(EXTRACT_TOPIC):
            return EXTRACT
        route = self.route_of(topic)
        return route.format if route else UNROUTED

    def in_precedence(self) -> list[Route]:
        """Return all routes; of those that cover a topic, the first is the one that counts."""
        return [*self._exact.values(), *self._globs]

    @property
    def digest(self) -> str:
        """A name for all that the lines say of topics as a whole."""
        said = [
            (route.topic, route.format, *(getattr(route, name) for name in NOT_OF_MESSAGES))
            for route in self.in_precedence()
        ]
        return hashlib.md5(json.dumps(said).encode()).hexdigest()

    def as_json(self) -> str:
        """Return what silver needs, for `from_json`.

        Returns:
            `by_topic`, the lines by their topic, without what is empty; and `globs`, the topic and
            the `pattern` of those that are globs, in the order in which they count.
        """
        lines = {route.topic: route.for_silver() for route in self.in_precedence()}
        globs = [{"topic": route.topic, "pattern": route.pattern} for route in self._globs]
        return json.dumps({"by_topic": lines, "globs": globs}, sort_keys=True)


def pattern_of(name: str) -> str:
    """Return a regular expression for the topics that `name`, where `*` is any text, covers.

    It has only what Python and Java understand alike.
    """
    literals = (re.escape(literal) for literal in re.split(r"\*+", name))
    return f"(?s)^{'.*'.join(literals)}(?!.)"


def covers(name: str, topic: str) -> bool:
    """Tell whether `topic` is `name`, in which `*` is any run of characters."""
    return re.search(pattern_of(name), topic) is not None


def read_routes(project_dir: Path) -> Routes:
    """Read and check the project's seeds/topics.csv.

    Raises:
        LakehouseError: the file is missing or wrong; the text names all wrong lines.
    """
    path = Path(project_dir, "seeds", "topics.csv")
    known = formats(Path(project_dir))
    return Routes(read_seed(path, _header_problem, lambda lines: _routes(lines, known)))


def _header_problem(header: list[str]) -> str | None:
    if missing := [name for name in COLUMNS if name not in header]:
        return (
            f"the header lacks {', '.join(missing)}. "
            f"It must name these columns: {','.join(COLUMNS)}."
        )
    if unknown := [name for name in header if name not in COLUMNS + FURTHER_COLUMNS]:
        return (
            f"unknown columns: {', '.join(unknown)}. Beside {','.join(COLUMNS)} "
            f"the file may have {','.join(FURTHER_COLUMNS)}."
        )
    return None


def _routes(lines: Iterable[Line], known: list[str]) -> list[Route]:
    routes: dict[str, Route] = {}
    for line in lines:
        route = Route(**line.texts)
        if not route.topic:
            line.refuse("the topic is empty. Name a topic or delete the line.")
        elif route.topic in routes:
            line.refuse(f"{route.topic!r} is already above. Delete one line.")
        if route.format not in known:
            others = f"add models/silver/{route.format}/" if route.format else ""
            said = use_one_of(route.format, known, others)
            line.refuse(f"unknown format {route.format!r}. {said}")
        if not is_time_zone(zone := route.time_zone):
            said = use_one_of(zone, time_zones(), listed="the IANA's names, such as Asia/Shanghai")
            line.refuse(f"unknown time zone {zone!r}. {said} Nothing means UTC.")
        _check_names(line, route)
        routes[route.topic] = route
    return list(routes.values())


def is_time_zone(name: str) -> bool:
    """Tell whether Spark, and so silver, knows a time zone; an empty name is UTC."""
    return not name or name in time_zones() or OFFSET.fullmatch(name) is not None


@cache
def time_zones() -> frozenset[str]:
    """Return the names of time zones."""
    return frozenset(available_timezones()) | set(SHORT_ZONES.split())


def _check_names(line: Line, route: Route) -> None:
    names = re.findall(r"\{(.*?)\}", route.topic_pattern)
    if route.topic_pattern and (
        not names or not set(names) <= set(NAMES_IN_TOPIC) or len(names) > len(set(names))
    ):
        line.refuse(
            f"the topic_pattern is {route.topic_pattern!r}. Write the topic's name with "
            "{database}, {schema} or {table} in the place of each: server1.{database}.{table}."
        )
    if route.key and not all(name.strip() for name in route.key.split(",")):
        line.refuse(
            f"the key {route.key!r} names an empty column. "
            'Write the columns of the key with commas between them, in quotes: "order_id,line".'
        )
    if route.partitions and not re.fullmatch("[1-9][0-9]{0,5}", route.partitions):
        line.refuse(
            f"partitions is {route.partitions!r}. Write how many the topic has, as a number."
        )
    if route.idle_after and not re.fullmatch(rf"[0-9]+ ({'|'.join(SECONDS)})s?", route.idle_after):
        line.refuse(
            f"idle_after is {route.idle_after!r}. Write a number and a unit, such as 10 minutes: "
            "after so long without a message, nobody waits for a partition."
        )
    if route.missing_columns not in ("", "null", "absent"):
        line.refuse(
            f"missing_columns is {route.missing_columns!r}. Write null if a column that "
            "a message lacks is null in the source, absent if it is not known."
        )


def formats(project_dir: Path) -> list[str]:
    """Return the formats of cdc_lakehouse and of a project: folders with a model of their name.

    A format of cdc_lakehouse that the model of another one reads has a page of its name alone.
    """
    files = [*project_dir.glob("models/silver/*/*.sql")]
    files += PACKAGE.glob("models/silver/*/*.sql")
    files += PACKAGE.glob("models/silver/*/_*.md")
    return sorted({path.parent.name for path in files if path.stem.lstrip("_") == path.parent.name})
