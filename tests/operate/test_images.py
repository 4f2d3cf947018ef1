"""The images: what the files of deploy/compose and .devcontainer name is there, and can be typed.

No container runs here: what an image is built from is not tested.
"""

import json
import re
import shlex

import pytest
import yaml
from conftest import PROJECT

from cdc_lakehouse.console import cli
from cdc_lakehouse.runtime.java import MINIMUM_JAVA

COMPOSE = PROJECT / "deploy" / "compose"
DEVCONTAINER = PROJECT / ".devcontainer"
TEMPLATE = PROJECT / "src" / "cdc_lakehouse" / "project_template"
IMAGES = [
    COMPOSE / "Dockerfile",
    PROJECT / "deploy/kubernetes/Dockerfile",
    DEVCONTAINER / "Dockerfile",
]


def instructions(path):
    """The instructions of a Dockerfile, each as its name and its text in one line."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", path.read_text()))
    return [line.split(maxsplit=1) for line in text.splitlines() if line]


def of(path, name):
    return [text for each, text in instructions(path) if each == name]


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.parent.name)
def test_an_image_has_the_python_and_the_java_that_are_asked_for(path):
    known = {"FROM", "RUN", "WORKDIR", "COPY", "USER", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in instructions(path)} <= known
    asked = re.search(
        r'^requires-python = ">=(.+)"$', (PROJECT / "pyproject.toml").read_text(), re.M
    )
    (base,) = of(path, "FROM")
    assert re.fullmatch(rf"python:{re.escape(asked[1])}(-slim)?-bookworm", base)
    java = re.findall(r"openjdk-(\d+)-jre-headless", " ".join(of(path, "RUN")))
    assert java == [str(MINIMUM_JAVA)]


@pytest.mark.parametrize("path", IMAGES[:2], ids=lambda path: path.parent.name)
def test_what_an_image_takes_and_types_is_there(path):
    for copied in of(path, "COPY"):
        *taken, _ = [word for word in copied.split() if not word.startswith("--")]
        assert all((TEMPLATE / name).exists() for name in taken), copied
    typed = [
        part for run in of(path, "RUN") for part in run.split("&&") if "lakehouse setup" in part
    ]
    (setup,) = map(shlex.split, typed)
    assert cli._parser().parse_args(setup[1:]).run
    for command in of(path, "CMD"):
        assert cli._parser().parse_args(json.loads(command)[1:]).run
    left_out = path.with_name(".dockerignore").read_text().splitlines()
    ours = (TEMPLATE / "gitignore").read_text().split()
    assert {line.strip("/") for line in ours if line.startswith(".lakehouse")} <= set(left_out)


def test_compose_types_what_there_is():
    compose = yaml.safe_load((COMPOSE / "compose.yaml").read_text())
    service = compose["services"]["lakehouse"]
    assert (COMPOSE / service["build"] / "Dockerfile").is_file()
    program, *arguments = service["command"]
    options = cli._parser().parse_args(arguments)
    assert (program, options.path) == ("lakehouse", "/landing")
    (published,) = service["ports"]
    assert published == f"127.0.0.1:{options.http_port}:{options.http_port}"
    mounted = dict(volume.split(":")[:2] for volume in service["volumes"])
    assert mounted == {"state": "/project/.lakehouse", "./landing": "/landing"}
    assert list(compose["volumes"]) == ["state"]
    # The owner of a new volume is that of the folder in the image.
    run = of(COMPOSE / "Dockerfile", "RUN")[-1]
    assert run == "mkdir -p .lakehouse && chown -R lakehouse ."
    assert of(COMPOSE / "Dockerfile", "WORKDIR") == ["/project"]
    said = re.search(
        r"exec lakehouse (lakehouse .*)$", (COMPOSE / "compose.yaml").read_text(), re.M
    )
    assert cli._parser().parse_args(shlex.split(said[1])[1:]).run


def test_the_devcontainer_types_what_there_is():
    described = json.loads((DEVCONTAINER / "devcontainer.json").read_text())
    assert (DEVCONTAINER / described["build"]["dockerfile"]).is_file()
    program, target = described["postCreateCommand"].split()
    assert program == "make"
    assert re.search(rf"^{target}:", (PROJECT / "Makefile").read_text(), re.MULTILINE)
    assert "/.venv/bin:" in described["remoteEnv"]["PATH"]
    served = cli._parser().parse_args(["serve"])
    assert described["forwardPorts"] == [served.port, served.http_port]
