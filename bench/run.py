"""Run the contenders over the same topics, one after the other, and say what each cost.

What a contender leaves is compared with the table that the topics were made from, text by text.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bench import results, start
from bench.results import measured, spread, table
from bench.topics import FORMATS, STEPS, generate
from cdc_lakehouse.runtime.java import find_java

HERE = Path(__file__).parent
OURS = "lakehouse"
# Of which stage of this project a bare limit is the limit.
STAGES = {"Delta write": "ingest", "from_json": "silver", "fastavro": "silver", "max_by": "gold"}
UNSUPPORTED = 3  # the exit code of a contender that cannot read the format
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Measured:
    """One run of a contender."""

    seconds: dict[str, float] = field(default_factory=dict)  # by step
    stages: dict[str, float] = field(default_factory=dict)  # seconds, of the first step
    compilers: float = 0  # seconds of Java's compilers in the first step
    cpu: float = 0  # seconds of the whole process and its children
    memory: int = 0  # bytes at the peak, of all processes together
    files: int = 0  # that the first deployment left
    bytes: int = 0
    wrong: str = ""  # how the table differs from what is expected, or why there is none


class Watch(threading.Thread):
    """Samples memory and CPU of a process and all that it started, twice a second."""

    def __init__(self, leader: int) -> None:
        super().__init__(daemon=True)
        self.leader, self.peak, self.ended = leader, 0, threading.Event()
        self.ticks: dict[tuple[int, int], int] = {}  # of CPU, by process and its start
        self.alive: set[tuple[int, int]] = set()

    def run(self) -> None:
        while not self.ended.wait(0.5):
            self.sample()

    def sample(self) -> None:
        """Look at the processes of the leader's session, and at the children of such processes."""
        memory, alive, sizes = 0, set(), {}
        members = {process for process, _ in self.alive} | {self.leader}
        for process in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
            with suppress(OSError):
                fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
                parent, session, started = int(fields[1]), int(fields[3]), int(fields[19])
                if session == self.leader or parent in members:
                    members.add(process)
                    alive.add((process, started))
                    self.ticks[process, started] = int(fields[11]) + int(fields[12])
                    sizes[process] = int(fields[20])
                    # Equal, it is a fork before its own program begins: the pages are its parent's.
                    if sizes[process] != sizes.get(parent):
                        memory += int(fields[21]) * PAGE
        self.peak, self.alive = max(self.peak, memory), alive

    def stop(self) -> None:
        """End the watch, and what the leader has left behind."""
        self.ended.set()
        self.join()
        time.sleep(1)  # a Java notices within it that its Python has gone
        self.sample()
        for process, _ in self.alive:
            with suppress(ProcessLookupError):
                os.kill(process, 9)

    @property
    def cpu(self) -> float:
        return sum(self.ticks.values()) / TICKS


def run_contender(
    name: str, how: str, format: str, topics: Path, work: Path, memory: str
) -> Measured | None:
    """Run a contender in a fresh work folder; None if it cannot read the format.

    Args:
        how: `cold`, from the start of the process, or `warm`, the second round of a process.
    """
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    command = [sys.executable, "-m", f"bench.contenders.{name}", "--format", format]
    command += ["--work", str(work), "--memory", memory] + ["--warm"] * (how == "warm")
    command += [str(topics / step) for step in STEPS]
    measured, began = Measured(), time.perf_counter()
    errors = work.with_suffix(".stderr")
    with open(errors, "wb") as file:
        process = subprocess.Popen(
            command,
            cwd=HERE.parent,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            start_new_session=True,
        )
        watch = Watch(process.pid)
        since = began if how == "cold" else None
        # A thread, for what a contender leaves behind may keep its end of the pipe open.
        reader = threading.Thread(target=_read, args=(process.stdout, measured, since), daemon=True)
        watch.start()
        reader.start()
        try:
            code = process.wait()
        finally:
            process.kill()
            watch.stop()
    reader.join(10)
    measured.cpu, measured.memory = watch.cpu, watch.peak
    said = errors.read_text(errors="replace").strip()
    errors.unlink()
    if code == UNSUPPORTED:
        progress(f"{name} cannot read {format}: {said}")
        return None
    measured.files, measured.bytes = written(work)
    if code:
        last = said.splitlines()[-1] if said else "it says nothing"
        progress(said[-4000:] or last)
        measured.wrong = f"ended with code {code}: {last[:300]}"
    else:
        measured.wrong = differences(work / "result.parquet", topics / "expected.parquet")
    return measured


