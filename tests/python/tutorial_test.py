# SPDX-License-Identifier: Apache-2.0
"""python/README.md, done by the letter: its Python examples print what the page says.

tutorial_test.py README.md
"""

import doctest
import re
import sys


def main() -> int:
    page = sys.argv[1]
    with open(page, encoding="utf-8") as file:
        text = re.sub(r"^```.*$", "", file.read(), flags=re.MULTILINE)  # or the end of a block were output
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    failed, tried = doctest.DocTestRunner().run(examples)
    print(f"{tried} examples, {failed} failed")
    return failed > 0 or tried < 50


if __name__ == "__main__":
    sys.exit(main())
