"""Flink SQL into a primary-key table of Paimon, in batch mode, one job for each step.

The format `canal-json` of Flink 1.20 stops at the type INIT, which all rows of a full load have,
and cannot be read in batch mode. So the messages are read with the format `json`, and Paimon is
told which columns hold the kind of a change (`rowkind.field`) and its order (`sequence.field`),
as its documentation advises. It merges when it is read; deleted rows leave no tombstones.

Flink would take the messages from Kafka. Here they are written as lines of text before its job
starts; that is the stage `conversion`, which is none of Flink's work.

Without arguments this module fetches Flink and Paimon into BENCH_CACHE (`.bench`).
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq
import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, JavaObject, launch_gateway

from bench.contender import Unsupported, run
from bench.topics import COLUMNS
from cdc_lakehouse.runtime.jars import retrieve

FLINK = "apache-flink-libraries==1.20.5"
IVY_FILE = Path(__file__).with_suffix(".ivy.xml")
OPENED = ("java.lang", "java.lang.reflect", "java.net", "java.nio", "java.text", "java.time")
OPENED += ("java.util", "java.util.concurrent")
TYPES = {"datetime": "timestamp(0)", "datetime(6)": "timestamp(6)", "timestamp": "timestamp(0)"}
TYPES |= {"text": "string"}
FIELDS = ", ".join(f"{name} {TYPES.get(kind, kind)}" for name, kind in COLUMNS.items())
TABLE = f"""
create table lake.`default`.orders (
    {FIELDS}, operation string, `sequence` bigint, primary key (id) not enforced
) with ('bucket' = '2', 'rowkind.field' = 'operation', 'sequence.field' = 'sequence')
"""
MESSAGES = f"""
create temporary table messages (`type` string, id bigint, data array<row<{FIELDS}>>) with (
    'connector' = 'filesystem', 'path' = '{{folder}}', 'format' = 'json',
    'json.timestamp-format.standard' = 'SQL'
)
"""
UPSERT = f"""
insert into lake.`default`.orders
select item.*, case `type` when 'DELETE' then '-D' else '+I' end, messages.id
from messages cross join unnest(data) as item ({", ".join(COLUMNS)})
where `type` in ('INIT', 'INSERT', 'UPDATE', 'DELETE')
"""
RESULT = f"""
create temporary table `result` ({", ".join(f"{name} string" for name in COLUMNS)}) with (
    'connector' = 'filesystem', 'path' = '{{folder}}', 'format' = 'json'
)
"""


class FlinkPaimon:
    """A warehouse of Paimon, and the Flink that writes it."""

    def __init__(self, work: Path, format: str, memory: str) -> None:
        if format != "dts_canal":
            raise Unsupported(f"the query in Flink SQL is written for dts_canal, not {format}")
        self.work = work
        self.flink = open_flink(memory)
        self.sql(f"create catalog lake with ('type' = 'paimon', 'warehouse' = '{work}/warehouse')")
        self.sql(TABLE)

    def step(self, folder: Path) -> dict[str, float]:
        if not any(folder.glob("*.parquet")):
            return {}
        began = time.perf_counter()
        with tempfile.TemporaryDirectory(dir=self.work) as lines:
            write_lines(folder, Path(lines))
            converted = time.perf_counter()
            self.sql(MESSAGES.format(folder=lines))
            self.sql(UPSERT)
            self.sql("drop temporary table messages")
            return {
                "conversion": converted - began,
                "flink": time.perf_counter() - converted,
            }

    def sql(self, statement: str) -> None:
        """Run a statement to its end."""
        getattr(self.flink.executeSql(statement), "await")()

    def write_result(self, path: Path) -> None:
        texts = ", ".join(f"cast({name} as string)" for name in COLUMNS)
        schema = pa.schema([(name, pa.string()) for name in COLUMNS])
        options = pyarrow.json.ParseOptions(explicit_schema=schema)
        with tempfile.TemporaryDirectory(dir=self.work) as folder:
            self.sql(RESULT.format(folder=folder))
            self.sql(f"insert into `result` select {texts} from lake.`default`.orders")
            self.sql("drop temporary table `result`")
            files = [file for file in Path(folder).iterdir() if file.is_file()]
            tables = [pyarrow.json.read_json(file, parse_options=options) for file in files]
        pq.write_table(pa.concat_tables(tables), path)

    def close(self) -> None:
        """Leave Java for the next deployment; it ends with this process."""
        self.sql("drop catalog lake")


def write_lines(folder: Path, target: Path) -> None:
    """Write the values of messages as lines of text."""
    for file in folder.glob("*.parquet"):
        with open(target / f"{file.stem}.json", "wb") as lines:
            for batch in pq.ParquetFile(file).iter_batches(columns=["value"]):
                lines.writelines(value + b"\n" for value in batch["value"].to_pylist())


@cache
def open_flink(memory: str) -> JavaObject:
    """Start Java with Flink and return a TableEnvironment; each job brings a cluster of 2 slots."""
    options = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    jars = ":".join(map(str, fetched_jars()))
    port = launch_gateway(classpath=jars, javaopts=[f"-Xmx{memory}", *options], die_on_exit=True)
    flink = JavaGateway(gateway_parameters=GatewayParameters(port=port)).jvm.org.apache.flink
    settings = flink.configuration.Configuration()
    settings.setString("parallelism.default", "2")
    settings.setString("taskmanager.numberOfTaskSlots", "2")
    settings.setString("taskmanager.memory.managed.size", "256m")
    environment = flink.table.api.EnvironmentSettings.newInstance().inBatchMode()
    return flink.table.api.TableEnvironment.create(environment.withConfiguration(settings).build())


def fetched_jars() -> list[Path]:
    """Return the jars of Flink and Paimon, fetched at the first call, and pyspark's of Hadoop.

    Raises:
        RuntimeError: they cannot be fetched.
    """
    home = Path(os.environ.get("BENCH_CACHE") or ".bench").absolute()
    flink, paimon = home / FLINK, home / "paimon"
    if not flink.exists():
        fetch_flink(flink)
    if not paimon.exists() and (reason := retrieve(IVY_FILE, paimon)):
        raise RuntimeError(f"Paimon could not be fetched:\n{reason}")
    hadoop = Path(pyspark.__file__).parent.glob("jars/hadoop-client-*.jar")
    return [*flink.glob("*.jar"), *paimon.glob("*.jar"), *hadoop]


def fetch_flink(folder: Path) -> None:
    """Fill a folder with the jars in Flink's package for Python, of which nothing is installed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-binary", ":all:", "--dest", temporary, FLINK]
        subprocess.run(command, check=True)
        jars = Path(temporary, "jars")
        jars.mkdir()
        with tarfile.open(next(Path(temporary).glob("*.tar.gz"))) as package:
            for member in package:
                if Path(member.name).match("deps/lib/*.jar"):
                    with open(jars / Path(member.name).name, "wb") as jar:
                        shutil.copyfileobj(package.extractfile(member), jar)
        jars.rename(folder)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        fetched_jars()
    else:
        run(FlinkPaimon)
