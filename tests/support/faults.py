"""Run the real commands and take them down: kill -9 where a watcher of the tables' folders says.

A command is started in a process group of its own. What it commits is told from the outside, by
polling the folders of the Delta tables, so that production code needs no hook for it.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

LAKEHOUSE, DBT = "cdc_lakehouse.console.cli", "dbt.cli.main"
POLL = 0.002  # seconds; a commit of Delta takes some hundred times as long


@dataclass(frozen=True)
class Place:
    """Where to kill: `before` or `after` a commit of a table, or at a `moment`.

    Before a commit is when its first data file is there, `delay` seconds later; after it is when
    the commit is in the log, `delay` seconds later. After the first commit of all is `created`.
    A moment is `delay` seconds after the start of the command.
    """

    when: str
    table: str = ""
    delay: float = 0.0
    python_alone: bool = False  # else all that the command has started

    def __str__(self):
        place = f"{self.when} {self.table}".strip()
        return f"{place} (Python alone)" if self.python_alone else place


@dataclass
class Kill:
    """What came of it: `reached` is where the command was when it died, None if it did not die."""

    place: Place
    reached: str | None
    commits: dict = field(default_factory=dict)  # of the command, by table
    seconds: float = 0

    @property
    def is_hit(self):
        """Whether the command died where it should."""
        return self.reached == self.place.when


class Process:
    """A command of the project, in a process group of its own."""

    def __init__(self, home, project, module, *arguments, log=None, environment=None, prefix=()):
        self.home, self.log = Path(home), Path(log or f"{home}.log")
        variables = {
            "LAKEHOUSE_DIR": str(home),
            "DBT_LOG_PATH": f"{home}.logs",
            "DBT_TARGET_PATH": f"{home}.target",
            "DBT_USE_COLORS": "false",
        }
        with open(self.log, "ab") as output:
            self.begin = output.tell()
            self.process = subprocess.Popen(
                # A namespace that is entered begins in its root.
                [*prefix, "env", f"--chdir={project}", *command(module, arguments)],
                cwd=project,
                env={**os.environ, **variables, **(environment or {})},
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def said(self):
        """What the command has printed."""
        return self.log.read_bytes()[self.begin :].decode(errors="replace")

    @property
    def runs(self):
        return self.process.poll() is None

    def wait(self):
        """Return the exit code when the command has ended."""
        return self.process.wait()

    def wait_for(self, happens):
        """Return when `happens()` is true; fail if the command ends before."""
        while not happens():
            assert self.runs or happens(), f"ended too early: {self.said}"
            time.sleep(POLL)

    def kill(self, python_alone=False):
        """Kill -9 the whole group, or Python alone, whose Java then ends by itself."""
        with suppress(ProcessLookupError):
            kill = os.kill if python_alone else os.killpg
            kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def command(module, arguments):
    """Return the words that run a module of Python."""
    return [sys.executable, "-u", "-m", module, *map(str, arguments)]


def run(home, project, module, *arguments, **options):
    """Run a command to its end; return the ended process."""
    process = Process(home, project, module, *arguments, **options)
    try:
        process.wait()
    finally:
        process.kill()
    return process


def table_folder(home, table):
    schema, name = table.split(".")
    return Path(home) / "warehouse" / f"{schema}.db" / name


def commits_of(folder):
    """Return the number of commits in a table's log."""
    with suppress(FileNotFoundError), os.scandir(folder / "_delta_log") as entries:
        return sum(e.name.endswith(".json") and e.name[0] != "." for e in entries)
    return 0


def data_files_of(folder):
    """Return the paths of a table's data files, deletion vectors among them."""
    found, folders = set(), [folder]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name[0] in "._":
                    continue
                if entry.is_dir():
                    folders.append(entry.path)
                elif entry.name.endswith((".parquet", ".bin")):
                    found.add(entry.path)
    return found


def all_commits(home):
    """Return the number of commits of every table, by name."""
    logs = Path(home).glob("warehouse/*.db/*/_delta_log")
    names = {f"{log.parents[1].stem}.{log.parent.name}": log.parent for log in logs}
    return {name: commits_of(folder) for name, folder in names.items()}


def kill_at(place, home, project, module, *arguments, **options):
    """Run a command and kill it at a place; return the Kill.

    A command that ends by itself before it comes there is left to: then nothing was reached.
    """
    before, began = all_commits(home), time.monotonic()
    folder = table_folder(home, place.table) if place.table else None
    reached = None
    files = data_files_of(folder) if folder else set()
    process = Process(home, project, module, *arguments, **options)
    try:
        known = commits = before.get(place.table, 0)
        while process.runs:
            if folder is None:
                if time.monotonic() - began >= place.delay:
                    break
            elif place.when == "before":
                commits = commits_of(folder)
                now = data_files_of(folder)
                if commits > known:
                    known, files = commits, now
                elif now - files:
                    time.sleep(place.delay)
                    break
            elif commits_of(folder) > known:
                time.sleep(place.delay)
                break
            time.sleep(POLL)
        else:
            return Kill(place, None, _new_commits(before, home), time.monotonic() - began)
        process.kill(place.python_alone)
        reached = "moment"
        if folder is not None and place.when != "moment":
            reached = _reached(known, commits_of(folder))
    finally:
        if not place.python_alone:
            process.kill()
    return Kill(place, reached, _new_commits(before, home), time.monotonic() - began)


def _reached(known, commits):
    if commits == known:
        return "before"
    return "after" if known else "created"


def _new_commits(before, home):
    now = all_commits(home)
    return {n: count - before.get(n, 0) for n, count in now.items() if count > before.get(n, 0)}


class SmallDisk:
    """A file system of its own with little room, in which commands run; or what comes near to it.

    Where neither root nor a user namespace may mount one, a limit on the size of files stands in
    for it: a write beyond that fails in the same places, only with another reason.
    """

    def __init__(self, folder, size):
        """Make it at `folder`, with `size` bytes."""
        folder.mkdir()
        self.size, self.limit = size, None
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        mount = 'mount -t tmpfs -o size="$1" tmpfs "$2" && echo ready && exec sleep infinity'
        self.holder = subprocess.Popen(
            ["unshare", "--mount", *user, "sh", "-c", mount, "sh", str(size), str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.is_mounted = self.holder.stdout.readline() == b"ready\n"
        self.folder = folder
        self.seen = folder
        if self.is_mounted:
            self.seen = Path(f"/proc/{self.holder.pid}/root{folder}")
        self.enter = ["nsenter", f"--target={self.holder.pid}", "--mount"]
        self.enter += ["--user", "--preserve-credentials"] if user else []

    @property
    def prefix(self):
        """What a command begins with to run there."""
        if self.is_mounted:
            return self.enter
        return ["prlimit", f"--fsize={self.limit}"] if self.limit else []

    @property
    def reason(self):
        return "No space left on device" if self.is_mounted else "File too large"

    def leave(self, free, limit):
        """Leave `free` bytes of room; where that cannot be, no file above `limit` bytes."""
        self.empty()
        self.limit = limit
        if self.is_mounted:
            status = os.statvfs(self.seen)
            used = self.size - status.f_bavail * status.f_frsize
            with open(self.seen / "filler", "wb") as filler:
                os.posix_fallocate(filler.fileno(), 0, self.size - used - free)

    def empty(self):
        """Give all the room back."""
        self.limit = None
        (self.seen / "filler").unlink(missing_ok=True)

    def close(self):
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()
