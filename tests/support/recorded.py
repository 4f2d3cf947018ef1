"""How long each test took: what a run says at its end, and what `tests/timings.json` keeps.

Seconds are those of a worker: what a test and its set-up took while another worker was at it too.
"""

import json
from collections import defaultdict
from pathlib import Path

KEPT = Path(__file__).parents[1] / "timings.json"
# A test that takes less is counted with its module only.
NAMED_FROM_SECONDS = 1.0
# What a module counts for of which nothing is kept.
UNKNOWN_SECONDS = 60.0


def timings(seconds):
    """Return for each module its seconds, and those of its slower tests, by test id: seconds."""
    modules = defaultdict(dict)
    for test, took in seconds.items():
        module, _, name = test.partition("::")
        modules[Path(module).name][name] = took
    return {
        module: {
            "seconds": round(sum(tests.values()), 1),
            "slow": {
                name: round(took, 1)
                for name, took in sorted(tests.items())
                if took >= NAMED_FROM_SECONDS
            },
        }
        for module, tests in sorted(modules.items())
    }


def merged(kept, new):
    """Return what is kept with the modules that were run in place of what they took before."""
    return dict(sorted({**kept, **new}.items()))


def longest_first(modules, kept):
    """Order the names of modules: first those of which nothing is kept, then by their seconds."""
    return sorted(modules, key=lambda name: (name in kept, -kept.get(name, {}).get("seconds", 0)))


def share_of(tests, kept, share):
    """Return the names of the modules that are in a share, which take about as long in each.

    Args:
        tests: the names of the tests that are asked for, by module.
        share: its number and how many there are, such as `2/3`.
    """
    number, shares = map(int, share.split("/"))
    if not 1 <= number <= shares:
        raise ValueError(f"{share} is no share: give its number and how many there are, as in 2/3")
    seconds = {
        module: sum(kept[module]["slow"].get(name, 0) for name in names)
        if module in kept
        else UNKNOWN_SECONDS
        for module, names in tests.items()
    }
    filled = [(0.0, place, set()) for place in range(1, shares + 1)]
    for module in sorted(seconds, key=lambda name: (-seconds[name], name)):
        taken, place, modules = min(filled, key=lambda each: each[:2])
        filled[place - 1] = (taken + seconds[module], place, {*modules, module})
    return filled[number - 1][-1]


def read(path=KEPT):
    """Return what is kept, nothing if there is no file."""
    return json.loads(path.read_text()) if path.exists() else {}


class Recorder:
    """A plugin of pytest that adds up the seconds of each test, and keeps them if it is asked."""

    def __init__(self, keeps):
        self.keeps, self.seconds = keeps, defaultdict(float)

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self):
        if self.keeps:
            text = json.dumps(merged(read(), timings(self.seconds)), indent=1)
            KEPT.write_text(f"{text}\n")

    def pytest_terminal_summary(self, terminalreporter):
        total = sum(self.seconds.values())
        terminalreporter.write_line(f"{len(self.seconds)} tests took {total:.0f} s of the workers.")
