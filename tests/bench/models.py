#!/usr/bin/env python3
"""Prints, for each model of a folder, our latency, start-up and memory, and ONNX Runtime's latency in the same run.

    models.py BENCHMARK_APP MODELS_DIR [--models NAME ...] [--threads 1 2] [--seconds 3] [--rounds 1]
              [--ort ort_bench.js] [--shared-lib libterroir.so] [--save rows.json]
    models.py --compare OLD.json NEW.json

MODELS_DIR holds NAME.xml, NAME.bin and, for the peer, NAME.onnx. The peer is timed by a node script (with its packages on
NODE_PATH), before and after us, so that a drift of the machine shows; without --ort its columns stay empty. Both sides run
one request at a time. Only the standard library is used.
"""
import argparse
import json
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
    if all(peers):
        row["peer median"] = statistics.median(peer["median_ms"] for peer in peers)
        row["peer best"] = min(peer["min_ms"] for peer in peers)
        row["ratio of best"] = row["best"] / row["peer best"]
        row["ratio of medians"] = statistics.median(
            2 * report["latency_median"] / (before["median_ms"] + after["median_ms"])
            for before, report, after in zip(peers, ours, peers[1:]))
    return row


def print_row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def cell(column, value):
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if column in ("peak memory", "weights") else f"{value:.2f}"


def compare(old_file, new_file):
    """Prints what moved: times as new by old, with the peer's drift between the two runs taken out where it is known."""
    old, new = ({(row["model"], row["threads"]): row for row in json.loads(file.read_text())}
                for file in (old_file, new_file))
    print("new by old; `best` also as a ratio to the peer's, which a faster or slower machine does not change")
    columns = ["best", "ratio of best", "ratio of medians", "read", "compile", "first", "peak memory"]
    print_row(["model", "threads"] + columns)
    print_row(["---"] * (2 + len(columns)))
    for key in sorted(old.keys() & new.keys()):
        moved = [f"{new[key][c] / old[key][c]:.3f}" if old[key].get(c) and new[key].get(c) else "" for c in columns]
        print_row([key[0], str(key[1])] + moved)
    for key in sorted(old.keys() ^ new.keys()):
        print(f"only in the {'old' if key in old else 'new'} file: {key[0]}, {key[1]} threads")


def main():
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
    parser.add_argument("--compare", type=pathlib.Path, nargs=2, metavar=("OLD.json", "NEW.json"))
    args = parser.parse_args()
    if args.compare:
        return compare(*args.compare)
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


if __name__ == "__main__":
    main()
