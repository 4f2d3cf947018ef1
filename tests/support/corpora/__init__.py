"""What producers write: reports like those of tests/silver/public_reports, made of type tables."""

from corpora import deletes, mysql_logs, pipelines


def reports():
    """Return the corpora of all producers, and of their dialects, each as a report."""
    corpora = [*mysql_logs.CORPORA, *pipelines.CORPORA]
    return [*(corpus.report() for corpus in corpora), *deletes.REPORTS]
