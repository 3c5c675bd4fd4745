"""`acme_launcher.py WORKERS COMMAND ...`: the command in several processes, which share a folder."""

import os
import subprocess
import sys
import tempfile

workers, command = int(sys.argv[1]), sys.argv[2:]
with tempfile.TemporaryDirectory() as folder:
    started = [
        subprocess.Popen(
            command,
            env={
                **os.environ,
                "ACME_FOLDER": folder,
                "ACME_WORKER": str(worker),
                "ACME_WORKERS": str(workers),
            },
        )
        for worker in range(workers)
    ]
    sys.exit(max(each.wait() for each in started))
