"""Fits y = 3x + 2 by least squares: each worker adds up its own points, the first one all sums."""

import json
import os
import sys
import time
from pathlib import Path

from trainer_infra.report import report

worker, workers = int(os.environ["ACME_WORKER"]), int(os.environ["ACME_WORKERS"])
folder = Path(os.environ["ACME_FOLDER"])
points = [(float(x), 3.0 * x + 2.0) for x in range(worker, int(sys.argv[1]), workers)]
sums = (
    len(points),
    sum(x for x, _ in points),
    sum(y for _, y in points),
    sum(x * x for x, _ in points),
    sum(x * y for x, y in points),
)
(folder / f"{worker}.part").write_text(json.dumps(sums))
(folder / f"{worker}.part").rename(folder / f"{worker}.json")
if worker == 0:
    while len(files := sorted(folder.glob("*.json"))) < workers:
        time.sleep(0.05)
    sums_of_all = [json.loads(each.read_text()) for each in files]
    count, x, y, xx, xy = (sum(column) for column in zip(*sums_of_all, strict=True))
    slope = (count * xy - x * y) / (count * xx - x * x)
    report(progress=100, slope=slope, intercept=(y - slope * x) / count, workers=len(files))
