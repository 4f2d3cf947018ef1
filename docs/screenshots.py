"""Take the pictures of docs/images: the report and the site of a lakehouse of the sample topics.

`make screenshots` runs it.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROJECT = Path(__file__).parents[1]
IMAGES = PROJECT / "docs" / "images"
SIZE = {"width": 1200, "height": 700}
DRAWN = 2000  # milliseconds until a page has drawn its charts, or its lineage


def build(folder: Path) -> tuple[Path, Path]:
    """Make a lakehouse of the sample topics in a folder; return its report and its site."""
    report, site = folder / "report.html", folder / "site"
    for line in (
        ["lakehouse", "run", "files", "samples/landing"],
        ["lakehouse", "report", "--out", str(report)],
        ["dbt", "docs", "generate", "--static", "--target", "docs", "--target-path", str(site)],
    ):
        settings = os.environ | {"LAKEHOUSE_DIR": str(folder / "lakehouse")}
        subprocess.run(line, cwd=PROJECT, env=settings, check=True)
    return report, site / "static_index.html"


def take(report: Path, site: Path, images: Path) -> None:
    """Write report.png and docs.png of the two pages into a folder."""
    sys.path.insert(0, str(PROJECT / "tests" / "support"))
    from browser import open_browser

    images.mkdir(exist_ok=True)
    with open_browser() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_timeout(DRAWN)
        page.screenshot(path=images / "report.png")
        page.goto(site.as_uri())
        page.get_by_role("link", name="bronze to gold").click()
        page.get_by_text("Lineage Graph", exact=True).wait_for()
        page.wait_for_timeout(DRAWN)
        page.screenshot(path=images / "docs.png")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        take(*build(Path(folder)), IMAGES)
