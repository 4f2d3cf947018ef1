"""A headless Chromium for tests to drive: Debian's package, driven by Playwright."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

PACKAGES = ("chromium", "fonts-dejavu-core")


def fetch_chromium():
    """Install Chromium with apt-get, as root or by sudo, if there is none."""
    if find_chromium():
        return
    if not shutil.which("apt-get"):
        sys.exit("browser.py: there is no Chromium. Install one so that `chromium` starts it.")
    root = [] if os.getuid() == 0 else ["sudo", "-n"]
    for step in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        done = subprocess.run(
            [*root, "apt-get", "--quiet", *step],
            env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode:
            sys.exit(
                f"browser.py: there is no Chromium, and apt-get cannot install it:\n{done.stdout}"
                f"\nInstall it by hand: apt-get install {' '.join(PACKAGES)}"
            )


def find_chromium():
    """Return the program that starts Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@contextmanager
def open_browser():
    """Start Chromium, and yield it as the `Browser` of Playwright."""
    from playwright.sync_api import sync_playwright

    assert find_chromium(), "There is no Chromium: run `python tests/support/browser.py`."
    # Chromium's sandbox refuses root.
    options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=options)
        try:
            yield browser
        finally:
            browser.close()


if __name__ == "__main__":
    fetch_chromium()
