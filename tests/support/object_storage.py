"""A real S3 server on loopback, which answers with the faults that a test asks for.

Run with a port it is the server; alone it fetches what Spark needs to speak to one.
"""

import os
import secrets
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import parse_qs

from broker import _answers, _free_ports

from cdc_lakehouse.runtime.jars import FOLDER, fetch_storage_jars

BUCKET = "lakes"
NONE, REFUSED, SLOW, LOST = "none", "refused", "slow", "lost"


class Faults:
    """A WSGI application whose every n-th answer to a request that changes something is a fault.

    REFUSED: error 500, and nothing done. SLOW: after two seconds. LOST: it is done, and the
    connection ends without an answer.
    """

    def __init__(self, application):
        self.application, self.kind, self.every, self.seen = application, NONE, 1, 0

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"] == "/faults":
            asked = parse_qs(environ["QUERY_STRING"])
            self.kind, self.every, self.seen = asked["kind"][0], int(asked["every"][0]), 0
            start_response("200 OK", [])
            return [b""]
        self.seen += environ["REQUEST_METHOD"] != "GET"
        is_fault = environ["REQUEST_METHOD"] != "GET" and self.seen % self.every == 0
        kind = self.kind if is_fault else NONE
        if kind == REFUSED:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("500 Internal Server Error", [("Content-Length", "0")])
            return [b""]
        if kind == SLOW:
            time.sleep(2)
        answer = self.application(environ, start_response)
        if kind == LOST:
            answer = list(answer)
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
        return answer


def serve(port):
    """Serve S3 until the process is killed; what was written is then gone."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    WSGIRequestHandler.protocol_version = "HTTP/1.1"
    application = DomainDispatcherApplication(create_backend_app)
    make_server("127.0.0.1", port, Faults(application), threaded=True).serve_forever()


class S3:
    """A server with one bucket."""

    def __init__(self, port):
        import boto3

        self.port, self.secret = port, secrets.token_hex()
        self.environment = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        }
        self.client = boto3.client(
            "s3",
            endpoint_url=self.environment["AWS_ENDPOINT_URL"],
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key=self.secret,
        )
        self.client.create_bucket(Bucket=BUCKET)

    def keys(self, prefix=""):
        """Return the names of all objects whose names begin so."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def write(self, key, text):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=text.encode())

    @contextmanager
    def failing(self, kind, every):
        """Let every n-th request that changes something have a fault of a kind."""
        self._ask(kind, every)
        try:
            yield
        finally:
            self._ask(NONE, 1)

    def _ask(self, kind, every):
        connection = HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", f"/faults?kind={kind}&every={every}")
        assert connection.getresponse().status == 200
        connection.close()


@contextmanager
def s3_server(home):
    """Run a server; yield what tests ask."""
    fetch_s3a()
    (port,) = _free_ports(1)
    with open(home / "s3.log", "ab") as log:
        command = [sys.executable, __file__, str(port)]
        process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
    try:
        while not _answers(f"127.0.0.1:{port}"):
            assert process.poll() is None, (home / "s3.log").read_text()
            time.sleep(0.05)
        yield S3(port)
    finally:
        process.kill()
        process.wait()


def fetch_s3a():
    """Fetch the jars, if they are not there."""
    if not list((FOLDER / "s3a").glob("*.jar")):
        fetch_storage_jars("s3a")


if __name__ == "__main__":
    serve(int(sys.argv[1])) if sys.argv[1:] else fetch_s3a()
