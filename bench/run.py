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

from bench import start
from bench.topics import FORMATS, STEPS, generate
from cdc_lakehouse.runtime.java import find_java

HERE = Path(__file__).parent
OURS = "lakehouse"
UNSUPPORTED = 3  # the exit code of a contender that cannot read the format
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Measured:
    """One run of a contender, or the medians of several."""

    seconds: dict[str, float] = field(default_factory=dict)  # by step
    stages: dict[str, float] = field(default_factory=dict)  # seconds, of the first step
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


def medians(runs: list[Measured]) -> Measured:
    """Return the middle of each number; a table that is wrong once is wrong."""

    def middle(values: list[dict[str, float]]) -> dict[str, float]:
        names = dict.fromkeys(name for value in values for name in value)
        return {n: statistics.median(value[n] for value in values if n in value) for n in names}

    numbers = {
        name: statistics.median(getattr(run, name) for run in runs)
        for name in ("cpu", "memory", "files", "bytes")
    }
    return Measured(
        seconds=middle([run.seconds for run in runs]),
        stages=middle([run.stages for run in runs]),
        wrong=next((run.wrong for run in runs if run.wrong), ""),
        **numbers,
    )


def run_limits(format: str, topics: Path, work: Path, memory: str, repeats: int) -> dict:
    """Return the bare limits of a format: see bench/limits.py."""
    work.mkdir(parents=True)
    command = [sys.executable, "-m", "bench.limits", str(topics / STEPS[0]), "--format", format]
    command += ["--work", str(work), "--memory", memory, "--repeat", str(repeats)]
    done = subprocess.run(command, cwd=HERE.parent, stdout=subprocess.PIPE, text=True, check=True)
    shutil.rmtree(work)
    return json.loads(done.stdout.splitlines()[-1])


# ---------------------------------------------------------------------------- tables


def report(format: str, known: dict, found: dict[tuple[str, str], Measured], limits: dict) -> str:
    """Return the Markdown of one format.

    Args:
        known: what topics.json says.
        found: what was measured, by contender and how.
        limits: the bare limits, by name.
    """
    first = known["steps"][STEPS[0]]
    size = first["bytes"] / first["messages"]
    increments = ", ".join(f"{known['steps'][step]['messages']:,}" for step in STEPS[1:])
    lines = [
        f"## {format}",
        "",
        f"{first['messages']:,} messages of {size:,.0f} bytes on average, then {increments}; "
        f"{known['rows']:,} rows in the end.",
        "",
        "| contender | how | history s | messages/s | MB/s | stages s | time to ours | CPU s "
        "| peak memory | left on disk | increments s | table |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    ours = {how: _first(run) for (name, how), run in found.items() if name == OURS}
    for (name, how), run in sorted(found.items(), key=lambda item: item[0][1]):
        lines.append(_row(name, how, run, first, ours.get(how)))
    lines += [f"\n{n} ({how}): {run.wrong}." for (n, how), run in found.items() if run.wrong]
    if limits:
        silver = found.get((OURS, "warm"), found.get((OURS, "cold"), Measured())).stages
        lines += [
            "",
            "| bare limit | s | messages/s | MB/s | silver takes |",
            "|---|---|---|---|---|",
        ]
        for name, limit in limits.items():
            ratio = f"{silver['silver'] / limit['seconds']:.1f} x" if "silver" in silver else ""
            speed = f"{limit['messages_per_second']:,} | {limit['mb_per_second']:,.1f}"
            lines.append(f"| {name} | {limit['seconds']:.2f} | {speed} | {ratio} |")
    return "\n".join(lines) + "\n"


def _row(name: str, how: str, run: Measured, first: dict, ours: float | None) -> str:
    """Return the line of one contender."""
    took = _first(run)
    per_second = ["", ""]
    if took:
        per_second = [f"{first['messages'] / took:,.0f}", f"{first['bytes'] / took / 1e6:,.1f}"]
    cells = [
        name,
        how,
        f"{took:.1f}" if took else "",
        *per_second,
        ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in run.stages.items()),
        f"{took / ours:.2f} x" if took and ours else "",
        f"{run.cpu:.0f}",
        f"{run.memory / 2**30:.1f} GiB",
        f"{run.files:,.0f} files, {run.bytes / 1e6:,.0f} MB",
        " / ".join(f"{run.seconds[step]:.1f}" for step in STEPS[1:] if step in run.seconds),
        "WRONG" if run.wrong else "equal",
    ]
    return f"| {' | '.join(cells)} |"


