"""Whether this process is asked to end once the commits at work are made.

A process that stays sets it on a signal; whoever goes from commit to commit looks at it between
two of them.
"""

import threading

REQUESTED = threading.Event()
