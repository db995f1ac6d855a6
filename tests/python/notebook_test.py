# SPDX-License-Identifier: Apache-2.0
"""A notebook, cell by cell: each prints what the notebook says. Without Jupyter.

notebook_test.py NOTEBOOK
"""

import contextlib
import io
import json
import sys


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        cells = [cell for cell in json.load(file)["cells"] if cell["cell_type"] == "code"]
    names = {"__name__": "__main__"}
    wrong = 0
    for number, cell in enumerate(cells, 1):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
        wanted = "".join(text for output in cell["outputs"] for text in output["text"])
        if printed.getvalue() != wanted:
            wrong += 1
            print(f"cell {number}: printed {printed.getvalue()!r}, and the notebook has {wanted!r}")
    print(f"{len(cells)} cells, {wrong} wrong")
    return wrong > 0 or len(cells) < 11


if __name__ == "__main__":
    sys.exit(main())