def _read(lines: Iterable[str], measured: Measured, began: float | None) -> None:
    """Note what a contender prints after each step; other lines are none of ours.

    Args:
        began: when the process did, if the first step counts from there.
    """
    for line in lines:
        with suppress(json.JSONDecodeError, KeyError, TypeError):
            said = json.loads(line)
            step, seconds = said["step"], said["seconds"]
            if not measured.seconds:
                seconds = time.perf_counter() - began if began else seconds
                measured.stages = said.get("stages") or {}
                measured.compilers = said.get("compilers") or 0
            measured.seconds[step] = seconds


def written(work: Path) -> tuple[int, int]:
    """Return how many files a deployment has left and their bytes, without warm-up and result."""
    left_out = ("warm-up", "result.parquet")
    below = (p for p in work.rglob("*") if p.relative_to(work).parts[0] not in left_out)
    sizes = [path.lstat().st_size for path in below if path.is_file() and not path.is_symlink()]
    return len(sizes), sum(sizes)


def differences(result: Path, expected: Path) -> str:
    """Return how a table differs from the expected one, in one sentence; nothing if it does not."""
    if not result.exists():
        return "there is no result"
    wanted = pq.read_table(expected).sort_by("id")
    found = pq.read_table(result)
    if lacking := set(wanted.schema.names) - set(found.schema.names):
        return f"the columns {', '.join(sorted(lacking))} are missing"
    found = found.select(wanted.schema.names).cast(wanted.schema).sort_by("id")
    missing = pc.sum(pc.invert(pc.is_in(wanted["id"], found["id"].combine_chunks()))).as_py() or 0
    extra = pc.sum(pc.invert(pc.is_in(found["id"], wanted["id"].combine_chunks()))).as_py() or 0
    if missing or extra or len(found) != len(wanted):
        return f"{len(found)} rows for {len(wanted)}: {missing} missing, {extra} too many"
    unlike = []
    for name in wanted.schema.names:
        if not found[name].equals(wanted[name]):
            unlike.append(_difference(name, found, wanted))
    return "; ".join(unlike)


def _difference(name: str, found: pa.Table, wanted: pa.Table) -> str:
    """Say in how many rows a column differs, and how in the first of them."""
    rows = zip(wanted["id"].to_pylist(), found[name].to_pylist(), wanted[name].to_pylist())  # noqa: B905
    unlike = [(id, has, wants) for id, has, wants in rows if has != wants]
    id, has, wants = unlike[0]
    return f"{name} in {len(unlike)} rows (id {id}: {str(has)[:60]!r} for {str(wants)[:60]!r})"


def run_limits(
    format: str, topics: Path, work: Path, memory: str, repeats: int
) -> dict[str, list[float]]:
    """Return the seconds of the bare limits of a format, each time: see bench/limits.py."""
    work.mkdir(parents=True)
    command = [sys.executable, "-m", "bench.limits", str(topics / STEPS[0]), "--format", format]
    command += ["--work", str(work), "--memory", memory, "--repeat", str(repeats)]
    done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(work)
    return json.loads(done.stdout.splitlines()[-1])


