"""Take the pictures of docs/images: the report and the site of a lakehouse of the sample topics.

`make screenshots` runs it. They are PNG with a palette, as small as text on a page allows.
"""

import base64
import os
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from playwright.sync_api import Page

PROJECT = Path(__file__).parents[1]
IMAGES = PROJECT / "docs" / "images"
SIZE = {"width": 1200, "height": 700}
MOST_BYTES = 120_000
# Colors that are chosen for how many pixels they have, and all: the others are far from those.
FREQUENT, COLORS = 192, 256
# The pixels of a PNG, four bytes each, in base64.
PIXELS = """async png => {
    const image = new Image()
    image.src = "data:image/png;base64," + png
    await image.decode()
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d")
    canvas.drawImage(image, 0, 0)
    const pixels = canvas.getImageData(0, 0, image.width, image.height).data
    const url = await new Promise(resolve => {
        const reader = new FileReader()
        reader.onload = () => resolve(reader.result)
        reader.readAsDataURL(new Blob([pixels]))
    })
    return url.split(",")[1]
}"""


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
    sys.path.insert(0, str(PROJECT / "tests" / "python"))
    from browser import open_browser

    images.mkdir(exist_ok=True)
    with open_browser() as browser:
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(report.as_uri())
        write(page, images / "report.png")
        # The names in the lineage are small: with twice the pixels they can be read.
        page = browser.new_page(viewport=SIZE, device_scale_factor=2)
        page.goto(site.as_uri())
        page.get_by_role("link", name="bronze to gold").click()
        page.get_by_text("Lineage Graph", exact=True).wait_for()
        page.mouse.move(SIZE["width"] / 2, SIZE["height"] / 4)
        write(page, images / "docs.png")


def write(page: Page, path: Path) -> None:
    """Write what a page shows, once it has been drawn."""
    page.wait_for_timeout(2000)
    pixels = base64.b64decode(page.evaluate(PIXELS, base64.b64encode(page.screenshot()).decode()))
    scale = page.evaluate("devicePixelRatio")
    shape = (SIZE["height"] * scale, SIZE["width"] * scale, 4)
    png = with_palette(np.frombuffer(pixels, np.uint8).reshape(shape)[..., :3])
    path.write_bytes(png)
    print(f"{path}: {len(png):,} bytes")
    if len(png) > MOST_BYTES:
        sys.exit(
            f"screenshots.py: {path} has more than {MOST_BYTES:,} bytes. Show less of the page."
        )


def with_palette(pixels: np.ndarray) -> bytes:
    """Return a PNG of at most 256 colors, each pixel in the nearest of them."""
    height, width, _ = pixels.shape
    found, places, counts = np.unique(
        pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True
    )
    found = found.astype(np.int32)
    nearest = np.zeros(len(found), np.uint8)
    distance = np.full(len(found), np.iinfo(np.int32).max)
    palette = []
    for number in range(min(COLORS, len(found))):
        chosen = np.argmax(counts if number < FREQUENT else distance)
        counts[chosen] = 0
        palette.append(found[chosen])
        to_it = ((found - found[chosen]) ** 2).sum(axis=1)
        nearest[to_it < distance] = number
        distance = np.minimum(distance, to_it)
    rows = np.zeros((height, width + 1), np.uint8)  # each begins with its filter, 0 for none
    rows[:, 1:] = nearest[places.reshape(height, width)]
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    colors = np.array(palette, np.uint8).tobytes()
    parts = ((b"IHDR", header), (b"PLTE", colors), (b"IDAT", zlib.compress(rows.tobytes(), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in (*parts, (b"IEND", b"")))


def _chunk(name: bytes, content: bytes) -> bytes:
    """Return a part of a PNG: its length, its name, what it holds, and a sum to check it by."""
    check = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        take(*build(Path(folder)), IMAGES)
