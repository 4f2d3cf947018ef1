"""Test whether a server answers, before a client tries for a minute and then gives up."""

import socket
from collections.abc import Iterable

CONNECT_SECONDS = 3


def refusals(servers: Iterable[str]) -> list[str]:
    """Return why none of the servers, each HOST:PORT, takes a connection; nothing if one does."""
    reasons = []
    for server in servers:
        host, _, port = server.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
            return []
        except (OSError, OverflowError) as error:
            reasons.append(f"{server} ({getattr(error, 'strerror', None) or error})")
    return reasons
