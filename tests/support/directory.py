"""A real LDAP server on loopback: its jar is fetched once, tests start and stop it."""

import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from broker import FLAGS, _answers, _free_ports

from cdc_lakehouse.runtime.jars import retrieve
from cdc_lakehouse.runtime.java import find_java

IVY_FILE = Path(__file__).with_name("directory.ivy.xml")
FOLDER = Path(sys.prefix, "share", "cdc_lakehouse", "directory")
SERVER = "com.unboundid.ldap.listener.InMemoryDirectoryServerTool"
PEOPLE = "ou=people,dc=example"
ENTRIES = f"""dn: dc=example
objectClass: domain
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: uid=ann,{PEOPLE}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Ann
userPassword: s3cret-of-ann
"""


def fetch_directory():
    """Fetch the jar of the server, if it is not there."""
    if not list(FOLDER.glob("*.jar")) and (reason := retrieve(IVY_FILE, FOLDER)):
        raise RuntimeError(f"The jar of the LDAP server could not be fetched:\n{reason}")


@contextmanager
def directory(home):
    """Run a server with one person, ann; yield its address."""
    fetch_directory()
    (home / "entries.ldif").write_text(ENTRIES)
    (port,) = _free_ports(1)
    command = [find_java(), *FLAGS, "-cp", f"{FOLDER}/*", SERVER, "--port", str(port)]
    command += ["--baseDN", "dc=example", "--ldifFile", home / "entries.ldif"]
    with open(home / "ldap.log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while not _answers(f"127.0.0.1:{port}"):
            assert process.poll() is None, (home / "ldap.log").read_text()
            time.sleep(0.05)
        yield f"ldap://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


if __name__ == "__main__":
    fetch_directory()
