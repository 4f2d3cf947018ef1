"""A terminal of 24 lines and 80 columns, for what a command shows a person at one."""

import fcntl
import os
import pty
import struct
import termios
import threading
from contextlib import contextmanager


class Terminal:
    """What was written to a terminal, byte by byte."""

    def __init__(self):
        self._master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self._parts = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        try:
            while part := os.read(self._master, 65536):
                self._parts.append(part)
        except OSError:  # nobody has the other end open any longer
            pass

    def close(self):
        os.close(self.slave)
        self._reader.join()
        os.close(self._master)

    @property
    def text(self):
        return b"".join(self._parts).decode()


@contextmanager
def terminal_as_stderr(monkeypatch):
    """Let standard error of this process be a terminal; its text is there at the end."""
    terminal = Terminal()
    with open(os.dup(terminal.slave), "w") as stream, monkeypatch.context() as patch:
        patch.setattr("sys.stderr", stream)
        patch.setenv("TERM", "xterm")
        try:
            yield terminal
        finally:
            stream.flush()
    terminal.close()
