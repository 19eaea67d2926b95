#!/usr/bin/env python3
"""Prints, for each model of a folder, our latency, start-up and memory, and ONNX Runtime's latency in the same run.

    models.py BENCHMARK_APP MODELS_DIR [--models NAME ...] [--threads 1 2] [--seconds 3] [--rounds 1]
              [--ort ort_bench.js] [--shared-lib libterroir.so] [--save rows.json]
    models.py --compare OLD.json NEW.json [--threshold 1]

MODELS_DIR holds NAME.xml, NAME.bin and, for the peer, NAME.onnx. The peer is timed by a node script (with its packages on
NODE_PATH), before and after us, so that a drift of the machine shows; without --ort its columns stay empty. Both sides run
one request at a time. Only the standard library is used.

--compare tells for each model whether it got slower or faster beyond the noise, which the rounds of both files show: four
at least. Exit code: 2 when a model got slower.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree


def input_types(model):
    """Element types of the inputs in the file."""
    layers = xml.etree.ElementTree.parse(model).getroot().find("layers")
    return {layer.find("data").get("element_type") for layer in layers if layer.get("type") == "Parameter"}


def run_ours(app, model, threads, seconds):
    """The JSON report of one benchmark_app process, and its peak resident memory in MB."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [app, "-m", str(model), "--api", "sync", "--nthreads", str(threads), "--nstreams", "1", "-t",
                   str(seconds), "--json_stats", report.name]
        if input_types(model) == {"f32"}:
            command += ["--ip", "f32"]  # not u8 for images, as the peer
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(command)}\n{output}")
        with open(report.name) as file:
            return json.load(file)["execution_results"], usage.ru_maxrss / 1024


def run_peer(script, model, threads, seconds):
    """One line of the peer's script, or None without a script or model."""
    if not script or not model.exists():
        return None
    command = ["node", script, "--threads", str(threads), "--seconds", str(seconds), "--json", str(model)]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return json.loads(result.stdout.strip().splitlines()[-1])


COLUMNS = ["model", "threads", "median", "best", "peer median", "peer best", "ratio of best", "ratio of medians", "read",
           "compile", "first", "peak memory", "weights"]


def measure(args, model, threads):
    """One row, by column; the peer's entries are None without it."""
    onnx = model.with_suffix(".onnx")
    peers = [run_peer(args.ort, onnx, threads, args.seconds)]
    ours, memory = [], []
    for _ in range(args.rounds):
        report, peak = run_ours(args.benchmark_app, model, threads, args.seconds)
        ours.append(report)
        memory.append(peak)
        peers.append(run_peer(args.ort, onnx, threads, args.seconds))
    median = statistics.median(report["latency_median"] for report in ours)
    row = dict.fromkeys(COLUMNS)
    row.update({"model": model.stem, "threads": threads, "median": median,
                "best": min(report["latency_min"] for report in ours),
                "weights": model.with_suffix(".bin").stat().st_size / 1e6, "peak memory": max(memory)})
    for column, entry in [("read", "read_model_time"), ("compile", "load_model_time"), ("first", "first_inference_time")]:
        row[column] = min(report[entry] for report in ours)
    row["rounds"] = {"median": [report["latency_median"] for report in ours]}
    if all(peers):
        row["rounds"]["ratio"] = [2 * report["latency_median"] / (before["median_ms"] + after["median_ms"])
                                  for before, report, after in zip(peers, ours, peers[1:])]
        row["peer median"] = statistics.median(peer["median_ms"] for peer in peers)
        row["peer best"] = min(peer["min_ms"] for peer in peers)
        row["ratio of best"] = row["best"] / row["peer best"]
        row["ratio of medians"] = statistics.median(row["rounds"]["ratio"])
    return row


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def cell(column, value):
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if column in ("peak memory", "weights") else f"{value:.2f}"


LEAST_ROUNDS = 4  # of three, one in ten pairs of equal ones is all above or all below the other


def range_of_median(rounds):
    """Between which of these values the median of endless rounds lies, nineteen times in twenty; of fewer than six
    values, that is not even so between the least and the largest, which then stand for it."""
    values, cut, tail = sorted(rounds), 0, 1
    while 2 * tail <= 0.05 * 2 ** len(values):  # of 2^n ways to lie about the median, `tail` have at most `cut` below it
        cut += 1
        tail += math.comb(len(values), cut)
    return values[max(cut - 1, 0)], values[-max(cut, 1)]


