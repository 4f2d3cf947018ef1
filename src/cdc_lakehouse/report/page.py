"""The page of `lakehouse report`: one HTML file that holds all that it shows, without requests.

The facts are in it as JSON. A header names the fields of each kind of row once, so that the page of
10,000 topics stays small. page.html is the skeleton; the scripts fill it.
"""

import html
import json
import math
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import fields
from hashlib import sha256
from importlib.resources import files
from typing import Any

from cdc_lakehouse.report.facts import (
    Arrival,
    Drift,
    Facts,
    Finding,
    Gap,
    GoldTable,
    Partition,
    Problem,
    Rejected,
    Run,
    RunStep,
    Sample,
    SharedKeys,
    SourceTable,
    Stored,
)
from cdc_lakehouse.report.gold import BehindTable, Gold
from cdc_lakehouse.report.usable import first_line

KINDS = (
    *(Finding, Facts, Partition, Gap, Rejected, Sample, Drift, SourceTable, GoldTable, Problem),
    *(Run, RunStep, SharedKeys, Stored, Gold, BehindTable),
)
# In the order in which they run. They are one script, and share their names.
SCRIPTS = (
    *("page_text.js", "page_table.js", "page_chart.js", "page_topics.js", "page_overview.js"),
    *("page_sections.js", "page_stored.js", "page_runs.js", "page.js"),
)
PLACE = re.compile(r"\{\{ (\w+) \}\}")


def page(facts: Facts, findings: Sequence[Finding]) -> str:
    """Return the page of a lakehouse as HTML.

    Args:
        findings: what a person should look at, the most important first.
    """
    library = _read("uPlot.iife.min.js")
    script = f'"use strict";\n{{\n{"".join(map(_read, SCRIPTS))}}}\n'
    parts = {
        "policy": html.escape(_policy(library, script)),
        "style": _read("uPlot.min.css") + _read("page.css"),
        "license": _read("uPlot.LICENSE"),
        "data": _data(facts, findings),
        "library": library,
        "script": script,
    }
    # In one pass: what is put in may hold what looks like a place.
    return PLACE.sub(lambda place: parts[place[1]], _read("page.html"))


def _read(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    """Return a Content-Security-Policy: no requests, and of scripts these only."""
    hashes = (b64encode(sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _data(facts: Facts, findings: Sequence[Finding]) -> str:
    """Return the JSON that the scripts read, as text that can end no element of HTML."""
    held = {
        "columns": {kind.__name__: [field.name for field in fields(kind)] for kind in KINDS},
        "facts": [
            _arrivals(facts) if field.name == "arrivals" else _plain(getattr(facts, field.name))
            for field in fields(facts)
        ],
        "findings": _plain(findings),
        "first_line": first_line(facts),
    }
    # ASCII only: U+2028 and lone surrogates are escaped as well.
    text = json.dumps(held, separators=(",", ":"), allow_nan=False)
    return text.replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: a row of a kind as the list of its fields."""
    if isinstance(value, float):
        # JavaScript's dates have milliseconds.
        return _short(value) if math.isfinite(value) else None
    if isinstance(value, KINDS):
        return [_plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _short(value: float) -> float:
    return int(value) if value.is_integer() else round(value, 3)


def _arrivals(facts: Facts) -> list[list[Any]]:
    """Return `[topic, partition, [span, messages, rejected, span, ...]]` for each partition.

    A span is the number of spans from the first, whose time comes before all of them: `[began]`.
    """
    if not facts.arrivals:
        return []
    first = min(arrival.began for arrival in facts.arrivals)
    found: dict[tuple[str, int], list[Arrival]] = {}
    for arrival in facts.arrivals:
        found.setdefault((arrival.topic, arrival.partition), []).append(arrival)
    rows = ([*place, list(_counts(of, first, facts.span_seconds))] for place, of in found.items())
    return [[_short(first)], *rows]


def _counts(arrivals: Iterable[Arrival], first: float, seconds: float) -> Iterable[int]:
    for arrival in arrivals:
        span = round((arrival.began - first) / seconds) if seconds else 0
        yield from (span, arrival.messages, arrival.rejected)
