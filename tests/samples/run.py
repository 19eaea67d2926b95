"""Runs the samples as a user does and checks what they print and write: run.py --bin DIR --work DIR CASE.

Exit codes: 0 the case holds, 1 it does not, 77 it needs data that are not there.
"""

import argparse
import json
import pathlib
import re
import sys

import benchmark_cases
from harness import SIZE, SKIPPED, Run, expect, read_png, test_picture, write_png, write_ppm

# --- what the programs print ---


def top_results(output):
    """(class, probability) of the table."""
    table = output[output.index("classid probability\n------- -----------\n") :].splitlines()[2:]
    rows = [re.fullmatch(r"(\d+) +(\S+)", line) for line in table if line]
    expect(all(rows), f"not a table of classes: {table}")
    return [(int(row[1]), float(row[2])) for row in rows]


def check_top_results(results, count=10):
    probabilities = [probability for _, probability in results]
    expect(len(results) == count, f"expected {count} results, got {results}")
    expect(probabilities == sorted(probabilities, reverse=True), f"not sorted: {results}")
    expect(len({label for label, _ in results}) == count, f"a class twice: {results}")
    expect(0 < sum(probabilities) <= 1.0001, f"no probabilities: {results}")


def check_same_results(first, second):
    expect([label for label, _ in first] == [label for label, _ in second], f"{first} is not {second}")
    for (_, one), (_, other) in zip(first, second):
        expect(abs(one - other) <= 1e-4 * max(one, other) + 1e-6, f"{first} is not {second}")


# --- cases ---


def model_creation(run):
    output = run.succeed("model_creation", "-o", run.model.parent, "--size", SIZE)
    check_top_results(top_results(output))
    expect(f"f32[1,3,{SIZE},{SIZE}]" in output and "f32[1,1000]" in output, f"inputs or outputs are missing: {output}")
    expect(run.model.stat().st_size > 100_000, "the .xml is too small for a MobileNet-v2")
    weights = run.model.with_suffix(".bin").stat().st_size
    expect(weights > 3_400_000 * 4, f"the .bin has {weights} bytes, too few for 3.5 million weights")
    again = run.work / "again"
    expect(top_results(run.succeed("model_creation", "--output", again, "--size", SIZE)) == top_results(output),
           "another run answers differently")
    for suffix in (".xml", ".bin"):
        expect((again / "model").with_suffix(suffix).read_bytes() == run.model.with_suffix(suffix).read_bytes(),
               f"another run writes another {suffix}")


def devices_agree(run):
    results = [top_results(run.succeed("model_creation", "--size", 32, "-d", device))
               for device in ("CPU", "INTERPRETER")]
    check_top_results(results[0])
    check_same_results(*results)


def hello_classification(run):
    png, ppm = run.work / "picture.png", run.work / "picture.ppm"
    rows = test_picture(150, 110)
    write_png(png, rows)
    write_ppm(ppm, rows)
    output = run.succeed("hello_classification", run.model, png, "CPU")
    expect("Top 10 results:" in output and f"Image {png}" in output, f"a heading is missing: {output}")
    results = top_results(output)
    check_top_results(results)
    expect(top_results(run.succeed("hello_classification", run.model, ppm, "CPU")) == results,
           "the format of the file changes the answer")
    # The same model as built, not as read back from the file.
    built = run.succeed("model_creation", png, "--size", SIZE)
    check_same_results(top_results(built), results)


def hello_query_device(run):
    output = run.succeed("hello_query_device")
    for device in ("CPU", "INTERPRETER"):
        expect(f"[ INFO ] {device}\n" in output, f"{device} is missing: {output}")
    for key in ("FULL_DEVICE_NAME", "OPTIMIZATION_CAPABILITIES", "AVAILABLE_DEVICES"):
        expect(len(re.findall(rf"Immutable: {key} : \S", output)) == 2, f"{key} is missing: {output}")
    for key in ("NUM_STREAMS", "INFERENCE_NUM_THREADS", "PERF_COUNT", "PERFORMANCE_HINT"):
        expect(len(re.findall(rf"Mutable: {key} : \S", output)) == 2, f"{key} is missing: {output}")


def custom_device(run):
    library = run.bin / "custom_device.so"
    output = run.succeed("hello_query_device", "-extensions", library)
    expect("[ INFO ] CHECKED\n" in output and "CPU, checked by the reference" in output, f"CHECKED is missing: {output}")
    output = run.succeed("benchmark_app", "-m", run.model, "-extensions", library, "-d", "CHECKED", "-niter", 2)
    expect("CHECKED" in output and "Throughput" in output, f"the device does not run the model: {output}")