def reports(format: str, known: dict, runs: dict, limits: dict, unread: set[str]) -> dict:
    """Return the tables of one format, by the questions that they answer.

    Args:
        known: what topics.json says.
        runs: what was measured, by contender and how: one Measured for each time.
        limits: the seconds of the bare limits, each time, by name.
        unread: the contenders that cannot read the format.
    """
    first = known["steps"][STEPS[0]]
    size = first["bytes"] / first["messages"]
    name = f"{format}, {first['messages']:,} messages of {size:,.0f} bytes"
    order = sorted(runs, key=lambda key: key[1])
    ours = {how: runs[OURS, how] for contender, how in order if contender == OURS}
    histories = [_history(*key, runs[key], first, ours.get(key[1])) for key in order]
    columns = ("system", "how", "history s", "time to ours", "messages/s", "stages s")
    columns += ("compilers s", "CPU s", "peak memory", "left on disk", "table")
    text = table(columns, histories)
    text += "".join(
        f"\n\n{n} ({how}): {run.wrong}." for (n, how) in order for run in runs[n, how] if run.wrong
    )
    if unread:
        text += f"\n\nCannot read it: {', '.join(sorted(unread))}."
    found = {(results.HISTORY, name): text}
    counts = [f"{known['steps'][step]['messages']:,} messages, s" for step in STEPS[1:-1]]
    increments = [
        [*key, *(spread(_seconds(runs[key], step)) for step in STEPS[1:])] for key in order
    ]
    columns = ("system", "how", *counts, "nothing, s")
    found[results.INCREMENTS, name] = table(columns, increments)
    if limits:
        found[results.LIMITS, name] = _limits(limits, ours.get("warm") or ours.get("cold") or [])
    return found


def _seconds(runs: list[Measured], step: str) -> list[float]:
    return [run.seconds[step] for run in runs if step in run.seconds]


def _history(
    name: str, how: str, runs: list[Measured], first: dict, ours: list[Measured] | None
) -> list[str]:
    """Return the line of one contender."""
    seconds = _seconds(runs, STEPS[0])
    took = statistics.median(seconds) if seconds else None
    own = statistics.median(_seconds(ours, STEPS[0])) if ours else None
    stages = dict.fromkeys(stage for run in runs for stage in run.stages)
    figures = ("compilers", "cpu", "files", "bytes")
    middle = {name: statistics.median(getattr(run, name) for run in runs) for name in figures}
    return [
        name,
        how,
        spread(seconds),
        f"{took / own:.2f} x" if took and own else "",
        f"{first['messages'] / took:,.0f}" if took else "",
        ", ".join(f"{stage} {spread(run.stages[stage] for run in runs)}" for stage in stages),
        f"{middle['compilers']:.0f}" if middle["compilers"] else "",
        f"{middle['cpu']:.0f}",
        f"{max(run.memory for run in runs) / 2**30:.1f} GiB",
        f"{middle['files']:,.0f} files, {middle['bytes'] / 1e6:,.0f} MB",
        "WRONG" if any(run.wrong for run in runs) else "equal",
    ]


def _limits(limits: dict[str, list[float]], ours: list[Measured]) -> str:
    """Return the bare limits beside the stages of this project that they are the limits of."""
    lines = []
    for name, seconds in limits.items():
        stage = STAGES.get(name)
        took = [run.stages[stage] for run in ours if stage in run.stages]
        ratio = f"{statistics.median(took) / statistics.median(seconds):.2f} x" if took else ""
        lines.append([name, spread(seconds, 2), stage or "", spread(took), ratio])
    return table(("bare limit", "s", "stage", "takes s", ""), lines)


