"""Run dbt in this process, on its Spark."""

from typing import TYPE_CHECKING, Any

from cdc_lakehouse.errors import LakehouseError

if TYPE_CHECKING:
    from dbt.cli.main import dbtRunnerResult
    from dbt.contracts.graph.manifest import Manifest


def run_dbt(*arguments: str, may_fail: bool = False) -> list[Any]:
    """Run dbt in this process, on its Spark, and return the results of the nodes.

    Args:
        may_fail: whether tests may find something.
    """
    done = _invoke(*arguments)
    results = list(getattr(done.result, "results", None) or [])
    bad = ("error",) if may_fail else ("error", "fail")
    failed = [f"{r.node.name}: {r.message}" for r in results if str(r.status) in bad]
    if done.exception or failed or not (done.success or may_fail):
        _stop(arguments[0], "\n".join(failed) or str(done.exception))
    return results


def read_manifest() -> "Manifest":
    """Return all that the project consists of."""
    from dbt.contracts.graph.manifest import Manifest

    done = _invoke("parse")
    if not done.success:
        _stop("parse", str(done.exception))
    assert isinstance(done.result, Manifest)
    return done.result


def _invoke(*arguments: str) -> "dbtRunnerResult":
    from dbt.cli.main import dbtRunner

    return dbtRunner().invoke(["--quiet", "--log-level", "none", *arguments])


def _stop(command: str, said: str) -> None:
    raise LakehouseError(
        f"dbt {command} failed: {said}\n"
        "Run `lakehouse erase` again when the cause is removed; that completes what was begun."
    )
