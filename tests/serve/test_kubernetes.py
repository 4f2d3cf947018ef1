"""What deploy/kubernetes holds: documents that Kubernetes knows, and an executor that starts.

No cluster runs here: what a scheduler, a network and an image make of it is not tested.
"""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import kubernetes_validate
import pyspark
import pytest
import yaml
from broker import _free_ports
from conftest import PROJECT

from cdc_lakehouse.console import cli
from cdc_lakehouse.runtime import standalone
from cdc_lakehouse.runtime.settings import settings

pytestmark = pytest.mark.full

FOLDER = PROJECT / "deploy" / "kubernetes"
VERSION = "1.37"


def documents():
    """All documents of the folder, but the one for kustomize."""
    for path in sorted(FOLDER.glob("*.yaml")):
        for document in yaml.safe_load_all(path.read_text()):
            if path.name != "kustomization.yaml":
                yield pytest.param(document, id=f"{path.stem}-{document['kind']}")


@pytest.fixture(scope="module")
def configured():
    """The two ConfigMaps: what is in the environment, and the files of Spark."""
    maps = yaml.safe_load_all((FOLDER / "settings.yaml").read_text())
    return {each["metadata"]["name"]: each["data"] for each in maps}


@pytest.mark.parametrize("document", list(documents()))
def test_kubernetes_knows_each_document(document):
    kubernetes_validate.validate(document, VERSION, strict=True)


def test_the_pod_of_executors_is_one(configured):
    pod = yaml.safe_load(configured["spark"]["executor.yaml"])
    kubernetes_validate.validate(pod | {"metadata": {"name": "executor"}}, VERSION, strict=True)


def test_a_field_that_there_is_not_is_found():
    document = next(each.values[0] for each in documents() if "Deployment" in each.id)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document | {"replica": 2}, VERSION, strict=True)


def test_kustomization_names_the_files():
    named = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["resources"]
    there = {path.name for path in FOLDER.glob("*.yaml")}
    assert there - set(named) == {"kustomization.yaml", "scheduled.yaml"}


@pytest.mark.parametrize("name", ["serve.yaml", "scheduled.yaml"])
def test_the_commands_are_those_that_there_are(name):
    workload = next(yaml.safe_load_all((FOLDER / name).read_text()))
    spec = workload["spec"].get("jobTemplate", workload)["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    program, *arguments = container["args"]
    options = cli._parser().parse_args(arguments)
    assert (program, options.subscribe_pattern) == ("lakehouse", "shop[.].*")
    mounted = {each["name"] for each in container["volumeMounts"]}
    assert mounted == {each["name"] for each in spec["volumes"]}


def test_the_master_is_one_that_runs_executors(configured, monkeypatch):
    given = configured["lakehouse"]
    assert settings_of_kubernetes(given, monkeypatch)["spark.executor.instances"] == "4"
    assert standalone._servers(given["LAKEHOUSE_MASTER"]) == ["kubernetes.default.svc:443"]
    assert standalone._servers("k8s://https://[::1]:6443") == ["[::1]:6443"]


def settings_of_kubernetes(given, monkeypatch):
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LAKEHOUSE_DIR", ".lakehouse")
    return settings(metastore=False)


def test_an_executor_starts_from_what_spark_puts_into_its_environment():
    """It looks for its driver, where nobody answers."""
    driver = f"spark://CoarseGrainedScheduler@127.0.0.1:{_free_ports(1)[0]}"
    given = {
        "SPARK_DRIVER_URL": driver,
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "1",
        "SPARK_EXECUTOR_MEMORY": "256m",
        "SPARK_APPLICATION_ID": "spark-1",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "executor-1",
        "SPARK_JAVA_OPT_0": "-Done=1",
        "SPARK_JAVA_OPT_1": "-Dtwo=a value",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    started = [FOLDER / "entrypoint.sh", "executor"]
    done = subprocess.run(started, env=os.environ | given, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert f"Connecting to driver: {driver}" in said or "Failed to connect to /127.0.0.1" in said
    assert "Unrecognized option" not in said
    known = spark_constants()
    assert {name for name in given if name.startswith("SPARK_")} - known <= {
        "SPARK_JAVA_OPT_0",
        "SPARK_JAVA_OPT_1",
    }
    assert "SPARK_JAVA_OPT_" in known


def spark_constants():
    """The texts in the class of Spark that names the variables of an executor's pod."""
    (jar,) = Path(pyspark.__file__).parent.glob("jars/spark-kubernetes_*.jar")
    with zipfile.ZipFile(jar) as archive:
        text = archive.read("org/apache/spark/deploy/k8s/Constants$.class").decode("latin-1")
    return set(re.findall(r"SPARK_\w+", text))


def test_anything_else_is_a_command():
    command = [FOLDER / "entrypoint.sh", "echo", "a  b"]
    assert subprocess.check_output(command, text=True) == "a  b\n"
