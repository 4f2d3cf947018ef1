"""The facts of a lakehouse at a moment, in plain values, for the report and the check.

Times are seconds since 1970 in UTC; None where nothing says them. Sizes are bytes.
"""

from dataclasses import dataclass

from cdc_lakehouse.report.gold import Gold


@dataclass(frozen=True)
class Finding:
    """Something that a person should look at.

    Attributes:
        limit: the name of the limit that it is beyond, as seeds/limits.csv has it; `error` if
            something could not be looked at.
        subject: the topic, the partition or the table, for example `shop.orders`.
        text: what was found, and beyond which limit, in one sentence.
        remedy: what to do or where to look, in one sentence or command.
        topics: those that it is of, where it is of several.
    """

    limit: str
    subject: str
    text: str
    remedy: str
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class Partition:
    """A partition of a topic: what became of its messages, and how far it is.

    Attributes:
        messages: that came in, each once; of the counts below, `row_changes` to `rejected` say
            what became of them. A message may have several row changes.
        snapshots, inserts, updates, deletes: row changes by operation.
        unprocessed: messages that have landed and are not in silver yet;
        unprocessed_since: when the ingest that landed the first of them began.
        missing_offsets: between the first and the last, that no message has.
        produced_at: when its producer, or the capturing tool, wrote the latest message.
        committed_at: when the source committed the latest change that is processed.
        ingested_at: when the ingest that landed the latest message began.
        processed_at: when the run ended its work on the latest message.
        delay_seconds: from the commit of the latest change to its processing.
        is_archive: whether its latest message came from a file: how late it is tells nothing.
    """

    topic: str
    partition: int
    format: str
    messages: int
    row_changes: int = 0
    snapshots: int = 0
    inserts: int = 0
    updates: int = 0
    deletes: int = 0
    truncates: int = 0
    schema_changes: int = 0
    heartbeats: int = 0
    transaction_markers: int = 0
    controls: int = 0
    rejected: int = 0
    duplicates: int = 0
    late_changes: int = 0
    unprocessed: int = 0
    unprocessed_since: float | None = None
    missing_offsets: int = 0
    first_offset: int | None = None
    last_offset: int | None = None
    produced_at: float | None = None
    committed_at: float | None = None
    ingested_at: float | None = None
    processed_at: float | None = None
    delay_seconds: float | None = None
    is_archive: bool = False


@dataclass(frozen=True)
class Arrival:
    """The messages of a partition that landed in one of the equal spans of time of the report."""

    topic: str
    partition: int
    began: float
    messages: int
    rejected: int


@dataclass(frozen=True)
class Gap:
    """A run of offsets that bronze does not hold; `reason` is `unread`, `retention` or `erasure`.

    `unread`: Kafka had deleted them before they were read.
    """

    topic: str
    partition: int
    first_offset: int
    last_offset: int
    reason: str
    found_at: float


@dataclass(frozen=True)
class Sample:
    """The first bytes of a rejected message.

    Attributes:
        size: of the whole message.
        text: as UTF-8 if they are, else as hexadecimal digits in pairs. Without the values of
            rows, letters and digits are masked.
    """

    partition: int
    offset: int
    size: int
    text: str


@dataclass(frozen=True)
class Rejected:
    """The messages of a topic that were rejected for one reason.

    Attributes:
        detail: what was found in the first of them; None without the values of rows.
        replay: the command that puts them back in line once the cause is mended.
    """

    topic: str
    format: str
    reason: str
    messages: int
    first_offset: int
    last_offset: int
    last_ingested_at: float | None
    detail: str | None
    replay: str
    samples: tuple[Sample, ...] = ()


@dataclass(frozen=True)
class Drift:
    """A change of a column or a table in the source, with the statement that did it if known.

    Attributes:
        table: with its database and schema, for example `shop.orders`.
        drift: new, vanished, retyped, renamed, renamed_table or dropped_table.
        ddl: its literals are masked without the values of rows.
        seen_at: when the ingest that landed the first message with it began.
        models: the files of the gold models that read the table.
        is_open: of a column that is new, renamed or gone, whether a model that reads the table
            neither follows the source nor excepts the column; None if no model reads the table.
    """

    table: str
    column: str | None
    drift: str
    previous_name: str | None
    previous_type: str | None
    type: str | None
    committed_at: float | None
    topic: str
    partition: int
    offset: int
    ddl: str | None
    seen_at: float | None = None
    models: tuple[str, ...] = ()
    is_open: bool | None = None


@dataclass(frozen=True)
class SharedKeys:
    """The keys of a gold table of which two source tables have a row each: one row is shown.

    `first_key` is one of them; None without the values of rows.
    """

    table: str
    keys: int
    source_tables: tuple[str, ...]
    first_key: str | None


@dataclass(frozen=True)
class Problem:
    """Values of a column of a gold table that do not fit; `column` is None if the row is meant."""

    column: str | None
    code: str
    problems: int
    first_text: str | None


@dataclass(frozen=True)
class SourceTable:
    """A table of a source; `names` are its database, schema and own, None if no message tells."""

    table: str
    changes: int
    late_changes: int
    duplicates: int
    committed_at: float | None
    ingested_at: float | None
    processed_at: float | None
    delay_seconds: float | None
    has_model: bool
    names: tuple[str | None, str | None, str | None] = (None, None, None)


@dataclass(frozen=True)
class Source:
    """Up to which commits a source that has a name is complete, in silver and in gold.

    `waits_for` and `topic` say what holds it back; None if nothing does.
    """

    source: str
    complete_until: float | None
    gold_complete_until: float | None
    newest_committed_at: float | None
    waits_for: str | None
    topic: str | None


@dataclass(frozen=True)
class GoldTable:
    """A table of gold; `changed_at` is the commit in the source of its latest change."""

    table: str
    rows: int
    changed_at: float | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class RunStep:
    """A step of a run; `began` counts seconds from the beginning of the run."""

    part: str
    name: str
    began: float
    seconds: float
    rows_read: int
    bytes_read: int
    rows_written: int
    bytes_written: int


@dataclass(frozen=True)
class Run:
    """The last run of a command, for example `dbt-build` or `ingest-files`."""

    command: str
    began_at: float
    seconds: float
    steps: tuple[RunStep, ...]


@dataclass(frozen=True)
class Stored:
    """What a Delta table takes: its files and bytes, without those that vacuum will remove."""

    table: str
    rows: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Facts:
    """All of it, at the moment `made_at`.

    Attributes:
        name: the name of the lakehouse's folder.
        has_values: whether values of rows are in it.
        span_seconds: how long each of the spans is that `arrivals` counts messages in.
        gold: how far it is; None if that was not asked, or could not be read.
        problems: what could not be looked at, and why; the rest is there.
    """

    name: str
    made_at: float
    release: str
    has_values: bool
    span_seconds: float
    partitions: tuple[Partition, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    gaps: tuple[Gap, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    drift: tuple[Drift, ...] = ()
    source_tables: tuple[SourceTable, ...] = ()
    gold_tables: tuple[GoldTable, ...] = ()
    shared_keys: tuple[SharedKeys, ...] = ()
    sources: tuple[Source, ...] = ()
    runs: tuple[Run, ...] = ()
    stored: tuple[Stored, ...] = ()
    gold: Gold | None = None
    problems: tuple[str, ...] = ()
