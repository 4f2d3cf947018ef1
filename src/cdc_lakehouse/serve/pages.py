"""The HTTP endpoint of a served lakehouse: the report, /health, /ready and /metrics."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from cdc_lakehouse.errors import LakehouseError, short_message

PLAIN = "text/plain; charset=utf-8"
HTML = "text/html; charset=utf-8"


class Pages:
    """Answers in threads of its own until it is closed."""

    def __init__(
        self,
        host: str,
        port: int,
        trouble: Callable[[], str],
        figures: Callable[[], bytes],
        report: Callable[[], bytes],
    ) -> None:
        """Begin to answer.

        Args:
            trouble: returns what keeps it from answering SQL; nothing if all is well.
            figures: returns the text of /metrics.
            report: returns the page of /.
        """

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                if path == "/health":
                    said = trouble()
                    self._say(503 if said else 200, said or "alive")
                elif path == "/ready":
                    said = trouble() or ("" if pages.is_ready else "starting")
                    self._say(503 if said else 200, said or "ready")
                elif path == "/metrics":
                    self._ask(figures, CONTENT_TYPE_LATEST)
                elif path == "/":
                    self._ask(report, HTML)
                else:
                    self._say(404, "There are /, /health, /ready and /metrics.")

            def _ask(self, make: Callable[[], bytes], kind: str) -> None:
                try:
                    self._say(200, make(), kind)
                except (PySparkException, Py4JError, LakehouseError, OSError) as error:
                    self._say(500, short_message(error))

            def _say(self, code: int, text: str | bytes, kind: str = PLAIN) -> None:
                body = text if isinstance(text, bytes) else f"{text}\n".encode()
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Say nothing: a monitoring system asks every few seconds."""

        pages = self
        self.is_ready = False
        self._server = ThreadingHTTPServer((host, port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