def machine() -> str:
    """Describe what all this ran on, in one line."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PHYS_PAGES") * PAGE / 2**30
    java = subprocess.run([find_java(), "-version"], capture_output=True, text=True).stderr
    versions = ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in ("pyspark", "dbt-core", "fastavro")
    )
    return (
        f"{len(os.sched_getaffinity(0))} cores ({cpu[1].strip() if cpu else platform.machine()}), "
        f"{memory:.0f} GiB of memory, {java.splitlines()[0]}, "
        f"Python {platform.python_version()}, {versions}."
    )


def how(repeats: int, memory: str) -> str:
    """Say how often and on what something was measured; to be asked before Spark is there."""
    return f"{repeats} runs; heap {memory}. {machine()}"


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make a folder beside the benchmark that is gone in the end."""
    (HERE / ".work").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HERE / ".work") as folder:
        yield Path(folder)


def progress(text: str) -> None:
    """Tell the person who waits."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def contenders() -> list[str]:
    """Return the names of all contenders, this project first."""
    found = sorted(path.stem for path in (HERE / "contenders").glob("[a-z]*.py"))
    return sorted(found, key=lambda name: name != OURS)


def bench_format(format: str, given: argparse.Namespace) -> tuple[dict, bool]:
    """Run all that was asked for over one format; return its tables and whether we are right."""
    size = f"{given.messages}x{given.history}"
    topics = given.work / "topics" / f"{format}-{size}"
    progress(f"topics of {format}, {given.messages:,} messages, history x {given.history}")
    known = generate(topics, format, given.messages, given.history)
    runs: dict[tuple[str, str], list[Measured]] = {}
    unread: set[str] = set()
    for repeat in range(given.repeat):
        for name in given.only:
            for how in given.how:
                if name in unread:
                    continue
                work = given.work / "work" / f"{name}-{how}"
                progress(f"{format}: {name}, {how}, {repeat + 1} of {given.repeat}")
                run = run_contender(name, how, format, topics, work, given.memory)
                if not given.keep:
                    shutil.rmtree(work, ignore_errors=True)
                if run is None:
                    unread.add(name)
                    continue
                runs.setdefault((name, how), []).append(run)
                steps = ", ".join(f"{seconds:.1f}" for seconds in run.seconds.values())
                progress(f"  {steps} s; {f'WRONG: {run.wrong}' if run.wrong else 'table equal'}")
    limits = {}
    if not given.no_limits:
        progress(f"{format}: bare limits")
        limits = run_limits(
            format, topics, given.work / "work" / "limits", given.memory, given.repeat
        )
    right = not any(run.wrong for (name, _), some in runs.items() if name == OURS for run in some)
    return reports(format, known, runs, limits, unread), right


def main() -> int:
    """Run the benchmark; return 1 if the table of this project itself is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the history")
    parser.add_argument("--history", type=int, default=1, metavar="K", help="times as long")
    parser.add_argument("--only", nargs="+", default=contenders(), choices=contenders())
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--how", nargs="+", default=["cold", "warm"], choices=["cold", "warm"])
    parser.add_argument("--repeat", type=int, default=3, help="times that each is run")
    parser.add_argument("--memory", default="4g", help="heap of each contender")
    parser.add_argument("--work", type=Path, default=HERE / ".work", help="topics and work folders")
    parser.add_argument("--write", action="store_true", help="into bench/RESULTS.md")
    parser.add_argument("--no-limits", action="store_true", help="leave the bare limits out")
    parser.add_argument("--no-start", action="store_true", help="leave runs without news out")
    parser.add_argument("--keep", action="store_true", help="keep the work folders")
    given = parser.parse_args()
    given.work = given.work.absolute()
    shutil.rmtree(given.work / "work", ignore_errors=True)
    where = how(given.repeat, given.memory)
    is_right = True
    for format in given.formats:
        found, right = bench_format(format, given)
        results.show({part: measured(text, where) for part, text in found.items()}, given.write)
        is_right = is_right and right
    if not given.no_start:
        progress("runs that find nothing new")
        work = given.work / "work" / "start"
        work.mkdir(parents=True)
        found = start.report(start.measure(work, given.memory, given.repeat))
        results.show({part: measured(text, where) for part, text in found.items()}, given.write)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
