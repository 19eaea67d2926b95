#!/usr/bin/env python3
"""models.py --compare must tell a change from noise, and keeps what it needs for that in its rows."""
import argparse
import contextlib
import io
import json
import pathlib
import tempfile
import unittest

import models

STEADY = [10.0, 10.1, 9.9, 10.05, 9.95, 10.02]


def times(factor, rounds):
    return [value * factor for value in rounds]


def row(model="net", **series):
    return {"model": model, "threads": 1, "median": 10.0, "best": 9.0, "rounds": series}


def word(old, new, threshold=0.01):
    return models.judge(old, new, threshold)[0]


class Judge(unittest.TestCase):
    def test_beyond_the_noise(self):
        old = row(median=STEADY)
        self.assertEqual(word(old, row(median=times(1.05, STEADY))), "SLOWER")
        self.assertEqual(word(old, row(median=times(0.95, STEADY))), "faster")
        least, middle, most = models.judge(old, row(median=times(1.05, STEADY)), 0.01)[1]
        self.assertAlmostEqual(middle, 1.05)
        self.assertAlmostEqual(least, 1.05 * 9.9 / 10.1)
        self.assertAlmostEqual(most, 1.05 * 10.1 / 9.9)

    def test_within_the_noise(self):
        self.assertEqual(word(row(median=STEADY), row(median=times(1.015, STEADY))), "same")
        self.assertEqual(word(row(median=STEADY), row(median=STEADY)), "same")
        # The same five percent, in rounds that differ by more: on either side.
        noisy = [9.0, 11.0, 10.0, 9.5, 10.5, 10.0]
        for a, b in ((noisy, STEADY), (STEADY, noisy)):
            self.assertEqual(word(row(median=a), row(median=times(1.05, b))), "same")
            self.assertEqual(word(row(median=a), row(median=times(0.95, b))), "same")

    def test_small_changes_do_not_matter(self):
        exact = [10.0] * 6
        self.assertEqual(word(row(median=exact), row(median=times(1.02, exact)), 0.03), "same")
        self.assertEqual(word(row(median=exact), row(median=times(0.98, exact)), 0.03), "same")
        self.assertEqual(word(row(median=exact), row(median=times(1.02, exact))), "SLOWER")

    def test_one_disturbed_round_of_many_hides_nothing(self):
        old = [10.0 + i / 100 for i in range(10)]
        self.assertEqual(word(row(median=old), row(median=times(1.05, old[:-1]) + [1.0])), "SLOWER")
        self.assertEqual(word(row(median=old), row(median=times(0.95, old[:-1]) + [99.0])), "faster")

    def test_few_rounds_tell_nothing(self):
        for a, b in ((STEADY, STEADY[:3]), (STEADY[:1], STEADY)):
            told, change = models.judge(row(median=a), row(median=times(2, b)), 0.01)
            self.assertTrue(told.startswith("?"), told)
            self.assertIsNone(change)
        before = row(median=STEADY)
        del before["rounds"]  # of a file older than they are
        self.assertTrue(word(before, row(median=STEADY)).startswith("?"))
        self.assertEqual(word(row(median=STEADY[:4]), row(median=times(2, STEADY[:4]))), "SLOWER")

    def test_a_slower_machine_is_no_change(self):
        old = row(median=STEADY, ratio=times(0.1, STEADY))
        self.assertEqual(word(old, row(median=times(2, STEADY), ratio=times(0.1, STEADY))), "same")
        self.assertEqual(word(old, row(median=STEADY, ratio=times(0.2, STEADY))), "SLOWER")
        self.assertEqual(word(old, row(median=times(2, STEADY))), "SLOWER")  # no peer in one of them


class RangeOfMedian(unittest.TestCase):
    def test_leaves_out_what_is_unlikely(self):
        for count, cut in ((4, 0), (6, 0), (8, 0), (9, 1), (11, 1), (12, 2), (20, 5)):
            self.assertEqual(models.range_of_median(range(count, 0, -1)), (1 + cut, count - cut), count)


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def compare(self, old, new):
        """Exit code and output of the program."""
        files = [self.root / "old.json", self.root / "new.json"]
        for file, rows in zip(files, (old, new)):
            file.write_text(json.dumps(rows))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = models.main(["--compare", *map(str, files)])
        return code, printed.getvalue()

    def test_prints_a_verdict_for_each_model(self):
        names = ("alone", "kept", "lost", "won")
        old = [row(name, median=STEADY) for name in names]
        new = [row(name, median=times(factor, STEADY)) for name, factor in zip(names[1:], (1, 1.5, 0.5))]
        code, text = self.compare(old, new)
        self.assertEqual(code, 2)
        self.assertIn("| kept | 1 | same | 1.000 (0.980 to 1.020) |", text)
        self.assertIn("| lost | 1 | SLOWER | 1.500 (1.470 to 1.530) |", text)
        self.assertIn("| won | 1 | faster | 0.500 (0.490 to 0.510) |", text)
        self.assertIn("only in the old file: alone, 1 threads", text)
        self.assertEqual(self.compare(new, new)[0], 0)

    def test_rows_keep_their_rounds(self):
        for suffix in (".xml", ".bin", ".onnx"):
            (self.root / f"net{suffix}").write_bytes(b"")
        entries = ("latency_min", "read_model_time", "load_model_time", "first_inference_time")
        ours = iter([2.0, 4.0, 3.0])
        peers = iter([1.0, 3.0, 1.0, 1.0])
        self.replace("run_ours", lambda *_: (dict.fromkeys(entries, 1.0) | {"latency_median": next(ours)}, 5.0))
        self.replace("run_peer", lambda *_: {"median_ms": next(peers), "min_ms": 1.0})
        args = argparse.Namespace(benchmark_app="", ort="", seconds=1, rounds=3)
        measured = models.measure(args, self.root / "net.xml", 1)
        self.assertEqual(measured["rounds"], {"median": [2.0, 4.0, 3.0], "ratio": [1.0, 2.0, 3.0]})
        self.assertEqual(measured["median"], 3.0)
        self.assertEqual(measured["ratio of medians"], 2.0)

    def replace(self, name, function):
        original = getattr(models, name)
        setattr(models, name, function)
        self.addCleanup(setattr, models, name, original)


if __name__ == "__main__":
    unittest.main()
