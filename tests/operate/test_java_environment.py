"""What Java is started with, what the functions of udfs/ have, and what is said of slow work."""

import importlib
import time
from types import SimpleNamespace

import pytest
from conftest import PROJECT
from pyspark import java_gateway

from cdc_lakehouse.ingest.kafka.options import Request, variables_of
from cdc_lakehouse.runtime import java_environment, slow
from cdc_lakehouse.runtime.functions import open_package

pytestmark = pytest.mark.full

open_package(PROJECT)
protected_images = importlib.import_module("udfs.protected_images")
SECRETS = {
    "LAKEHOUSE_HASH_KEY": "k" * 32,
    "LAKEHOUSE_METASTORE": "postgresql://me:word@host/lake",
    "AWS_ACCESS_KEY_ID": "id",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_SESSION_TOKEN": "token",
    "KAFKA_PASSWORD": "word",
    "PGPASSWORD": "word",
    "DBT_ENV_SECRET_X": "word",
    "http_proxy": "http://me:word@proxy",
}
PLAIN = {"PATH", "HOME", "JAVA_HOME", "JAVA_TOOL_OPTIONS", "LC_ALL", "TZ", "PYSPARK_PYTHON"}
PLAIN |= {"_PYSPARK_DRIVER_CONN_INFO_PATH", "SPARK_LOCAL_IP", "AWS_REGION", "AWS_ROLE_ARN"}


def test_java_has_no_key_and_no_password(monkeypatch):
    started = []
    monkeypatch.setattr(java_gateway, "Popen", lambda command, env, **more: started.append(env))
    with java_environment.hidden_from_java():
        java_gateway.Popen(["java"], env=SECRETS | dict.fromkeys(PLAIN, "x"), stdin=None)
    assert started[0].keys() == PLAIN
    java_gateway.Popen(["java"], env=SECRETS)
    assert started[1] == SECRETS


def test_java_has_what_options_of_kafka_take_from_the_environment(monkeypatch, tmp_path):
    """Kafka's client is Java, and reads `${env:NAME}` itself."""
    started = []
    monkeypatch.setattr(java_environment, "_asked", set())
    monkeypatch.setattr(java_gateway, "Popen", lambda command, env, **more: started.append(env))
    (tmp_path / "kafka.properties").write_text("kafka.ssl.key.password=${env:PGPASSWORD}\n")
    jaas = {"kafka.sasl.jaas.config": 'x password="${env:KAFKA_PASSWORD}";'}
    for request in (
        Request("broker:9092", "topic", options=jaas),
        Request("broker:9092", "topic", options_file=str(tmp_path / "kafka.properties")),
        Request("broker:9092", "topic", options_file=str(tmp_path / "missing")),
    ):
        java_environment.let_java_have(variables_of(request))
    with java_environment.hidden_from_java():
        java_gateway.Popen(["java"], env=SECRETS)
    assert started[0].keys() == {"KAFKA_PASSWORD", "PGPASSWORD"}


@pytest.mark.parametrize(("master", "given"), [("local[2]", True), ("spark://host:7077", False)])
def test_functions_have_the_key_where_they_run_beside_spark(master, given, monkeypatch):
    monkeypatch.setenv("LAKEHOUSE_HASH_KEY", "k" * 32)
    context = SimpleNamespace(master=master, environment={"PYTHONHASHSEED": "0"})
    java_environment.give_to_functions(context)
    assert ("LAKEHOUSE_HASH_KEY" in context.environment) == given
    assert "PATH" not in context.environment


def test_a_key_that_is_missing_where_it_is_served_is_set_there(monkeypatch):
    monkeypatch.setattr(java_environment.sys, "argv", ["lakehouse", "serve"])
    context = SimpleNamespace(master="local[2]", environment={})
    java_environment.give_to_functions(context)
    monkeypatch.delenv("LAKEHOUSE_HASH_KEY", raising=False)
    for name, value in context.environment.items():
        monkeypatch.setenv(name, value)
    where = r"not set where `lakehouse serve` \(process \d+\) was started\. Set it there"
    with pytest.raises(ValueError, match=where):
        protected_images.key_of_hash()


def test_hadoop_has_the_credentials_that_it_took_from_the_environment(monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    held = {"fs.s3a.access.key": "of the configuration"}
    java_environment.give_to_hadoop(SimpleNamespace(get=held.get, set=held.__setitem__))
    assert held == {
        "fs.s3a.access.key": "of the configuration",
        "fs.s3a.secret.key": "secret",
        "fs.s3a.session.token": "token",
    }


def test_slow_work_is_named_and_quick_work_is_not(capfd):
    with slow.saying_if_slow("is slow", patience=0.01):
        time.sleep(0.2)
    with slow.saying_if_slow("is quick", patience=60):
        pass
    assert capfd.readouterr().err == "lakehouse: is slow\n"
