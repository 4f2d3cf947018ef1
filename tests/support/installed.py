"""An environment that has cdc_lakehouse from a wheel, and what is typed in it."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from conftest import PROJECT

from cdc_lakehouse.runtime.jars import FOLDER

# What a wheel is made of.
SOURCES = ("src", "avro", "docs", "macros", "models", "profiles", "seeds", "tests", "udfs")
SOURCE_FILES = ("dbt_project.yml", "pyproject.toml", "selectors.yml")
# Types commands into one process: Spark starts once. Prints each with its exit code.
TYPE = """
import shlex, sys
from dbt.cli.main import dbtRunner
from cdc_lakehouse.console import cli
from cdc_lakehouse.runtime.project import use_project
from dbt.adapters.lakehouse import connections

use_project(".")
connections.root_session({})
connections._held.close()  # as dbt does where it ends
for line in sys.argv[1:]:
    program, *arguments = shlex.split(line)
    print("$", line, flush=True)
    if program == "dbt":
        done = dbtRunner().invoke(["--no-use-colors", *arguments])
        code = str(done.exception) if done.exception else int(not done.success)
    else:
        code = cli.main(arguments)
    if code:
        sys.exit(f"{line}: {code}")
"""


def build_wheel(folder: Path, version: str) -> Path:
    """Build the wheel of this checkout under another version, from a copy of the checkout."""
    checkout = folder / f"checkout-{version}"
    for name in SOURCES:
        left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(PROJECT / name, checkout / name, symlinks=True, ignore=left_out)
    for name in SOURCE_FILES:
        shutil.copy(PROJECT / name, checkout)
    package = checkout / "src" / "cdc_lakehouse" / "package.py"
    text = re.sub(r'(?m)^RELEASE = ".*"$', f'RELEASE = "{version}"', package.read_text())
    package.write_text(text)
    _pip("wheel", "--no-build-isolation", "--wheel-dir", str(folder), str(checkout))
    return next(folder.glob(f"cdc_lakehouse-{version}-*.whl"))


def _pip(*arguments: str, python: Path | None = None, resolves: bool = False) -> None:
    chosen = ["--python", str(python)] if python else []
    command, *rest = arguments
    options = ["--quiet", "--disable-pip-version-check"]
    options += [] if resolves else ["--no-index", "--no-deps"]
    pip = [sys.executable, "-m", "pip", *chosen, command, *options]
    subprocess.run([*pip, *rest], check=True, capture_output=True, text=True)


class Environment:
    """A virtual environment with a wheel, and the jars and dependencies of this one.

    If it `resolves`, its dependencies are those that pip finds for the wheel, as for a user.
    """

    def __init__(self, folder: Path, wheel: Path, resolves: bool = False):
        venv.create(folder, symlinks=True)
        self.bin = folder / "bin"
        if resolves:
            _pip("install", str(wheel), python=self.bin / "python", resolves=True)
        else:
            self.install(wheel)
            packages = next(folder.glob("lib/python*/site-packages"))
            # Only the folder: not this environment's .pth files, which lead to the checkout.
            (packages / "shared.pth").write_text(sysconfig.get_paths()["purelib"])
        (folder / "share").mkdir(exist_ok=True)
        (folder / "share" / "cdc_lakehouse").symlink_to(FOLDER.parent)

    def install(self, wheel: Path) -> None:
        """Install a wheel, in place of an older one."""
        _pip("install", str(wheel), python=self.bin / "python")

    def lakehouse(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
        """Run the command `lakehouse` as it is installed."""
        return self._run([self.bin / "lakehouse", *arguments], cwd)

    def type(self, *lines: str, cwd: Path) -> str:
        """Type commands of `lakehouse` and dbt into one process; return what they print."""
        done = self._run([self.bin / "python", "-c", TYPE, *lines], cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _run(self, command: list, cwd: Path) -> subprocess.CompletedProcess:
        ours = ("LAKEHOUSE_DIR", "PYTHONPATH", "VIRTUAL_ENV")
        env = {k: v for k, v in os.environ.items() if k not in ours and not k.startswith("DBT_")}
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
