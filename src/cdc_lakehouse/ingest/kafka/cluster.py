"""Ask Kafka, before a stream starts, what could stop it, and name each problem with a remedy."""

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdc_lakehouse.errors import LakehouseError, short_message
from cdc_lakehouse.ingest.kafka.options import SERVERS, Offsets, Partition, Request
from cdc_lakehouse.runtime.jvm import jvm_of
from cdc_lakehouse.runtime.servers import refusals

TIME_OUTS = {"request.timeout.ms": "5000", "default.api.timeout.ms": "8000"}
NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"  # of brokers before 2.8


def check_reachable(servers: str) -> None:
    """Raise a LakehouseError if none of the brokers, host:port by commas, takes a connection."""
    brokers = [each.strip() for each in servers.split(",") if each.strip()] or [servers]
    for broker in brokers:
        if not re.fullmatch(r".+:[0-9]{1,5}", broker):
            raise LakehouseError(f"{broker!r} is no broker: write HOST:PORT, several with commas.")
    if reasons := refusals(brokers):
        raise LakehouseError(
            f"No Kafka broker answers at {', '.join(reasons)}. Start it, or correct the host and "
            "port in --bootstrap-servers."
        )


class Cluster:
    """A Kafka cluster as its administration tells it; use it with `with`."""

    def __init__(self, spark: SparkSession, options: dict[str, str]):
        self.spark, self.servers = spark, options[SERVERS]
        client = {n.removeprefix("kafka."): v for n, v in options.items() if n.startswith("kafka.")}
        self.settings = client | TIME_OUTS
        self.ids: dict[str, str] = {}

    def __enter__(self) -> "Cluster":
        check_reachable(self.servers)
        properties = jvm_of(self.spark).java.util.Properties()
        for name, value in self.settings.items():
            properties.setProperty(name, value)
        create = jvm_of(self.spark).org.apache.kafka.clients.admin.AdminClient.create
        self._admin = self._ask(lambda: create(properties))
        return self

    def __exit__(self, *_: object) -> None:
        self._admin.close(jvm_of(self.spark).java.time.Duration.ofSeconds(1))

    @cached_property
    def topics(self) -> list[str]:
        """All topics that may be seen, but Kafka's own."""
        return sorted(self._ask(lambda: self._admin.listTopics().names().get()))

    def covers(self, request: Request, partition: Partition) -> bool:
        """Tell whether the partition, be there such a one or not, is among those asked for."""
        topic, _ = partition
        if request.assign:
            return partition in request.assigned()
        return topic in request.topics() if request.subscribe else self._matches(request, topic)

    def partitions(self, request: Request) -> set[Partition]:
        """Return the partitions to read, and remember the ids of their topics in `ids`.

        Raises:
            LakehouseError: a topic or a partition that is named does not exist, or is forbidden.
        """
        names = request.topics() or [t for t in self.topics if self._matches(request, t)]
        described = self._admin.describeTopics(names).topicNameValues()
        found: set[Partition] = set()
        for topic in names:
            about = self._ask(described.get(topic).get, topic)
            found |= {(topic, number) for number in range(about.partitions().size())}
            if (identity := about.topicId().toString()) != NO_TOPIC_ID:
                self.ids[topic] = identity
        if not request.assign:
            return found
        if missing := request.assigned() - found:
            topic, number = min(missing)
            raise LakehouseError(
                f"The topic {topic} has no partition {number} on {self.servers}. Correct --assign."
            )
        return request.assigned()

    def extent(self, partitions: Iterable[Partition]) -> tuple[Offsets, Offsets]:
        """Return the first offset that Kafka has of each partition, and the one after its last."""
        admin = jvm_of(self.spark).org.apache.kafka.clients.admin
        kind = jvm_of(self.spark).org.apache.kafka.common.TopicPartition
        known = {partition: kind(*partition) for partition in partitions}
        both = []
        for spec in (admin.OffsetSpec.earliest(), admin.OffsetSpec.latest()):
            answer = self._admin.listOffsets(dict.fromkeys(known.values(), spec))
            both.append(
                {
                    partition: self._ask(answer.partitionResult(each).get, partition[0]).offset()
                    for partition, each in known.items()
                }
            )
        return both[0], both[1]

    def _matches(self, request: Request, topic: str) -> bool:
        pattern = jvm_of(self.spark).java.util.regex.Pattern
        try:
            return bool(pattern.matches(request.subscribe_pattern, topic))
        except PySparkException as error:
            reason = short_message(error).splitlines()[0]
            raise LakehouseError(
                f"--subscribe-pattern {request.subscribe_pattern} is no regular expression of "
                f"Java: {reason}. Correct it."
            ) from None

    def _ask(self, call: Callable[[], Any], topic: str = "") -> Any:
        try:
            return call()
        except Py4JJavaError as error:
            raise LakehouseError(self.sentence(error.java_exception, topic)) from None

    def sentence(self, error: Any, topic: str = "") -> str:
        """Return what an error of Kafka's clients means to a user, and what to do about it."""
        names, texts = set(), []
        while error is not None:
            kind = error.getClass()
            while kind is not None:
                names.add(kind.getSimpleName())
                kind = kind.getSuperclass()
            texts.append(error.getMessage() or "")
            error = error.getCause()
        reason = texts[-1].strip().rstrip(".") or "no reason given"
        where = self.servers
        if "UnknownTopicOrPartitionException" in names:
            return (
                f"There is no topic {topic} on {where}, or it may not be seen. Correct its name, "
                "make it, or leave it out; what bronze has of it stays."
            )
        if "InvalidTopicException" in names:
            return f"{topic!r} cannot be the name of a topic: {reason}. Correct it."
        if "AuthorizationException" in names:
            about = f" of the topic {topic}" if topic else ""
            return (
                f"{where} does not authorise the reading{about}: {reason}. Have the user be "
                "allowed to DESCRIBE and READ it."
            )
        if "SslAuthenticationException" in names:
            return (
                f"{where} and this client do not agree on TLS: {reason}. Correct "
                "kafka.security.protocol, or the trust store, kafka.ssl.truststore.location."
            )
        if "AuthenticationException" in names:
            return (
                f"{where} refuses the authentication: {reason}. Correct kafka.security.protocol, "
                "kafka.sasl.mechanism and the user and password in kafka.sasl.jaas.config."
            )
        if "TimeoutException" in names:
            return (
                f"{where} takes connections but does not answer as Kafka would: it may want TLS or "
                "SASL (kafka.security.protocol), or tell addresses that cannot be reached from "
                "here (its advertised.listeners)."
            )
        return f"Kafka's client for {where} refuses its options: {reason}. Correct them."
