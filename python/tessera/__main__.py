# SPDX-License-Identifier: Apache-2.0
"""`python -m tessera` is the program `tessera`."""

import os
import sys

from tessera._program import main

if __name__ == "__main__":
    os.environ.setdefault("TESSERA_COMMAND", "python -m tessera")
    sys.exit(main())
