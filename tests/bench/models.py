#!/usr/bin/env python3
"""Prints, for each model of a folder, our latency, start-up and memory, and ONNX Runtime's latency in the same run.

    models.py BENCHMARK_APP MODELS_DIR [--threads 2] [--seconds 3] [--ort ort_bench.js] [--shared-lib libterroir.so] [NAME ...]

MODELS_DIR holds NAME.xml, NAME.bin and, for the peer, NAME.onnx. The peer is timed by a node script (with its packages on
NODE_PATH), before and after us, so that a drift of the machine shows; without --ort its columns stay empty. Both sides run
one request at a time. Only the standard library is used.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def run_ours(app, model, threads, seconds):
    """The JSON report of one benchmark_app process, and its peak resident memory in MB."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [app, "-m", str(model), "--api", "sync", "--nthreads", str(threads), "--nstreams", "1", "-t",
                   str(seconds), "--json_stats", report.name]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark_app")
    parser.add_argument("models_dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--ort")
    parser.add_argument("--shared-lib", type=pathlib.Path)
    args = parser.parse_args()
    names = args.names or sorted(path.stem for path in args.models_dir.glob("*.xml"))
    if not names:
        sys.exit(f"no .xml in {args.models_dir}")

    print(f"{args.threads} threads, batch 1, one request at a time; milliseconds and MB")
    print("| model | median | best | peer median | peer best | ratio of best | read | compile | first | peak memory | weights |")
    print("| --- " * 11 + "|")
    for name in names:
        model = args.models_dir / f"{name}.xml"
        onnx = args.models_dir / f"{name}.onnx"
        before = run_peer(args.ort, onnx, args.threads, args.seconds)
        ours, memory = run_ours(args.benchmark_app, model, args.threads, args.seconds)
        after = run_peer(args.ort, onnx, args.threads, args.seconds)
        median, best_ours = ours["latency_median"], ours["latency_min"]
        row = [name, f"{median:.2f}", f"{best_ours:.2f}"]
        if before and after:
            best = min(before["min_ms"], after["min_ms"])
            peer_median = min(before["median_ms"], after["median_ms"])
            row += [f"{peer_median:.2f}", f"{best:.2f}", f"{best_ours / best:.2f}"]
        else:
            row += ["", "", ""]
        row += [f"{ours['read_model_time']:.1f}", f"{ours['load_model_time']:.1f}", f"{ours['first_inference_time']:.1f}",
                f"{memory:.0f}", f"{model.with_suffix('.bin').stat().st_size / 1e6:.0f}"]
        print("| " + " | ".join(row) + " |", flush=True)
    if args.shared_lib:
        print(f"\n{args.shared_lib.name}: {args.shared_lib.resolve().stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
