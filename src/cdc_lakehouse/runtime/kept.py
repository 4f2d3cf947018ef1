"""Keep a Spark for the next commands of a terminal, so that only the first of them starts one.

The first command lets another process start it (`cdc_lakehouse.serve.keeper`), and joins that as
others join `lakehouse serve`. It ends after some idle minutes, with its terminal, where memory runs
short, and as soon as a command needs the lakehouse for itself or has other surroundings.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdc_lakehouse.errors import LakehouseError
from cdc_lakehouse.package import RELEASE
from cdc_lakehouse.runtime import standalone
from cdc_lakehouse.runtime.durations import seconds_of
from cdc_lakehouse.runtime.leases import began
from cdc_lakehouse.runtime.paths import lakehouse_dir, storage_scheme, work_dir
from cdc_lakehouse.runtime.project import project_folder
from cdc_lakehouse.runtime.settings import settings
from cdc_lakehouse.runtime.shared_metastore import is_shared
from cdc_lakehouse.storage.files import make_folder

NAME = "LAKEHOUSE_KEEP_WARM"
IDLE = "10m"  # where a person types the commands
OFF = ("off", "no", "0")
MODULE = "cdc_lakehouse.serve.keeper"
WORDS = "keeps Spark"  # by which it is known to who waits for it
# What tells terminals apart, and changes nothing of what Spark and its functions do.
VOLATILE = re.compile(
    r"_|PWD|OLDPWD|SHLVL|PS1|TERM|TERM_\w+|COLORTERM|COLUMNS|LINES|LS_COLORS|WINDOWID|DISPLAY"
    r"|TMUX\w*|STY|SSH_\w+|XDG_\w+|DBUS_\w+|VSCODE_\w+|ITERM_\w+|HIST\w+|LESS\w*|DBT_\w+|MAKE\w*"
    rf"|MFLAGS|{NAME}"
)
OF_CONTAINER = Path("/.dockerenv")
ENDS_WITHIN = 20  # seconds that Java is given to end
NOTICED_WITHIN = 5  # seconds in which it is known that a command does not use it any more


def idle_seconds() -> int:
    """Return after how many idle seconds a Spark ends that is kept; 0 if none is kept.

    Raises:
        LakehouseError: LAKEHOUSE_KEEP_WARM is no time.
    """
    said = _said()
    # The locks of a shared lakehouse are others' as well, and a cluster's cores.
    if is_off() or storage_scheme() or is_shared() or standalone.is_cluster(standalone.master()):
        return 0
    if not said and not _is_at_a_terminal():
        return 0
    try:
        return seconds_of(said or IDLE)
    except ValueError as error:
        raise LakehouseError(f"{NAME}: {error}; off keeps none.") from None


def is_off() -> bool:
    """Tell whether no Spark is to be kept, nor used."""
    return _said() in OFF


def _said() -> str:
    return os.environ.get(NAME, "").strip().lower()


def _is_at_a_terminal() -> bool:
    streams = (sys.stdin, sys.stderr)
    is_typed = all(stream is not None and stream.isatty() for stream in streams)
    return is_typed and not os.environ.get("CI") and not OF_CONTAINER.exists()


def surroundings(overrides: Mapping[str, str] | None) -> dict[str, str]:
    """Return what a Spark is started with, as digests of it.

    Args:
        overrides: settings of the profile; None where any will do.
    """
    environment = {k: v for k, v in os.environ.items() if not VOLATILE.fullmatch(k)}
    of_process = [RELEASE, sys.prefix, str(project_folder()), str(lakehouse_dir()), environment]
    found = {"surroundings": _digest(of_process)}
    if overrides is None:
        return found
    return found | {"settings": _digest({**settings(metastore=True, is_long=False), **overrides})}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def start(idle: int, overrides: Mapping[str, str] | None) -> bool:
    """Let another process start a Spark; tell whether it is there to be joined.

    Where it does not start, this process tells why when it starts its own.
    """
    asked = {
        "idle": idle,
        "leader": os.getsid(0),
        "overrides": dict(overrides or {}),
        "surroundings": surroundings(overrides or {}),
        "project": str(project_folder()),
    }
    with open(make_folder(work_dir()) / "spark.log", "ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE],  # the project's folder holds no modules of ours
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=project_folder(),
            start_new_session=True,  # Ctrl-C is for the command
        )
    assert process.stdin is not None and process.stdout is not None
    with process.stdin, process.stdout:
        process.stdin.write(json.dumps(asked).encode())
        process.stdin.close()
        is_ready = process.stdout.readline().strip() == b"ready"
    if is_ready:
        said = f"`lakehouse stop` ends it, {NAME}=off keeps none."
        print(
            f"lakehouse: Spark stays for {_text(idle)}, for the next commands; {said}",
            file=sys.stderr,
            flush=True,
        )
    return is_ready


def _text(idle: int) -> str:
    return f"{idle} idle seconds" if idle % 60 else f"{idle // 60} idle minutes"


def name_of(process: int) -> dict[str, Any]:
    """Return what tells a process that keeps a Spark from others."""
    return {"process": process, "began": began(process)}


def is_there(named: Mapping[str, Any]) -> bool:
    """Tell whether the process of a `name_of` has not ended."""
    return bool(began(named["process"]) == named["began"])


def wait_for_end(named: Mapping[str, Any]) -> None:
    """Wait until the process of a `name_of`, which ends, has ended."""
    deadline = time.monotonic() + ENDS_WITHIN
    while is_there(named) and time.monotonic() < deadline:
        time.sleep(0.05)