def custom_layer(run):
    """The library with a layer of its own, in the layouts around it and alone."""
    model = pathlib.Path(__file__).resolve().parents[2] / "samples" / "custom_layer" / "snake.xml"
    library = run.bin / "custom_layer.so"
    for device in ("CPU", "INTERPRETER"):
        report = run.work / f"snake_{device}.json"
        output = run.succeed("benchmark_app", "-m", model, "-extensions", library, "-d", device, "-niter", 2, "-json_stats",
                             report, "-pc", "-api", "sync")
        expect(f"Extensions are loaded: {library}" in output, output)
        layers = json.loads(report.read_text())["performance_counters"]
        snake = [layer for layer in layers if layer["name"] == "snake"]
        expect(len(snake) == 1, f"the layer is missing: {layers}")
        expect((snake[0]["exec_type"] == "extension:custom_layer.so") == (device == "CPU"), f"{snake}")
    done = run.start("benchmark_app", "-m", model, "-niter", 1)
    expect(done.returncode == 3 and "unknown operation 'Snake'" in done.stderr, f"no error without it: {done.stderr}")
    done = run.start("benchmark_app", "-m", model, "-niter", 1, "-extensions", model)
    expect(done.returncode == 3 and "extension" in done.stderr and "snake.xml" in done.stderr,
           f"not named: {done.stderr}")


def check_extension(run):
    program = "terroir_check_extension"
    output = run.succeed(program, run.bin / "custom_layer.so", "--trials", 60)
    found = re.search(r"Snake: computed in (\d+) trials, of these in (\d+) also between convolutions and in (\d+) with "
                      r"unknown extents; refused (\d+)", output)
    expect(found and all(int(count) > 0 for count in found.groups()), f"not all was tried: {output}")
    expect("No fault was found." in output, output)
    expect(run.succeed(program, run.bin / "custom_layer.so", "--trials", 60) == output, "another run says something else")
    library = run.extensions / "extension_faulty.so"
    done = run.start(program, library, "--trials", 60)
    expect(done.returncode == 1 and "There are faults." in done.stdout, f"{done.returncode}: {done.stdout}")
    for fault in (r"WritesOutside writes outside of an output, \d+ times, first with no attributes, f32\[", r"LeavesOneOut .*(unwritten|other results)",
                  r"MistakesLayouts gives other results in the layouts between convolutions",
                  r"CountsItsRuns gives other results the second time",
                  r"TooLarge fails with what its shape inference accepts: .*f32\[9223372036854775807\]",
                  r"Exits ended the process with exit code 0; again with --seed 1 --trials 1",
                  r"Crashes crashed \(Segmentation fault\); again "
                  r"with --seed 1 --trials 1"):
        expect(re.search(r"^\[ FAULT \] " + fault, done.stdout, re.MULTILINE), f"{fault} is missing: {done.stdout}")
    expect(re.search(r"TakesAny: computed in [1-9]", done.stdout) and "[ FAULT ] TakesAny" not in done.stdout, done.stdout)
    done = run.start(program, run.model)
    expect(done.returncode == 1 and "model.xml" in done.stderr, f"not named: {done.stderr}")

    output = run.succeed(program, run.bin / "custom_device.so")
    expect(re.search(r"device CHECKED: ran 6 models, 1 of them with unknown extents; refused 0", output), output)
    done = run.start(program, run.extensions / "extension_faulty_devices.so")
    expect(done.returncode == 1 and "There are faults." in done.stdout, f"{done.returncode}: {done.stdout}")
    expect("device SOUND: ran 1 models" in done.stdout and "refused 5 x: it does not run" in done.stdout, done.stdout)
    expect("[ FAULT ] device SOUND" not in done.stdout, done.stdout)
    for fault in ("WRONG computes something else than the reference", "COUNTING gives other results the second time",
                  "OUTSIDE writes outside of an output", r"REFUSING fails with layers that it says it runs: .*no such sums.*"):
        expect(re.search(r"^\[ FAULT \] device " + fault + r", \d+ times, first with two inputs and two outputs",
                         done.stdout, re.MULTILINE), f"{fault} is missing: {done.stdout}")
    done = run.start(program, run.extensions / "extension_empty.so")
    expect(done.returncode == 1 and "terroir_get_extension" in done.stderr, done.stderr)


