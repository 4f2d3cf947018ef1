"""A metastore that several processes use at once: LAKEHOUSE_METASTORE names it.

It is a Hive Metastore (thrift://) or a PostgreSQL database (jdbc:postgresql://), in which Spark
keeps what a Hive Metastore would keep there. Without it a lakehouse has a Derby of its own, which
one process opens at a time.
"""

import getpass
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import pyspark
from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jvm import java_context, jvm_of
from cdc_lakehouse.runtime.metastore import texts
from cdc_lakehouse.runtime.paths import lakehouse_dir
from cdc_lakehouse.runtime.servers import refusals
from cdc_lakehouse.storage.files import write_whole

SERVER = r"(?:\[[0-9A-Fa-f:.]+\]|[^\s,/:?\[\]]+)"
THRIFT = re.compile(rf"thrift://{SERVER}:\d{{1,5}}(?:,thrift://{SERVER}:\d{{1,5}})*")
POSTGRES = re.compile(rf"(jdbc:postgresql://({SERVER})(?::(\d{{1,5}}))?/[^\s/?]+)(?:\?(\S*))?")
JDO = "javax.jdo.option."
# The version of the tables that the Hive Metastore in pyspark's jars reads and writes.
SCHEMA_VERSION = "2.3.0"
# The number of PostgreSQL's advisory lock while the tables are made; any number does.
MAKING_TABLES = 7_120_230
FILE = "shared_metastore"


@dataclass(frozen=True)
class SharedMetastore:
    """What LAKEHOUSE_METASTORE names.

    Attributes:
        address: without user, password and other parameters, as it may be shown.
        servers: HOST:PORT of each.
        settings: of Spark; they may be seen, so that the password is not among them.
        password: of the database; an empty text for a Hive Metastore.
    """

    address: str
    servers: tuple[str, ...]
    settings: dict[str, str]
    password: str = ""

    def check_reachable(self) -> None:
        """Raise a LakehouseError if it takes no connection; Hive would try for minutes."""
        if reasons := refusals(self.servers):
            raise LakehouseError(
                f"LAKEHOUSE_METASTORE={self.address}: nothing answers at {', '.join(reasons)}. "
                "Start it, or correct the host and port."
            )

    def prepare(self, spark: SparkSession) -> None:
        """Let a session reach the metastore, before anybody asks it for a table.

        Raises:
            LakehouseError: the database refuses, or holds tables of another Hive Metastore.
        """
        if not self.address.startswith("jdbc:"):
            return
        # A setting of Spark would be on Java's command line, for everybody on the machine to see.
        java_context(spark.sparkContext).hadoopConfiguration().set(
            f"{JDO}ConnectionPassword", self.password
        )
        try:
            with self._connection(spark) as connection:
                self._make_tables(spark, connection)
        except Py4JJavaError as error:
            said = " ".join(error.java_exception.getMessage().split())
            raise LakehouseError(f"LAKEHOUSE_METASTORE={self.address} refuses: {said}") from None

    def _make_tables(self, spark: SparkSession, connection: JavaObject) -> None:
        """Make the tables of a metastore in a database that has none.

        Hive makes each when it is first asked for, amid a transaction that has locked others, and
        PostgreSQL then waits for ever. Two processes may both be the first.
        """
        statement = connection.createStatement()
        statement.execute(f"select pg_advisory_lock({MAKING_TABLES})")
        found = texts(connection, """select to_regclass('"VERSION"')::text""")
        versions = texts(connection, 'select "SCHEMA_VERSION" from "VERSION"') if found[0] else []
        if versions and not versions[0].startswith("2.3."):
            raise LakehouseError(
                f"LAKEHOUSE_METASTORE={self.address} holds the tables of Hive Metastore "
                f"{versions[0]}, and Spark's own is {SCHEMA_VERSION}. Name that metastore by "
                "thrift://HOST:9083, or a database of its own."
            )
        if versions:
            return
        _make_tables_of_classes(spark, self.settings, self.password)
        statement.execute(
            'create table if not exists "SEQUENCE_TABLE" '
            '("SEQUENCE_NAME" varchar(255) not null primary key, "NEXT_VAL" bigint not null)'
        )
        statement.execute(
            f"""insert into "VERSION" values (1, '{SCHEMA_VERSION}', 'made by cdc_lakehouse')"""
        )

    @contextmanager
    def _connection(self, spark: SparkSession) -> Iterator[JavaObject]:
        jvm, named = jvm_of(spark), self.settings
        jvm.java.lang.Class.forName(named[f"spark.hadoop.{JDO}ConnectionDriverName"])
        connection = jvm.java.sql.DriverManager.getConnection(
            named[f"spark.hadoop.{JDO}ConnectionURL"],
            named[f"spark.hadoop.{JDO}ConnectionUserName"],
            self.password,
        )
        try:
            yield connection
        finally:
            connection.close()


