"""Spark's Thrift server in the session that serves: SQL for beeline, JDBC, ODBC and BI tools."""

import ipaddress
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.runtime.jvm import jvm_of
from cdc_lakehouse.runtime.paths import work_dir
from cdc_lakehouse.serve.guard import open_guarded
from cdc_lakehouse.storage.files import make_folder

HIVE = "hive.server2."
AUTHENTICATION, TLS = f"{HIVE}authentication", f"{HIVE}use.SSL"
KEYSTORE, KEYSTORE_PASSWORD = f"{HIVE}keystore.path", f"{HIVE}keystore.password"
# The methods of Hive that ask a client who it is.
AUTHENTICATIONS = ("LDAP", "CUSTOM", "PAM", "KERBEROS")
OF_AUTHENTICATION = (f"{AUTHENTICATION}.", f"{HIVE}custom.")
# Settings that have options of the command line.
TAKEN = (f"{HIVE}thrift.port", f"{HIVE}thrift.bind.host")


def read_options(file: str | None) -> dict[str, str]:
    """Read the options of the Thrift server, NAME=VALUE in each line, for example its keystore.

    Raises:
        LakehouseError: the file cannot be read, or a line is no option of the Thrift server.
    """
    if file is None:
        return {}
    try:
        lines = [line.strip() for line in Path(file).read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LakehouseError(f"{file} cannot be read: {reason}.") from None
    options = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name.startswith(HIVE) or name in TAKEN:
            raise LakehouseError(
                f"{file}, line {number}: an option is {HIVE}NAME=VALUE. Its host and port are "
                "--host and --port."
            )
        options[name] = value
    return options


def check_safe(host: str, options: Mapping[str, str]) -> None:
    """Refuse to answer other machines without asking who they are, and in the clear.

    Raises:
        LakehouseError: the host is not of this machine alone, and authentication or TLS is missing.
    """
    if options.get(AUTHENTICATION, "NONE").upper() not in ("NONE", "NOSASL", *AUTHENTICATIONS):
        raise LakehouseError(
            f"{AUTHENTICATION}={options[AUTHENTICATION]} is none that Spark's Thrift server has: "
            f"{', '.join(AUTHENTICATIONS)}."
        )
    if has_tls := options.get(TLS, "false").lower() == "true":
        for name in (KEYSTORE, KEYSTORE_PASSWORD):
            if not options.get(name):
                raise LakehouseError(f"{TLS}=true needs {name}.")
        if not Path(options[KEYSTORE]).is_file():
            raise LakehouseError(f"{KEYSTORE}={options[KEYSTORE]}: there is no such file.")
    if is_loopback(host):
        return
    lacking = []
    if options.get(AUTHENTICATION, "NONE").upper() not in AUTHENTICATIONS:
        lacking.append(f"{AUTHENTICATION} ({', '.join(AUTHENTICATIONS)})")
    if not has_tls:
        lacking.append(f"{TLS}=true with {KEYSTORE} and {KEYSTORE_PASSWORD}")
    if lacking:
        raise LakehouseError(
            f"--host {host} lets other machines in, who could read and change everything. It needs "
            f"{' and '.join(lacking)} in --options-file FILE; or leave --host 127.0.0.1."
        )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine reaches an address."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError as error:
        raise LakehouseError(
            f"--host {host}: {error.strerror}. Name one of this machine."
        ) from None
    return all(ipaddress.ip_address(each[4][0]).is_loopback for each in found)


def check_free(host: str, port: int, option: str) -> None:
    """Raise a LakehouseError if nobody can listen at an address that `option` names."""
    try:
        with socket.create_server((host, port)):
            pass
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LakehouseError(
            f"{host}:{port}: {reason}. Choose another port with {option}."
        ) from None


def start(
    spark: SparkSession,
    host: str,
    port: int,
    options: Mapping[str, str],
    is_read_only: bool = False,
) -> JavaObject:
    """Start the server, and return it; each of its connections has a session of its own.

    Args:
        is_read_only: whether the user who runs this process may only read, as others do.
    """
    # The options are of a session that nobody else has: among them may be a password.
    session = open_guarded(spark, is_read_only)
    scratch = make_folder(work_dir() / "tmp" / "thrift")
    given = {
        TAKEN[0]: str(port),
        TAKEN[1]: host,
        f"{HIVE}transport.mode": "binary",
        f"{HIVE}enable.doAs": "false",
        # Or a user could come in and say to be another.
        f"{HIVE}allow.user.substitution": "false",
        # They would hold statements, with values of rows.
        f"{HIVE}logging.operation.enabled": "false",
        "hive.exec.scratchdir": str(scratch),
        "hive.exec.local.scratchdir": str(scratch),
        **options,
    }
    for name, value in given.items():
        session.conf().set(name, value)
        if name.startswith(OF_AUTHENTICATION):  # Hive's classes for it look nowhere else
            jvm_of(spark).java.lang.System.setProperty(name, value)
    kind = jvm_of(spark).org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
    # In a thread that has used the metastore, Hive would take the options of that use.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(kind.startWithSparkSession, session, False).result()