def errors(run):
    picture, text = run.work / "small.ppm", run.work / "text.txt"
    write_ppm(picture, test_picture(8, 8))
    text.write_text("no image")
    model, missing = run.model, run.work / "missing"
    for program, arguments, message in (
        ("hello_classification", (f"{missing}.xml", picture, "CPU"), r"missing\.xml'.*No such file"),
        ("hello_classification", (model, missing, "CPU"), r"cannot open the image '.*missing'"),
        ("hello_classification", (model, text, "CPU"), r"cannot read the image '.*text\.txt'"),
        ("hello_classification", (model, picture, "GPU"), r"there is no device 'GPU'; available: CPU, INTERPRETER"),
        ("hello_classification", (text, picture, "CPU"), r"text\.txt"),
        ("hello_classification", (model, picture), r"DEVICE is required"),
        ("object_detection", (model, picture), r"no output f32\[1,1,N,7\] of detections, only f32\[1,1000\]"),
        ("object_detection", (model, picture, "-t", "2"), r"--threshold"),
        ("model_creation", ("-o", text / "folder"), r"text\.txt"),
        ("model_creation", ("-d", "GPU"), r"there is no device 'GPU'"),
        ("hello_query_device", ("surplus",), r"not expected: surplus"),
    ):
        done = run.start(program, *arguments)
        case = f"{program} {' '.join(map(str, arguments))}"
        expect(done.returncode == 1, f"{case}: exit code {done.returncode}, not 1")
        expect(re.fullmatch(r"\[ ERROR \] .+\n", done.stderr), f"{case}: not one line of error: '{done.stderr}'")
        expect(re.search(message, done.stderr), f"{case}: '{done.stderr}' does not say '{message}'")
    for program in ("hello_classification", "hello_query_device", "object_detection", "model_creation", "benchmark_app"):
        expect("Usage: " + program in run.succeed(program, "--help"), f"{program} --help has no usage")


FACES = (
    (0.321, 0.491, 0.381, 0.616), (0.881, 0.532, 0.941, 0.667), (0.109, 0.414, 0.168, 0.546),
    (0.486, 0.273, 0.543, 0.397), (0.499, 0.477, 0.554, 0.598), (0.731, 0.383, 0.789, 0.514),
    (0.195, 0.361, 0.252, 0.490), (0.386, 0.279, 0.442, 0.404), (0.288, 0.263, 0.344, 0.376),
    (0.592, 0.316, 0.649, 0.432), (0.113, 0.210, 0.167, 0.326))


def object_detection(run):
    folder = run.shared / "models" if run.shared else None
    if not folder or not (folder / "faces.jpg").exists():
        print("SKIPPED: there is no models/faces.jpg (TERROIR_SHARED_DIR)")
        return SKIPPED
    marked = run.work / "marked.png"
    output = run.succeed("object_detection", folder / "face-detection-adas-0001-fp16.xml", folder / "faces.jpg", "-d",
                         "CPU", "-t", 0.99, "-o", marked)
    pixels = r"\((-?\d+), (-?\d+)\)-\((-?\d+), (-?\d+)\)"
    found = re.findall(rf"^\[(\d+)\] label 1, confidence ([0-9.]+), {pixels}, fractions (\S+) (\S+) (\S+) (\S+)$", output,
                       re.MULTILINE)
    expect([int(row[0]) for row in found] == list(range(len(FACES))), f"not {len(FACES)} faces: {output}")
    expect(all(float(row[1]) > 0.99 for row in found), f"a face with low confidence: {output}")
    boxes = [tuple(map(float, row[6:])) for row in found]
    for face in FACES:
        near = [box for box in boxes if max(abs(a - b) for a, b in zip(face, box)) <= 0.01]
        expect(len(near) == 1, f"{len(near)} boxes are at {face}: {output}")
    rows = read_png(marked)
    width, height = len(rows[0]) // 3, len(rows)
    expect((width, height) == (560, 320), f"the picture has {width} x {height} pixels")
    for row, box in zip(found, boxes):
        left, top, right, bottom = map(int, row[2:6])
        expect(max(abs(a - b) for a, b in zip((left / width, top / height, right / width, bottom / height), box)) < 0.004,
               f"pixels and fractions differ: {row}")
        # The lower edge; the upper ones may be under a label.
        color = rows[bottom][3 * ((left + right) // 2) :][:3]
        expect(color == b"\0\xff\0", f"no frame at {row}: {color}")
    return None


CASES = (model_creation, devices_agree, hello_classification, hello_query_device, custom_layer, custom_device,
         check_extension, errors,
         object_detection, *benchmark_cases.CASES)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--shared", default="")
    parser.add_argument("--extensions", default="", help="folder of the libraries that tests load")
    parser.add_argument("case", choices=[case.__name__ for case in CASES])
    arguments = parser.parse_args()
    case = next(case for case in CASES if case.__name__ == arguments.case)
    try:
        return case(Run(arguments)) or 0
    except AssertionError as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
