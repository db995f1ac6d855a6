# SPDX-License-Identifier: Apache-2.0
"""Runs the examples in the docstrings of all public names."""

import doctest
import unittest

import numpy as np

import tessera


class DocstringsTest(unittest.TestCase):
    def test_every_example(self):
        found = 0
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        for name in tessera.__all__:
            thing = getattr(tessera, name)
            for test in doctest.DocTestFinder().find(thing, name, module=False, globs={"tessera": tessera, "np": np}):
                found += len(test.examples)
                runner.run(test)
        self.assertEqual(runner.failures, 0)
        self.assertGreaterEqual(found, 20)


if __name__ == "__main__":
    unittest.main()
