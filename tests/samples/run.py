"""Runs the samples as a user does and checks what they print and write: run.py --bin DIR --work DIR CASE.

Exit codes: 0 the case holds, 1 it does not, 77 it needs data that are not there.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import zlib

SIZE = 96  # of the model that the cases share: real, but quick under sanitizers, too
SKIPPED = 77


class Run:
    """Where the programs and the files are."""

    def __init__(self, arguments):
        self.bin = pathlib.Path(arguments.bin).resolve()
        self.work = pathlib.Path(arguments.work).resolve()
        self.shared = pathlib.Path(arguments.shared) if arguments.shared else None
        self.extensions = pathlib.Path(arguments.extensions)
        self.work.mkdir(parents=True, exist_ok=True)

    @property
    def model(self):
        return self.work / "model" / "model.xml"

    def start(self, program, *arguments):
        command = [str(self.bin / program)] + [str(argument) for argument in arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=self.work, check=False)

    def succeed(self, program, *arguments):
        done = self.start(program, *arguments)
        expect(done.returncode == 0, f"{program} {arguments} ended with {done.returncode}: {done.stderr}")
        return done.stdout


def expect(condition, message):
    if not condition:
        raise AssertionError(message)


# --- images ---


def test_picture(width, height):
    """Rows of RGB bytes: two gradients and a bright square."""
    rows = []
    for y in range(height):
        row = bytearray()
        for x in range(width):
            inside = abs(2 * x - width) < width // 2 and abs(2 * y - height) < height // 2
            row += bytes((230, 220, 30)) if inside else bytes((255 * x // width, 255 * y // height, 90))
        rows.append(bytes(row))
    return rows


def write_ppm(path, rows):
    path.write_bytes(b"P6\n%d %d\n255\n" % (len(rows[0]) // 3, len(rows)) + b"".join(rows))


def write_png(path, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))


def read_png(path):
    """Rows of RGB bytes of an 8-bit RGB image without interlacing."""
    data = path.read_bytes()
    expect(data[:8] == b"\x89PNG\r\n\x1a\n", f"{path} is no PNG")
    at, packed, width, height = 8, b"", 0, 0
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            expect((depth, color) == (8, 2), f"{path} is not 8-bit RGB")
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, stride, rows = zlib.decompress(packed), 3 * width, []
    above = bytes(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for i in range(stride):
            left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
            row[i] = (row[i] + predicted(kind, left, above[i], corner)) & 255
        rows.append(bytes(row))
        above = row
    return rows


def predicted(kind, left, up, corner):
    if kind == 4:
        base = left + up - corner
        return min((left, up, corner), key=lambda value: abs(base - value))
    return (0, left, up, (left + up) // 2)[kind]


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


STEPS = (
    "Parsing and validating input arguments", "Loading Terroir Runtime", "Setting device configuration",
    "Reading model files", "Resizing model to match image sizes and given batch", "Configuring input of the model",
    "Loading the model to the device", "Querying optimal runtime parameters",
    "Creating infer requests and preparing input tensors", "Measuring performance", "Dumping statistics report")


def results_of(output):
    """Count, duration, median, average, min, max, throughput; checks the steps and that the numbers fit."""
    at = 0
    for number, step in enumerate(STEPS, 1):
        heading = f"[Step {number}/11] {step}"
        expect(output.count(heading) == 1, f"'{heading}' is missing: {output}")
        expect(output.index(heading) >= at, f"'{heading}' is out of order: {output}")
        at = output.index(heading)
    number = r" +([0-9.]+)"
    found = re.search(
        rf"\[ INFO \] Count:{number} iterations\n\[ INFO \] Duration:{number} ms\n\[ INFO \] Latency:\n"
        rf"\[ INFO \]    Median:{number} ms\n\[ INFO \]    Average:{number} ms\n\[ INFO \]    Min:{number} ms\n"
        rf"\[ INFO \]    Max:{number} ms\n\[ INFO \] Throughput:{number} FPS\n$", output)
    expect(found, f"the results are missing: {output}")
    count, duration, median, average, least, most, throughput = map(float, found.groups())
    expect(0 < least <= median <= most and least <= average <= most <= duration, f"latencies do not fit: {output}")
    return count, duration, throughput


def check_throughput(results, batch):
    count, duration, throughput = results
    expected = 1000 * batch * count / duration
    expect(abs(throughput - expected) <= 0.01 * expected + 0.01, f"{throughput} FPS, expected {expected}")


def benchmark_app(run):
    async_run = run.succeed("benchmark_app", "-m", run.model, "-niter", 7, "-nireq", 2, "-nstreams", 2, "-nthreads", 2)
    expect("asynchronously, 2 inference requests, limits: 8 iterations" in async_run, async_run)
    expect(results_of(async_run)[0] == 8, f"7 iterations in pairs are 8: {async_run}")
    check_throughput(results_of(async_run), 1)
    expect("NUM_STREAMS: 2\n" in async_run, f"-nstreams has no effect: {async_run}")
    expect("\r" not in async_run, "a progress bar where there is no terminal")

    batches = run.succeed("benchmark_app", "-m", run.model, "--niter", 4, "--api", "sync", "-b", 3)
    expect(f"[3,3,{SIZE},{SIZE}]" in batches and "Model batch size: 3" in batches, f"-b has no effect: {batches}")
    expect("Start inference synchronously, limits: 4 iterations" in batches, batches)
    check_throughput(results_of(batches), 3)

    timed = results_of(run.succeed("benchmark_app", "-m", run.model, "-t", 0.5, "-hint", "latency"))
    expect(timed[1] >= 500, f"-t 0.5 ended after {timed[1]} ms")


def benchmark_app_shapes(run):
    fixed = run.succeed("benchmark_app", "-m", run.model, "-niter", 2, "-shape", "data[2,3,64,64]", "-hint", "none")
    expect("[2,3,64,64]" in fixed and "[2,1000]" in fixed, f"-shape has no effect: {fixed}")
    dynamic = run.succeed("benchmark_app", "-m", run.model, "-niter", 2, "-shape", "[?,3,32..64,64]", "-data_shape",
                          "[2,3,48,64]", "-api", "sync")
    expect("[?,3,32..64,64]" in dynamic and "Model batch size: 2" in dynamic, f"not dynamic: {dynamic}")
    check_throughput(results_of(dynamic), 2)


def benchmark_app_reports(run):
    report = run.work / "report.json"
    for device in ("CPU", "INTERPRETER"):
        output = run.succeed("benchmark_app", "-m", run.model, "-d", device, "-niter", 2, "-shape", "[1,3,32,32]",
                             "-api", "sync", "-pc", "-json_stats", report)
        count, duration, throughput = results_of(output)
        data = json.loads(report.read_text())
        numbers = data["execution_results"]
        expect(numbers["iterations_num"] == count, f"{numbers} is not {output}")
        expect(abs(numbers["execution_time"] - duration) < 0.01, f"{numbers} is not {output}")
        expect(abs(numbers["throughput"] - throughput) < 0.01, f"{numbers} is not {output}")
        expect(data["configuration_setup"]["target_device"] == device, f"{data}")
        layers = data["performance_counters"]
        expect(layers and {"stem", "head"} <= {layer["name"] for layer in layers}, f"layers are missing: {layers}")
        for layer in layers:
            expect(re.search(rf"^{re.escape(layer['name'])} +{layer['status']} .*\d\.\d{{3}}$", output, re.MULTILINE),
                   f"the table has no '{layer['name']}': {output}")
        slow = [layer for layer in layers if layer["exec_type"].startswith("ref") and layer["status"] == "EXECUTED"]
        expect(f"Layers on reference kernels: {len(slow)}" in output, f"{len(slow)} layers are on the reference: {output}")
        expect((len(slow) > 0) == (device == "INTERPRETER"), f"{device} runs {len(slow)} layers on the reference")
        total = float(re.search(r"^Total time: ([0-9.]+) ms$", output, re.MULTILINE)[1])
        expect(abs(total - sum(layer["real_time"] for layer in layers)) < 0.01, f"the total is wrong: {output}")
    run.succeed("benchmark_app", "-m", run.model, "-niter", 1, "-json_stats", "-report_folder", run.work)
    expect(json.loads((run.work / "benchmark_report.json").read_text())["execution_results"]["iterations_num"] >= 1,
           "benchmark_report.json is wrong")


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
    expect(done.returncode == 1 and "unknown operation 'Snake'" in done.stderr, f"no error without it: {done.stderr}")
    done = run.start("benchmark_app", "-m", model, "-niter", 1, "-extensions", model)
    expect(done.returncode == 1 and "extension" in done.stderr and "snake.xml" in done.stderr,
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
    for fault in (r"WritesOutside writes outside of an output, \d+ times, first with no attributes, f32\[", r"LeavesOneOut .*unwritten",
                  r"MistakesLayouts gives other results in the layouts between convolutions",
                  r"CountsItsRuns gives other results the second time", r"Crashes crashed \(Segmentation fault\); again "
                  r"with --seed 1 --trials 1"):
        expect(re.search(r"^\[ FAULT \] " + fault, done.stdout, re.MULTILINE), f"{fault} is missing: {done.stdout}")
    done = run.start(program, run.model)
    expect(done.returncode == 1 and "model.xml" in done.stderr, f"not named: {done.stderr}")


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
        ("benchmark_app", (), r"--model is required"),
        ("benchmark_app", ("-m", f"{missing}.xml"), r"missing\.xml'.*No such file"),
        ("benchmark_app", ("-m", model, "-d", "GPU"), r"there is no device 'GPU'; available: CPU, INTERPRETER"),
        ("benchmark_app", ("-m", model, "-api", "both"), r"--api: both not in \{sync,async\}"),
        ("benchmark_app", ("-m", model, "-hint", "fast"), r"--hint: fast not in \{latency,throughput,none\}"),
        ("benchmark_app", ("-m", model, "-niter", "0"), r"--niter: must be a number of at least 1, got '0'"),
        ("benchmark_app", ("-m", model, "-nstreams", "x"), r"NUM_STREAMS: 'x'"),
        ("benchmark_app", ("-m", model, "-shape", "[1,3"), r"'\[1,3' is no list of shapes"),
        ("benchmark_app", ("-m", model, "-shape", "[1],[2]"), r"two shapes to all inputs"),
        ("benchmark_app", ("-m", model, "-shape", "x[1]"), r"no input 'x'; its inputs are data"),
        ("benchmark_app", ("-m", model, "-shape", "[1,4,64,64]"), r"cannot reshape the model: Subtract 'data/centered'"),
        ("benchmark_app", ("-m", model, "-shape", "[1,3,?,64]"), r"dynamic shape \[1,3,\?,64\]; fix it with --shape"),
        ("benchmark_app", ("-m", model, "-api", "sync", "-nireq", "2"), r"--nireq above 1 needs --api async"),
        ("benchmark_app", ("-m", model, "-niter", "1", "-json_stats", missing / "x"), r"cannot write '.*missing/x'"),
        ("benchmark_app", ("-m", model, "-what"), r"not expected: --what"),
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


CASES = (model_creation, devices_agree, hello_classification, hello_query_device, benchmark_app, benchmark_app_shapes,
         benchmark_app_reports, custom_layer, check_extension,
         errors, object_detection)


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