def judge(old, new, threshold):
    """A word, and what new by old may be: (least, middle, most), None where nothing tells. Ratios to the peer are
    compared where both rows have them: a machine that is faster or slower as a whole does not change them."""
    for series in ("ratio", "median"):
        before, after = (row.get("rounds", {}).get(series, []) for row in (old, new))
        if before and after:
            break
    if min(len(before), len(after)) < LEAST_ROUNDS:
        return f"? (fewer than {LEAST_ROUNDS} rounds)", None
    (old_low, old_high), (new_low, new_high) = range_of_median(before), range_of_median(after)
    least, most = new_low / old_high, new_high / old_low
    middle = statistics.median(after) / statistics.median(before)
    if least > 1 and middle > 1 + threshold:
        return "SLOWER", (least, middle, most)
    if most < 1 and middle < 1 / (1 + threshold):
        return "faster", (least, middle, most)
    return "same", (least, middle, most)


def compare(old_file, new_file, threshold):
    """Prints what moved, as new by old, and whether that is more than noise. Returns how many models got slower."""
    old, new = ({(row["model"], row["threads"]): row for row in json.loads(file.read_text())}
                for file in (old_file, new_file))
    print("new by old; `best` also as a ratio to the peer's, which a faster or slower machine does not change; verdict by "
          "the medians of the rounds, as ratios to the peer's where both files have them")
    columns = ["best", "ratio of best", "ratio of medians", "read", "compile", "first", "peak memory"]
    print_row(["model", "threads", "verdict", "median of rounds"] + columns)
    print_row(["---"] * (4 + len(columns)))
    slower = 0
    for key in sorted(old.keys() & new.keys()):
        word, change = judge(old[key], new[key], threshold)
        slower += word == "SLOWER"
        moved = [f"{new[key][c] / old[key][c]:.3f}" if old[key].get(c) and new[key].get(c) else "" for c in columns]
        noise = "{1:.3f} ({0:.3f} to {2:.3f})".format(*change) if change else ""
        print_row([key[0], str(key[1]), word, noise] + moved)
    for key in sorted(old.keys() ^ new.keys()):
        print(f"only in the {'old' if key in old else 'new'} file: {key[0]}, {key[1]} threads")
    return slower


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark_app", nargs="?")
    parser.add_argument("models_dir", type=pathlib.Path, nargs="?")
    parser.add_argument("--models", nargs="+", metavar="NAME", help="only these")
    parser.add_argument("--threads", type=int, nargs="+", default=[2])
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1, help="runs of ours, each between two of the peer; the ratio of "
                        "medians compares neighbours: on a machine that others use too, ten rounds of a second settle it")
    parser.add_argument("--ort")
    parser.add_argument("--shared-lib", type=pathlib.Path)
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json", help="keep the rows for --compare")
    parser.add_argument("--compare", type=pathlib.Path, nargs=2, metavar=("OLD.json", "NEW.json"),
                        help="what moved between two files of --save, and whether beyond the noise of their rounds")
    parser.add_argument("--threshold", type=float, default=1, metavar="PERCENT",
                        help="below which a difference does not matter (default: 1)")
    args = parser.parse_args(arguments)
    if args.compare:
        return 2 if compare(*args.compare, args.threshold / 100) else 0
    if not args.models_dir:
        parser.error("BENCHMARK_APP and MODELS_DIR are wanted")
    names = args.models or sorted(path.stem for path in args.models_dir.glob("*.xml"))
    if not names:
        sys.exit(f"no .xml in {args.models_dir}")

    print("batch 1, one request at a time; milliseconds and MB")
    print_row(COLUMNS)
    print_row(["---"] * len(COLUMNS))
    rows = []
    for name in names:
        for threads in args.threads:
            rows.append(measure(args, args.models_dir / f"{name}.xml", threads))
            print_row([cell(column, rows[-1][column]) for column in COLUMNS])
            if args.save:
                args.save.write_text(json.dumps(rows, indent=1))
    if args.shared_lib:
        print(f"\n{args.shared_lib.name}: {args.shared_lib.resolve().stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