def shared_metastore() -> SharedMetastore | None:
    """Return what LAKEHOUSE_METASTORE names; None if it is not set.

    Raises:
        LakehouseError: it is nothing that can be used.
    """
    given = os.environ.get("LAKEHOUSE_METASTORE", "").strip()
    if not given:
        return None
    if THRIFT.fullmatch(given):
        servers = tuple(each.removeprefix("thrift://") for each in given.split(","))
        return SharedMetastore(given, servers, {"spark.hadoop.hive.metastore.uris": given})
    if match := POSTGRES.fullmatch(given):
        return _postgres(*match.groups())
    raise LakehouseError(
        f"LAKEHOUSE_METASTORE={given.partition('?')[0]} is no metastore to use. Name a Hive "
        "Metastore, thrift://HOST:9083, or a database of PostgreSQL, "
        "jdbc:postgresql://HOST:5432/DATABASE; unset it for the one in LAKEHOUSE_DIR."
    )


def _postgres(address: str, host: str, port: str | None, parameters: str) -> SharedMetastore:
    others = dict(parse_qsl(parameters or "", keep_blank_values=True))
    user = others.pop("user", None) or os.environ.get("PGUSER") or getpass.getuser()
    password = others.pop("password", None) or os.environ.get("PGPASSWORD") or ""
    values = {
        "ConnectionURL": f"{address}?{urlencode(others)}" if others else address,
        "ConnectionDriverName": "org.postgresql.Driver",
        "ConnectionUserName": user,
    }
    settings = {f"spark.hadoop.{JDO}{name}": value for name, value in values.items()}
    return SharedMetastore(address, (f"{host}:{port or 5432}",), settings, password)


def is_shared() -> bool:
    """Tell whether several processes use the tables of this lakehouse at once.

    So it is once a process has opened it with LAKEHOUSE_METASTORE, also for one that lacks that.
    """
    return bool(os.environ.get("LAKEHOUSE_METASTORE", "").strip()) or _noted() is not None


def shares(metastore: SharedMetastore) -> bool:
    """Tell whether this lakehouse is known to share a metastore."""
    return _noted() == metastore.address


def note_shared(metastore: SharedMetastore) -> None:
    """Note in the lakehouse which metastore it shares, so that nobody opens one of its own."""
    write_whole(lakehouse_dir() / FILE, f"{metastore.address}\n")


def refuse_own_metastore() -> None:
    """Raise a LakehouseError if this lakehouse shares a metastore that is not named here."""
    if noted := _noted():
        raise LakehouseError(
            f"{lakehouse_dir()} shares the metastore {noted}: set LAKEHOUSE_METASTORE to it. To "
            f"share none any longer, delete {lakehouse_dir() / FILE} when nobody uses the "
            "lakehouse; the next `dbt build` names the tables again."
        )


def _noted() -> str | None:
    try:
        return (lakehouse_dir() / FILE).read_text().strip()
    except (FileNotFoundError, NotADirectoryError):  # the latter is named where it is written to
        return None


def _make_tables_of_classes(spark: SparkSession, named: dict[str, str], password: str) -> None:
    """Let DataNucleus make the tables of all classes of the metastore that are not there."""
    jvm = jvm_of(spark)
    properties = jvm.java.util.Properties()
    for name, value in named.items():
        properties.setProperty(name.removeprefix("spark.hadoop."), value)
    for name, value in {
        f"{JDO}ConnectionPassword": password,
        "javax.jdo.PersistenceManagerFactoryClass": (
            "org.datanucleus.api.jdo.JDOPersistenceManagerFactory"
        ),
        "datanucleus.connectionPoolingType": "None",
        "datanucleus.schema.autoCreateAll": "true",
        # As Hive itself names tables and columns.
        "datanucleus.identifierFactory": "datanucleus1",
        "datanucleus.rdbms.useLegacyNativeValueStrategy": "true",
    }.items():
        properties.setProperty(name, value)
    factory = jvm.javax.jdo.JDOHelper.getPersistenceManagerFactory(properties)
    try:
        classes = jvm.java.util.HashSet()
        for name in _metastore_classes():
            classes.add(name)
        manager = factory.getNucleusContext().getStoreManager()
        manager.createSchemaForClasses(classes, jvm.java.util.Properties())
    finally:
        factory.close()


def _metastore_classes() -> list[str]:
    """Return the names of the classes that a Hive Metastore keeps in its database."""
    jar = next(Path(pyspark.__file__).parent.glob("jars/hive-metastore-*.jar"))
    with zipfile.ZipFile(jar) as archive:
        text = archive.read("package.jdo").decode()
    (package, *_) = re.findall(r'<package name="([\w.]+)"', text)
    return [f"{package}.{name}" for name in re.findall(r'<class name="(\w+)"', text)]
