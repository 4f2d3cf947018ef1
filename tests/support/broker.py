"""A real Kafka broker (KRaft, one node) on loopback: fetched once, started and stopped by tests."""

import socket
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from cdc_lakehouse.runtime.jars import retrieve
from cdc_lakehouse.runtime.java import find_java

IVY_FILE = Path(__file__).with_name("kafka.ivy.xml")
# Away from the jars of Spark, which has other revisions of some.
FOLDER = Path(sys.prefix, "share", "cdc_lakehouse", "broker")
FLAGS = ("-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
USER, PASSWORD = "lakehouse", "s3cret-of-the-lakehouse"
PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{sasl},CONTROLLER://127.0.0.1:{controller}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config={login} required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={home}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.retention.ms=-1
log.cleaner.dedupe.buffer.size=2097152
"""
LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"


def fetch_broker():
    """Fetch the jars of the broker, if they are not there."""
    if not list(FOLDER.glob("kafka_*.jar")) and (reason := retrieve(IVY_FILE, FOLDER)):
        raise RuntimeError(f"The jars of the Kafka broker could not be fetched:\n{reason}")


class Broker:
    """A broker with a plain listener for everyone, and one for the user of SCRAM."""

    def __init__(self, home):
        fetch_broker()
        self.home = home
        controller, plain, sasl = _free_ports(3)
        self.plain, self.sasl = f"127.0.0.1:{plain}", f"127.0.0.1:{sasl}"
        text = PROPERTIES.format(
            controller=controller, plain=plain, sasl=sasl, home=home, login=LOGIN
        )
        (home / "server.properties").write_text(text)
        scram = f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"
        tool = self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER, "--add-scram", scram)
        subprocess.run([*tool, "-c", home / "server.properties"], capture_output=True, check=True)
        self.start()
        self.admin = AdminClient({"bootstrap.servers": self.plain})

    def start(self):
        """Start, and wait until connections are taken."""
        with open(self.home / "broker.log", "ab") as log:
            command = [*self._java("kafka.Kafka"), self.home / "server.properties"]
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        for server in (self.plain, self.sasl):
            while not _answers(server):
                if self.process.poll() is not None:
                    raise RuntimeError((self.home / "broker.log").read_text()[-3000:])
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def producer(self, **options):
        """Return a producer; `transactional_id="x"` and its like are options of librdkafka."""
        options = {name.replace("_", "."): value for name, value in options.items()}
        return Producer({"bootstrap.servers": self.plain, "on_delivery": _delivered, **options})

    def make_topic(self, topic, partitions=1, messages=()):
        """Make a topic, and write messages to its first partition."""
        _results(self.admin.create_topics([NewTopic(topic, partitions, 1)]))
        self.produce(topic, *messages)
        return topic

    def produce(self, topic, *values, partition=0):
        """Write values, bytes or None, to a partition."""
        producer = self.producer()
        for value in values:
            producer.produce(topic, value=value, partition=partition)
        producer.flush()

    def delete_topic(self, topic):
        """Delete a topic, and wait until nobody can see it."""
        _results(self.admin.delete_topics([topic]))
        while topic in self.admin.list_topics().topics:
            time.sleep(0.05)

    def delete_before(self, topic, offset, partition=0):
        """Delete the messages before an offset, as retention does."""
        _results(self.admin.delete_records([TopicPartition(topic, partition, offset)]))

    def allow_reading(self, topic):
        """Let the user of SCRAM describe and read a topic."""
        each = (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, f"User:{USER}", "*")
        for operation in (AclOperation.DESCRIBE, AclOperation.READ):
            binding = AclBinding(*each, operation, AclPermissionType.ALLOW)
            _results(self.admin.create_acls([binding]))

    def _java(self, *command):
        return [find_java(), *FLAGS, "-cp", f"{FOLDER}/*", *command]


def _delivered(error, _):
    if error:
        raise KafkaException(error)


def _results(futures):
    return [future.result(30) for future in futures.values()]


def _answers(server):
    host, port = server.split(":")
    try:
        socket.create_connection((host, int(port))).close()
    except ConnectionRefusedError:
        return False
    return True


def _free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


if __name__ == "__main__":
    fetch_broker()