def _first(run: Measured) -> float | None:
    return run.seconds.get(STEPS[0])


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


def bench_format(format: str, given: argparse.Namespace) -> tuple[str, bool]:
    """Run all that was asked for over one format; return its report and whether we are right."""
    size = f"{given.messages}x{given.history}"
    topics = given.work / "topics" / f"{format}-{size}"
    progress(f"topics of {format}, {given.messages:,} messages, history x {given.history}")
    known = generate(topics, format, given.messages, given.history)
    runs: dict[tuple[str, str], list[Measured]] = {}
    unread = set()
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
    found = {key: medians(some) for key, some in runs.items()}
    right = not any(run.wrong for (name, _), run in found.items() if name == OURS)
    text = report(format, known, found, limits)
    if unread:
        text += f"\nCannot read it: {', '.join(sorted(unread))}.\n"
    return text, right


def write_results(path: Path, sections: list[str]) -> None:
    """Put sections in place of those with the same heading; others stay as they were measured."""
    written = path.read_text().split("\n## ")[1:] if path.exists() else []
    all_sections = [*(f"## {section.rstrip()}\n" for section in written), *sections]
    by_heading = {section.partition("\n")[0]: section for section in all_sections}
    headings = [f"## {name}" for name in (*FORMATS, start.HEADING)]
    about = "# Results\n\nWhat the columns mean: [README.md](README.md).\n"
    path.write_text("\n".join([about, *(by_heading[h] for h in headings if h in by_heading)]))


def main() -> int:
    """Run the benchmark; return 1 if the table of this project itself is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench.run", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="of the history")
    parser.add_argument("--history", type=int, default=1, metavar="K", help="times as long")
    parser.add_argument("--only", nargs="+", default=contenders(), choices=contenders())
    parser.add_argument("--formats", nargs="+", default=list(FORMATS), choices=FORMATS)
    parser.add_argument("--how", nargs="+", default=["cold", "warm"], choices=["cold", "warm"])
    parser.add_argument("--repeat", type=int, default=3, help="medians of so many")
    parser.add_argument("--memory", default="4g", help="heap of each contender")
    parser.add_argument("--work", type=Path, default=HERE / ".work", help="topics and work folders")
    parser.add_argument(
        "--write", action="store_true", help="into bench/RESULTS.md, in place of the same formats"
    )
    parser.add_argument("--no-limits", action="store_true", help="leave the bare limits out")
    parser.add_argument("--no-start", action="store_true", help="leave runs without news out")
    parser.add_argument("--keep", action="store_true", help="keep the work folders")
    given = parser.parse_args()
    given.work = given.work.absolute()
    shutil.rmtree(given.work / "work", ignore_errors=True)
    found = [bench_format(format, given) for format in given.formats]
    reports = [report for report, _ in found]
    if not given.no_start:
        progress("runs that find nothing new")
        work = given.work / "work" / "start"
        work.mkdir(parents=True)
        reports.append(start.report(start.measure(work, given.memory, given.repeat)))
    asked = f"Medians of {given.repeat}; heap {given.memory}. {machine()}"
    sections = [f"{report.rstrip()}\n\n{asked}\n" for report in reports]
    print("\n".join(sections))
    if given.write:
        write_results(HERE / "RESULTS.md", sections)
    return 0 if all(right for _, right in found) else 1


if __name__ == "__main__":
    sys.exit(main())
