"""Describe a full extract of a table for a person."""

from cdc_lakehouse.console.text_table import text_table
from cdc_lakehouse.operate.reconcile.compare import Comparison
from cdc_lakehouse.operate.reconcile.landing import ExtractReport


def extract_text(report: ExtractReport) -> str:
    """Return what was landed of an extract."""
    if not report.is_new:
        return "\n".join(["Nothing to land.", *report.notes])
    said = (
        f"{report.table}: {report.rows:,} rows of {report.taken_at:%Y-%m-%d %H:%M:%S} UTC landed, "
        f"key {', '.join(report.key)}, {report.seconds:.1f} s. `dbt build` merges them next."
    )
    return "\n".join([said, *report.notes])


def comparison_text(found: Comparison) -> str:
    """Return how an extract and a gold table differ."""
    header = ["what", "rows", "for example"]
    lines = [
        ["equal", f"{found.equal:,}", ""],
        ["missing in gold", f"{found.missing:,}", _some(found, "missing")],
        ["extra in gold", f"{found.extra:,}", _some(found, "extra")],
        ["different", f"{found.different:,}", ""],
        *([f"  {name}", f"{n:,}", _some(found, name)] for name, n in found.columns.items()),
        ["changed since, not compared", f"{found.changed_since:,}", ""],
    ]
    said = "They agree." if found.agrees else "They differ; nothing was landed."
    first = (
        f"gold.{found.model} and an extract of {found.table} with {found.rows:,} rows, "
        f"{found.taken_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    return "\n".join([first, text_table(header, lines), said, *found.notes])


def _some(found: Comparison, name: str) -> str:
    return "; ".join(found.keys.get(name, []))
