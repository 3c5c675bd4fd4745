"""`python -m trainer_infra.cli`: the `trainer-infra` command where no script is installed."""

import sys

from trainer_infra.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
