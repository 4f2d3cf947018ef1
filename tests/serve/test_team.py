"""All that a team runs, at once: a metastore, object storage, a cluster, `serve`, and a topic.

PostgreSQL keeps the names of tables, an S3 server the lakehouse, and a master and two workers of
Spark do the work; the workers see nothing of the machine of the commands. `serve` lands what comes
from Kafka and builds. TEAM_KILLS (1) processes of these are killed, each while a message is on its
way, and started again, as whoever looks after them would; KILL_SEED chooses which.
"""

import json
import os
import random
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from broker import Broker
from cluster import MASTER, WORKERS, Cluster
from conftest import LANDING, SAID
from laboratory import change, thing
from metastore import PASSWORD, USER, Postgres
from object_storage import BUCKET, s3_server
from serving import PATIENCE, Served, beeline

from cdc_lakehouse.runtime.worker_packages import pack

pytestmark = pytest.mark.full

KILLS = int(os.environ.get("TEAM_KILLS", "1"))
TOPIC = "lab.things"


class Team:
    """The processes, and the things that were written to the topic."""

    def __init__(self, processes, make_home):
        pack()
        self.postgres = Postgres()
        processes.callback(self.postgres.remove)
        self.s3 = processes.enter_context(s3_server(make_home("s3")))
        given = self.s3.environment
        self.cluster = processes.enter_context(Cluster(apart=True, environment=given))
        self.broker, self.sent = Broker(make_home("broker")), 0
        processes.callback(self.broker.stop)
        self.broker.make_topic(TOPIC)
        given = given | {
            "LAKEHOUSE_DIR": f"s3a://{BUCKET}/team/lake",
            "LAKEHOUSE_METASTORE": self.postgres.address(),
            "PGUSER": USER,
            "PGPASSWORD": PASSWORD,
            "LAKEHOUSE_MASTER": self.cluster.address,
            "LAKEHOUSE_CORES": "2",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self.served = Served(make_home("commands"), **given)
        processes.callback(lambda: self.served.process and self.served.process.kill())

    def send(self, count=1):
        """Write that things were inserted to the topic."""
        for _ in range(count):
            self.sent += 1
            message = change("INSERT", self.sent, thing(self.sent, f"thing {self.sent}"))
            self.broker.produce(TOPIC, json.dumps(message).encode())

    def serve(self):
        """Let somebody look after `serve`, who starts it again when it has ended."""
        source = ("kafka", "--bootstrap-servers", self.broker.plain, "--subscribe", TOPIC)
        self.served.begin_serving("--every", "1s", *source)

    def wait(self, is_so):
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            assert time.monotonic() < deadline, self.served.log.read_text()[-5000:]
            if self.served.process.poll() is not None:
                self.serve()
            time.sleep(0.5)

    def has_arrived(self):
        """Tell whether gold has all that was sent, by the figures of `serve`."""
        if self.served.page("/ready")[0] != 200:
            return False
        return self.served.figures().get(("lakehouse_rows", "things")) == self.sent

    def kill_worker(self, name):
        self.cluster.kill(name)
        self.send()
        self.cluster.start(name)

    def kill_serve(self):
        self.send()
        self.served.end(signal.SIGKILL)

    def kill_metastore(self):
        self.postgres.stop()
        self.send()
        self.postgres.start()

    def kill_broker(self):
        self.send()
        self.broker.process.kill()
        self.broker.process.wait()
        self.broker.start()

    def kills(self):
        """Return what can be killed, by its name; the S3 server would forget all objects."""
        workers = {name: lambda name=name: self.kill_worker(name) for name in (MASTER, *WORKERS)}
        return workers | {
            "serve": self.kill_serve,
            "metastore": self.kill_metastore,
            "broker": self.kill_broker,
        }


@pytest.fixture(scope="module")
def team(tmp_path_factory):
    with ExitStack() as processes:
        team = Team(processes, tmp_path_factory.mktemp)
        # Files of this machine, whose Avro the workers decode.
        team.served.lakehouse("ingest", "files", LANDING / "shop.payments")
        team.serve()
        yield team


@pytest.mark.long
def test_a_topic_is_shown_to_programs_and_every_format_is_read_on_the_workers(team):
    team.send(2)
    team.wait(team.has_arrived)
    code, said = beeline(team.served.port, "select id, name from gold.things order by id")
    assert code == 0 and "id,name\n1,thing 1\n2,thing 2\n" in said, said
    # A row change of a table, and what is no Avro at all, say what the workers have decoded.
    kinds = "select kind, count(*) from silver.events where topic = 'shop.payments'"
    found = dict(team.served.ask(f"{kinds} group by kind"))
    assert (found["row_change"], found["rejected"], sum(found.values())) == (15, 1, 38)
    assert not [key for key in team.s3.keys("team/lake/tmp/") if not key.endswith("/")]


@pytest.mark.long
def test_any_process_may_be_killed(team):
    generator = random.Random(os.environ["KILL_SEED"])
    kills, killed = team.kills(), []
    while len(killed) < KILLS:
        left = sorted(kills.keys() - set(killed)) or sorted(kills)
        killed.append(generator.choice(left))
        kills[killed[-1]]()
        team.wait(team.has_arrived)
    SAID.append(f"team: KILL_SEED={os.environ['KILL_SEED']}, killed {', '.join(killed)}")
    numbers = range(1, team.sent + 1)
    rows = team.served.ask("select id, name from gold.things order by id")
    assert rows == [(number, f"thing {number}") for number in numbers]
    offsets = f"select offset from silver.events where topic = '{TOPIC}' order by offset"
    assert team.served.ask(offsets) == [(number - 1,) for number in numbers]
    assert team.served.end() == 0
    homes = team.served.home.parent, team.served.project, team.cluster.home
    written = dict(contents for home in homes for contents in files_below(home))
    secrets = team.s3.secret.encode(), PASSWORD.encode()
    assert any(path.name == "spark.log" for path in written)
    assert not [p for p, content in written.items() if any(each in content for each in secrets)]


def files_below(home):
    """Give files with their contents, while Java still removes its temporary ones."""
    for folder, _, names in os.walk(home):
        for path in (Path(folder, name) for name in names):
            with suppress(FileNotFoundError):
                yield path, path.read_bytes()
