"""The formats of this repository, and the models that read them."""

import re

from conftest import PROJECT

from cdc_lakehouse.routes import formats

FORMATS = formats(PROJECT)
# The formats that the model of another one reads.
TWINS = dict(re.findall(r"'(\w+)': '(\w+)'", (PROJECT / "macros" / "formats.sql").read_text()))
MODELS = [name for name in FORMATS if name not in TWINS]
