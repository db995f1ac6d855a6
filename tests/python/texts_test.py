# SPDX-License-Identifier: Apache-2.0
"""Texts and bytes as keys, of tables and of verbs, against dicts; pandas where it is installed."""

import os
import unittest
from collections import Counter

import numpy as np

import tessera
from tessera import _texts

BACKEND = os.environ.get("TSR_TEST_BACKEND", "cpu")


def texts_of(n, seed):
    rng = np.random.default_rng(seed)
    words = ["", "a", "ab", "b", "Straße", "\u65e5\u672c", "x" * 300, "a\0b", *(f"key {i}" for i in range(300))]
    return [words[i] for i in rng.integers(0, len(words), n)]


class TextsTest(unittest.TestCase):
    def setUp(self):
        self.texts = texts_of(2000, 1)
        self.firsts = list(dict.fromkeys(self.texts))

    def columns(self):
        plain = [text.replace("\0", "") for text in self.texts]  # fixed widths of NumPy end at NUL
        yield self.texts, np.array(self.texts, object)
        yield plain, np.array(plain)
        yield [text.encode() for text in plain], np.array([text.encode() for text in plain])
        yield [text.encode() for text in self.texts], np.array([text.encode() for text in self.texts], object)
        try:
            import pandas
        except ImportError:
            return
        yield self.texts, pandas.Series(self.texts)
        yield self.texts, pandas.Series(self.texts, dtype="string")

    def test_verbs_of_one_column(self):
        for texts, column in self.columns():
            with self.subTest(type(column).__name__, dtype=str(column.dtype)):
                firsts = list(dict.fromkeys(texts))
                distinct, inverse, counts = tessera.unique(column, True, True)
                self.assertEqual(list(distinct), firsts)
                self.assertEqual([firsts[i] for i in inverse], texts)
                self.assertEqual(list(counts), [Counter(texts)[text] for text in firsts])
                codes, values = tessera.factorize(column)
                self.assertEqual([list(values)[i] for i in codes], texts)
                among = firsts[:20]
                self.assertEqual(list(tessera.isin(column, among)), [text in among for text in texts])
                self.assertEqual(list(tessera.isin(column, [])), [False] * len(texts))
                groups = tessera.group_by(column).agg(total=(np.arange(len(texts)), "sum"))
                totals = {}
                for i, text in enumerate(texts):
                    totals[text] = totals.get(text, 0) + i
                self.assertEqual(dict(zip(groups["key"], groups["total"])), totals)

    def test_joins(self):
        right = texts_of(300, 2)
        left_rows, right_rows = tessera.merge(np.array(self.texts, object), np.array(right, object))
        expected = sorted((i, k) for i, a in enumerate(self.texts) for k, b in enumerate(right) if a == b)
        self.assertEqual(sorted(zip(left_rows.tolist(), right_rows.tolist())), expected)

    def test_frames_and_nulls(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("pandas is not installed")
        texts, firsts = ([text.replace("\0", "") for text in some] for some in (self.texts, self.firsts))  # pandas ends there
        left = pandas.DataFrame({"name": [*texts[:200], None], "n": range(201)})
        right = pandas.DataFrame({"name": [*firsts[:50], None], "m": range(51)})
        made = tessera.merge(left, right, on="name")
        expected = left.dropna().merge(right.dropna(), on="name")
        self.assertEqual(sorted(made[["n", "m"]].values.tolist()), sorted(expected[["n", "m"]].values.tolist()))
        groups = tessera.group_by(left, "name").agg(total=("n", "sum"))
        self.assertEqual(
            dict(zip(groups["name"], groups["total"])), left.dropna().groupby("name")["n"].sum().to_dict()
        )
        self.assertEqual(tessera.factorize(left["name"])[0][-1], -1)
        pairs = pandas.DataFrame({"name": texts, "day": np.arange(2000) % 3})
        groups = tessera.group_by(pairs, ["name", "day"]).agg(n="size")
        expected = pairs.groupby(["name", "day"]).size()
        self.assertEqual(dict(zip(zip(groups["name"], groups["day"]), groups["n"])), expected.to_dict())

    def test_tables(self):
        some = len(self.firsts) // 3
        for kind, made in ("str", lambda text: text), ("bytes", str.encode), (bytes, str.encode):
            texts = list(map(made, self.firsts))  # once per call: of a key that is repeated any value would stay
            expected = {text: i + 1000 * (i >= some) for i, text in enumerate(texts)}
            with tessera.Map(key=kind, value="int64", backend=BACKEND) as table:
                table[texts[: 2 * some]] = np.arange(2 * some)
                table[np.array(texts[some:], object)] = np.arange(some, len(texts)) + 1000
                keys, values = table.items()
                self.assertEqual(dict(zip(keys, values.tolist())), expected)
                self.assertEqual(sorted(table), sorted(expected))
                self.assertEqual(table[texts[5]], expected[texts[5]])
                self.assertEqual(table.get(made("absent"), -1), -1)
                self.assertIn(texts[7], table)
                self.assertNotIn(made("absent"), table)
                self.assertEqual(table[texts[:50]].tolist(), [expected[text] for text in texts[:50]])
                del table[texts[3]]
                self.assertNotIn(texts[3], table)
                with self.assertRaises(tessera.Missing):
                    table[[texts[3]]]
        with tessera.Index("str", numbering="first_seen", backend=BACKEND) as index:
            self.assertEqual(index.number(self.texts).tolist(), [self.firsts.index(text) for text in self.texts])
            self.assertEqual(index.keys_by_number()[0].tolist(), self.firsts)
            self.assertEqual(index.unique(self.texts)[0].tolist(), self.firsts)
        with tessera.Counter("str", backend=BACKEND) as counts:
            counts.insert(self.texts)
            self.assertEqual(dict(zip(*(part.tolist() for part in counts.items()))), Counter(self.texts))

    def test_texts_of_look_ups_are_not_kept(self):
        with tessera.Set("str", backend=BACKEND) as table:
            table.insert(["a", "b", "a"])
            table.contains([f"absent {i}" for i in range(100)])
            table.insert(["b", "c"])
            self.assertEqual(table._form._texts, ["a", "b", "c"])

    def test_the_hash_is_seeded(self):
        one, same, other = (_texts.hashes(["a", "b"], "str", "x", seed) for seed in (1, 1, 2))
        self.assertEqual(one.tobytes(), same.tobytes())
        self.assertNotEqual(one.tobytes(), other.tobytes())
        # XXH3_128bits_withSeed of "a" with seed 0, as xxh128sum prints it
        self.assertEqual(_texts.hashes(["a"], "str", "x", 0)[0][::-1].hex(), "a96faf705af16834e6c632b61e964e1f")

    def test_what_is_refused(self):
        with tessera.Set("str", backend=BACKEND) as table:
            for keys, sentence in (
                ([1, 2], "holds int 1, and is of str"),
                ([b"a"], "holds bytes b'a', and is of str"),
                (["a", 5], "holds int 5, and is of str"),
                (np.arange(3), "holds int 0, and keys are str"),
            ):
                with self.assertRaisesRegex(tessera.WrongType, sentence):
                    table.insert(keys)
        with self.assertRaisesRegex(tessera.WrongType, "holds int 5, and is of str"):
            tessera.unique(np.array(["a", 5], object))
        with self.assertRaisesRegex(tessera.WrongType, "x: is of str, and values of bytes"):
            tessera.isin(np.array(["a"]), [b"a"])


if __name__ == "__main__":
    unittest.main()
