"""Choose what Java and its Python workers see of the environment: Java sees no key or password.

Clients of Thrift and readers of Java's logs may see what Java sees. So Java is started with those
variables alone that Java, Hadoop and Spark know. The Python functions of udfs/ also get the others:
they belong to the project, and one of them needs the key of the hash.
"""

import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark import SparkContext, java_gateway

# By which Java, Hadoop, Hive, Spark and the clients of object storage find files and addresses.
PLAIN = re.compile(
    r"PATH|CLASSPATH|HOME|USER|LOGNAME|SHELL|PWD|TERM|LANG|LANGUAGE|TZ|TMPDIR|HOSTNAME|VIRTUAL_ENV|SHLVL|OLDPWD|_"
    r"|(?:LC|_?JAVA|JDK|LD|PYTHON|PYSPARK|_PYSPARK|SPARK|_SPARK|HADOOP|HIVE|KRB5|KUBERNETES|ARROW"
    r"|OMP|MALLOC|COVERAGE|PYTEST)_?\w*"
    r"|AWS_(?!ACCESS_KEY_ID|SECRET_|SESSION_TOKEN)\w*|GOOGLE_APPLICATION_CREDENTIALS|CLOUDSDK_\w*"
)
# What Spark itself takes from the environment of its driver, and where it puts it.
S3A = {
    "AWS_ACCESS_KEY_ID": "fs.s3a.access.key",
    "AWS_SECRET_ACCESS_KEY": "fs.s3a.secret.key",
    "AWS_SESSION_TOKEN": "fs.s3a.session.token",
}
# What Kafka's client, which is Java, takes from the environment by the options of this command.
_asked: set[str] = set()
# It tells a Python function where its variables have to be set, for its error.
PLACE = "LAKEHOUSE_STARTED_BY"


def let_java_have(names: Iterable[str]) -> None:
    """Let a Java that is started from now on have these names of the environment, too."""
    _asked.update(names)


def _is_for_java(name: str) -> bool:
    return name in _asked or PLAIN.fullmatch(name) is not None


@contextmanager
def hidden_from_java() -> Iterator[None]:
    """Let a Java that PySpark starts inside see only those variables that are for Java.

    The environment itself does not change, since other threads read it.
    """
    # `Popen` is a name that PySpark imports for itself, which only `vars` gives to others.
    names = vars(java_gateway)
    start = names["Popen"]

    def start_java(*command: Any, env: Mapping[str, str], **further: Any) -> Any:
        plain = {name: value for name, value in env.items() if _is_for_java(name)}
        return start(*command, env=plain, **further)

    names["Popen"] = start_java
    try:
        yield
    finally:
        names["Popen"] = start


def _hidden() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not _is_for_java(name)}


def give_to_functions(context: SparkContext) -> None:
    """Let the Python functions that are registered from now on have the whole environment.

    Those of a cluster have that of its executors, where a key has to be set.
    """
    if not str(context.master).startswith("local"):
        return
    context.environment.update(_hidden())
    if sys.argv[1:2] == ["serve"]:
        context.environment[PLACE] = f"`lakehouse serve` (process {os.getpid()})"


def give_to_hadoop(configuration: JavaObject) -> None:
    """Let Hadoop's client of S3 have the credentials of the environment, where it has none."""
    for name, option in S3A.items():
        if os.environ.get(name) and not configuration.get(option):
            configuration.set(option, os.environ[name])
