"""Cases of run.py for benchmark_app: every option by its effect."""

import contextlib
import json
import multiprocessing
import os
import pty
import re
import shutil
import struct
import subprocess
import time

from harness import SIZE, expect, test_picture, write_png

STEPS = (
    "Parsing and validating input arguments", "Loading Terroir Runtime", "Setting device configuration",
    "Reading model files", "Resizing model to match image sizes and given batch", "Configuring input of the model",
    "Loading the model to the device", "Querying optimal runtime parameters",
    "Creating infer requests and preparing input tensors", "Measuring performance", "Dumping statistics report")

NUMBER = r" +([0-9.]+)"


def check_steps(output):
    at = 0
    for number, step in enumerate(STEPS, 1):
        heading = f"[Step {number}/11] {step}"
        expect(output.count(heading) == 1, f"'{heading}' is missing: {output}")
        expect(output.index(heading) >= at, f"'{heading}' is out of order: {output}")
        at = output.index(heading)


def results_of(output, first="Median:"):
    """Count, duration, throughput, latencies; checks the steps and that the numbers fit. These are the lines that
    scripts look for, at the end of the output."""
    check_steps(output)
    found = re.search(
        rf"\[ INFO \] Count:{NUMBER} iterations\n\[ INFO \] Duration:{NUMBER} ms\n\[ INFO \] Latency:\n"
        rf"\[ INFO \]    {first}{NUMBER} ms\n\[ INFO \]    Average:{NUMBER} ms\n\[ INFO \]    Min:{NUMBER} ms\n"
        rf"\[ INFO \]    Max:{NUMBER} ms\n\[ INFO \] Throughput:{NUMBER} FPS\n$", output)
    expect(found, f"the results are missing: {output}")
    # The numbers stand in one column, as scripts that cut lines expect.
    columns = {found.start(i) - output.rfind("\n", 0, found.start(i)) - 1 for i in range(1, 8)}
    expect(first != "Median:" or columns == {30}, f"the numbers are in columns {columns}: {output}")
    count, duration, median, average, least, most, throughput = map(float, found.groups())
    expect(0 < least <= median <= most and least <= average <= most <= duration, f"latencies do not fit: {output}")
    return count, duration, throughput, (median, average, least, most)


def check_throughput(results, batch):
    count, duration, throughput, _ = results
    expected = 1000 * batch * count / duration
    expect(abs(throughput - expected) <= 0.01 * expected + 0.01, f"{throughput} FPS, expected {expected}")


def expect_all(output, *texts):
    for text in texts:
        expect(text in output, f"'{text}' is missing: {output}")


def bench(run, *arguments):
    """A short run of the model that the cases share, unless the arguments say otherwise."""
    arguments = [str(argument) for argument in arguments]
    if "-m" not in arguments:
        arguments = ["-m", str(run.model), *arguments]
    if not {"-niter", "--niter", "-t", "-time"} & set(arguments):
        arguments += ["-niter", "4"]
    return run.succeed("benchmark_app", *arguments)


def report_of(run, *arguments, name="report.json"):
    path = run.work / name
    bench(run, *arguments, "-json_stats", path)
    return json.loads(path.read_text())


def refused(run, arguments, message):
    model = () if "-m" in arguments else ("-m", run.model)
    done = run.start("benchmark_app", *model, *arguments)
    expect(done.returncode == 3, f"{arguments}: exit code {done.returncode}, not 3: {done.stdout}")
    expect(re.fullmatch(r"\[ ERROR \] .+\n", done.stderr), f"{arguments}: not one line of error: '{done.stderr}'")
    expect(re.search(message, done.stderr), f"{arguments}: '{done.stderr}' does not say '{message}'")


# --- models and files ---


def parameter(number, name, shape):
    dims = "".join(f"<dim>{extent}</dim>" for extent in shape)
    text = ",".join(map(str, shape))
    return (f'<layer id="{number}" name="{name}" type="Parameter" version="opset1"><data shape="{text}" '
            f'element_type="f32"/><output><port id="0" precision="FP32" names="{name}">{dims}</port></output></layer>')


def unary(number, name, kind, shape, outputs=True):
    dims = "".join(f"<dim>{extent}</dim>" for extent in shape)
    output = f'<output><port id="1" precision="FP32" names="{name}">{dims}</port></output>' if outputs else ""
    return (f'<layer id="{number}" name="{name}" type="{kind}" version="opset1"><input><port id="0" precision="FP32">'
            f"{dims}</port></input>{output}</layer>")


def two_inputs(run):
    """A picture 'a:0' and a table 'b', each through a ReLU."""
    a, b = (1, 3, 8, 8), (1, 2)
    layers = [parameter(0, "a:0", a), unary(1, "a_relu", "ReLU", a), unary(2, "a_out", "Result", a, False),
              parameter(3, "b", b), unary(4, "b_relu", "ReLU", b), unary(5, "b_out", "Result", b, False)]
    edges = [(0, 0, 1), (1, 1, 2), (3, 0, 4), (4, 1, 5)]
    path = run.work / "two_inputs.xml"
    lines = "".join(f'<edge from-layer="{start}" from-port="{port}" to-layer="{end}" to-port="0"/>'
                    for start, port, end in edges)
    path.write_text('<?xml version="1.0"?><net name="two_inputs" version="11"><layers>' + "".join(layers) +
                    f"</layers><edges>{lines}</edges></net>")
    return path


def write_npy(path, shape, values, kind="f"):
    codes = {"f": "<f4", "d": "<f8", "B": "|u1"}
    text = f"{{'descr': '{codes[kind]}', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() +
                     struct.pack(f"<{len(values)}{kind}", *values))


# --- cases ---


def benchmark_app(run):
    async_run = bench(run, "-niter", 7, "-nireq", 2, "-nstreams", 2, "-nthreads", 2)
    expect_all(async_run, "asynchronously, 2 inference requests using 2 streams for CPU, limits: 8 iterations",
               "Number of iterations was aligned by request number from 7 to 8", "NUM_STREAMS: 2\n")
    expect(results_of(async_run)[0] == 8, f"7 iterations in pairs are 8: {async_run}")
    check_throughput(results_of(async_run), 1)
    expect("\r" not in async_run, "a progress bar where there is no terminal")

    batches = bench(run, "--niter", 4, "--api", "sync", "-b", 3)
    expect_all(batches, f"[3,3,{SIZE},{SIZE}]", "Model batch size: 3", "Start inference synchronously, limits: 4 iter")
    check_throughput(results_of(batches), 3)

    timed = results_of(bench(run, "-t", 0.5, "-hint", "latency"))
    expect(timed[1] >= 500, f"-t 0.5 ended after {timed[1]} ms")
    both = results_of(bench(run, "-t", 0.2, "-niter", 1))
    expect(both[1] >= 200, f"-t 0.2 -niter 1 ended after {both[1]} ms")


def benchmark_app_modes(run):
    """Hints, interfaces, rate, warm-up."""
    for words, mode, api in (((), "THROUGHPUT", "asynchronously"), (("-hint", "tput"), "THROUGHPUT", "asynchronously"),
                             (("-hint", "latency"), "LATENCY", "synchronously"),
                             (("-api", "sync"), "LATENCY", "synchronously"),
                             (("-hint", "latency", "-api", "async"), "LATENCY", "asynchronously"),
                             (("-hint", "ctput"), "CUMULATIVE_THROUGHPUT", "asynchronously")):
        output = bench(run, *words)
        expect_all(output, f"] PERFORMANCE_HINT: {mode}\n", f"Start inference {api}")
        expect(("No --hint is given" in output) == ("-hint" not in words), f"{words}: {output}")
    none = bench(run, "-hint", "none", "-nireq", 3)
    expect("] PERFORMANCE_HINT:" not in none, f"-hint none sets one: {none}")
    expect_all(none, "asynchronously, 3 inference requests, limits: 6 iterations")
    expect("] PERFORMANCE_HINT:" not in bench(run, "-nstreams", 1), "-nstreams sets a hint")
    expect("PERFORMANCE_HINT_NUM_REQUESTS: 3" in bench(run, "-nireq", 3), "-nireq is not told to the device")

    in_turn = report_of(run, "-api", "sync", "-nireq", 2)
    expect(in_turn["configuration_setup"]["nireq"] == 2, f"two requests in turn: {in_turn}")
    expect(in_turn["execution_results"]["iterations_num"] == 4, f"{in_turn}")

    count, duration, throughput, _ = results_of(bench(run, "-max_irate", 40, "-niter", 9, "-api", "sync"))
    expect(count == 9 and duration >= 8 * 25 and throughput <= 45, f"-max_irate 40: {throughput} FPS in {duration} ms")
    count = results_of(bench(run, "-max_irate", 1e-9, "-t", 1, "-api", "sync"))[0]
    expect(count <= 2, f"-max_irate 1e-9 for a second: {count} inferences")

    cold = report_of(run, "-no_warmup", "-api", "sync")
    expect("first_inference_time" not in cold["execution_results"], f"-no_warmup warms up: {cold}")
    expect("First inference took" not in bench(run, "-no_warmup"), "-no_warmup warms up")

    compiled = bench(run, "-niter", 0, "-shape", "[?,3,?,?]")
    check_steps(compiled)
    expect("Count:" not in compiled and "Compile model took" in compiled, f"-niter 0 infers: {compiled}")

    for percentile in (1, 90, 100):
        numbers = report_of(run, "-api", "sync", "-niter", 12, "-latency_percentile", percentile)["execution_results"]
        expect(numbers["percentile_boundary"] == percentile, f"{numbers}")
        expect({1: numbers["latency_min"], 90: numbers["latency_p90"], 100: numbers["latency_max"]}[percentile] ==
               numbers["latency_median"], f"the {percentile}-th percentile: {numbers}")
    results_of(bench(run, "-latency_percentile", 90), "90 percentile:")


def benchmark_app_shapes(run):
    fixed = bench(run, "-shape", "data[2,3,64,64]", "-hint", "none")
    expect_all(fixed, "[2,3,64,64]", "[2,1000]", "static): random", "inference only mode")
    dynamic = bench(run, "-shape", "[?,3,32..64,64]", "-data_shape", "[2,3,48,64]", "-api", "sync")
    expect_all(dynamic, "[?,3,32..64,64]", "Model batch size: 2", "dyn:[?,3,32..64,64]", "in full mode")
    check_throughput(results_of(dynamic), 2)
    expect("in full mode" in bench(run, "-inference_only=false"), "-inference_only=false has no effect")
    expect_all(bench(run, "-shape", "[?,3,64,64]", "-data_shape", "[1,3,64,64]", "-inference_only"),
               "in inference only mode")

    # Batches without their own axis in the model: -layout says which it is.
    expect_all(bench(run, "-layout", "[NCHW]", "-b", 2), f"[2,3,{SIZE},{SIZE}]")
    # As the hint about a guessed layout writes it.
    expect_all(bench(run, "-layout", "[N,C,H,W]", "-b", 2), f"[2,3,{SIZE},{SIZE}]")
    expect_all(bench(run, "-layout", "data[N,...]", "-b", 2), f"[2,3,{SIZE},{SIZE}]")
    expect_all(bench(run, "-layout", "data[CNHW]", "-b", 3), f"f32 / [C,N,H,W] / [1,3,{SIZE},{SIZE}]", "batch size: 3")
    expect_all(bench(run, "-shape", "[?,3,64,64]", "-b", 2), "[2,3,64,64]", "Model batch size: 2")

    several = ("-shape", "[?,3,?,?]", "-data_shape", "[1,3,32,32][2,3,64,64]", "-nireq", 1, "-niter", 5)
    output = bench(run, *several, "-pcseq")
    expect_all(output, "was aligned by data shape groups number from 5 to 6", "Latency for each data shape group:",
               "[ INFO ] 1. data[1,3,32,32]\n[ INFO ]    Median:", "[ INFO ] 2. data[2,3,64,64]\n[ INFO ]    Median:",
               "Count:               6 iterations")
    check = re.search(rf"Duration:{NUMBER} ms(?:.|\n)*Throughput:{NUMBER} FPS\n$", output)
    expect(abs(float(check[2]) - 9000 / float(check[1])) < 0.02 * float(check[2]),
           f"six inferences, nine samples: {output}")
    expect("data shape group:" not in bench(run, *several), "groups without -pcseq")
    report = report_of(run, *several, "-pcseq")
    configuration = report["configuration_setup"]
    expect(configuration["data_shapes"] == "data[1,3,32,32] data[2,3,64,64]", f"{configuration}")
    groups = report["execution_results"]["group_latencies"]
    expect([group["data_shape"] for group in groups] == ["data[1,3,32,32]", "data[2,3,64,64]"], f"{groups}")
    expect(groups[0]["latency_min"] <= groups[0]["latency_median"] <= groups[0]["latency_max"], f"{groups}")
    bench(run, *several, "-pcseq", "-report_type", "no_counters", "-report_folder", run.work / "groups")
    table = (run.work / "groups" / "benchmark_report.csv").read_text()
    expect(re.search(r"^Group Latencies;\nData shape;Median;Average;Min;Max;\ndata\[1,3,32,32\](;[0-9.]+){4};\n", table,
                     re.MULTILINE), f"{table}")
    sync = bench(run, *several[:4], "-api", "sync", "-nireq", 1, "-niter", 4)
    expect_all(sync, "Test Config 1", "Count:               4 iterations")
    refused(run, (*several, "-inference_only", "true"), r"--inference_only: with several shapes")


def benchmark_app_inputs(run):
    model = two_inputs(run)
    picture, other, array, table = (run.work / name for name in ("p.png", "q.png", "a.npy", "b.bin"))
    write_png(picture, test_picture(20, 12))
    write_png(other, test_picture(9, 16))
    write_npy(array, (1, 3, 8, 8), [0.5] * 192)
    table.write_bytes(struct.pack("<2f", 3, 4))

    def configs(*words):
        return re.findall(r"Test Config (\d+)\n\[ INFO \]     a:0 .*: (.*)\n\[ INFO \]     b .*: (.*)\n",
                          bench(run, "-m", model, "-ip", "f32", *words))

    expect(configs() == [("0", "random values", "random values")], f"{configs()}")
    # One list for all inputs: pictures to the picture, the rest to the rest; and by name.
    expect(configs("-i", f"{picture},{table}") == [("0", str(picture), str(table))], "unnamed files are not dealt out")
    expect(configs("-i", f"a:0:{array}", "b:random[2..5]") == [("0", str(array), "random values[2..5]")], "by name")
    expect(configs("-i", f"a:0:{picture},{other}", "b:image_info", "-nireq", 2) ==
           [("0", str(picture), "image size 8 x 8"), ("1", str(other), "image size 8 x 8")], "one after the other")
    expect(configs("-i", f"a:0:{picture},{array}", f"b:{table}", "-b", 2, "-nireq", 1) ==
           [("0", f"{picture}, {array}", f"{table}, {table}")], "a file for each sample")
    folder = run.work / "pictures"
    folder.mkdir(exist_ok=True)
    for number in range(22):
        write_png(folder / f"{number:02}.png", test_picture(8, 8))
    (folder / "notes.txt").write_text("not a picture")
    many = bench(run, "-m", model, "-i", f"a:0:{folder}", "-inference_only", "false")
    expect_all(many, "For input 'a:0' 22 files were added", "only the first 20 files", "Test Config 19")
    expect("Test Config 20" not in many and "txt" not in many, f"too many files: {many}")
    # The size of an image settles unknown extents.
    sized = bench(run, "-shape", "[?,3,?,?]", "-i", f"{picture},{other}")
    expect_all(sized, "[1,3,12,20], dyn", "[1,3,16,9], dyn")

    short, words, wrong = run.work / "short.bin", run.work / "words.txt", run.work / "wrong.npy"
    short.write_bytes(b"123")
    words.write_text("words")
    write_npy(wrong, (1, 3, SIZE, SIZE - 1), [0.0] * (3 * SIZE * (SIZE - 1)))
    doubles = run.work / "doubles.npy"
    write_npy(doubles, (1, 3, SIZE, SIZE), [0.0] * (3 * SIZE * SIZE), "d")
    cut = run.work / "cut.npy"
    cut.write_bytes(array.read_bytes()[:-4])
    negative = run.work / "negative.npy"
    write_npy(negative, (-1, 3, 8, 8), [0.5] * 192)
    for value, message in ((short, r"short\.bin' does not fit the input 'data': it has 3 bytes, .* takes 110592"),
                           (words, r"words\.txt' is no file of \.bin, \.npy, \.bmp, \.jpg or \.png"),
                           (run.work / "gone.png", r"-i: there is no file '.*gone\.png'"),
                           (wrong, r"its shape is \[1,3,96,95\], not \[1,3,96,96\]"),
                           (cut, r"takes 768 bytes, the file has 764"),
                           (negative, r"negative\.npy': \(-1, 3, 8, 8,\) is no shape"),
                           (doubles, r"it has elements of f64, the input f32; convert it"),
                           (f"image:{picture}", r"-i: the model has no input 'image'; its inputs are data"),
                           ("random[3]", r"'random\[3\]' is not written as random\[LOW\.\.HIGH\]"),
                           ("image_info", r"'image_info' does not fit the input 'data'"),
                           (f"{picture},", r"empty name of a file")):
        refused(run, ("-i", value, "-niter", 1, "-ip", "f32"), message)


def benchmark_app_reports(run):
    report = run.work / "report.json"
    for device in ("CPU", "INTERPRETER"):
        output = bench(run, "-d", device, "-niter", 8, "-shape", "[1,3,32,32]", "-api", "sync", "-pc", "-json_stats",
                       report)
        count, duration, throughput, latencies = results_of(output)
        data = json.loads(report.read_text())
        numbers = data["execution_results"]
        expect(numbers["iterations_num"] == count, f"{numbers} is not {output}")
        for field, value in (("execution_time", duration), ("throughput", throughput), ("latency_median", latencies[0]),
                             ("latency_avg", latencies[1]), ("latency_min", latencies[2]),
                             ("latency_max", latencies[3])):
            expect(abs(numbers[field] - value) < 0.01, f"{field}: {numbers} is not {output}")
        expect(numbers["latency_p50"] <= numbers["latency_p90"] <= numbers["latency_p95"] <= numbers["latency_p99"],
               f"{numbers}")
        expect(numbers["latency_min"] <= numbers["latency_p50_low"] <= numbers["latency_p50"] <=
               numbers["latency_p50_high"] <= numbers["latency_max"], f"no interval of the median: {numbers}")
        for field in ("read_model_time", "reshape_model_time", "load_model_time", "first_inference_time"):
            expect(numbers[field] > 0, f"{field}: {numbers}")
        check_details(data, output)
        setup = data["configuration_setup"]
        for field, value in (("target_device", device), ("benchmark_mode", "inference only"),
                             ("topology", "mobilenet_v2"),
                             ("api", "sync"), ("batch_size", 1), ("iterations_num", 8), ("nireq", 1), ("duration", 0),
                             ("hint", "latency"), (f"{device.lower()}_streams_num", "1")):
            expect(setup[field] == value, f"{field} is not {value}: {setup}")
        expect(data["cmd_options"]["shape"] == "[1,3,32,32]" and data["cmd_options"]["d"] == device, f"{data}")
        check_layers(data["performance_counters"], output, device)

    folder = run.work / "reports" / "inner"
    bench(run, "-niter", 1, "-json_stats", "-report_folder", folder)
    expect(json.loads((folder / "benchmark_report.json").read_text())["execution_results"]["iterations_num"] >= 1,
           "benchmark_report.json is wrong")
    bench(run, "-niter", 1, "-report_type", "no_counters", "-report_folder", folder)
    table = (folder / "benchmark_report.csv").read_text()
    expect(re.search(r"^Command line parameters;\nm;.*model\.xml;\n(.*\n)*\nConfiguration setup;\nbenchmark mode;"
                     r"inference only;\n(.+\n)*\nExecution results;\nread model time \(ms\);[0-9.]+;\n(.+\n)*throughput;[0-9.]+;\n",
                     table), f"{table}")
    expect(re.search(r"^Median latency \(ms\);[0-9.]+;$", table, re.MULTILINE), f"{table}")
    counters_reports(run, folder)

    # A name of a layer that is no UTF-8 costs no report.
    odd = folder / "odd.xml"
    names = re.sub(rb'<layer id="\d+" name="', rb"\g<0>" + b"\xff", run.model.read_bytes())
    odd.write_bytes(names)
    shutil.copy(run.model.with_suffix(".bin"), odd.with_suffix(".bin"))
    for arguments in ((), ("-pc",), ("-report_type", "detailed_counters"), ("-report_type", "average_counters")):
        data = report_of(run, "-m", odd, "-niter", 1, "-report_folder", folder, *arguments)
        expect(data["execution_results"]["iterations_num"] >= 1, f"{arguments}: {data}")
    for kind in ("detailed", "average"):
        expect("\ufffd" in (folder / f"benchmark_{kind}_counters_report.json").read_text(), f"{kind}: no such name")

    # A run that fails tells so in its report.
    run.start("benchmark_app", "-m", run.model, "-shape", "[1,4,64,64]", "-json_stats", report)
    expect("Subtract" in json.loads(report.read_text())["execution_results"]["error"], "no error in the report")
    refused(run, ("-niter", 1, "-json_stats", "/dev/null/x.json"), r"cannot write '/dev/null/x\.json'")
    refused(run, ("-report_type", "detailed_counters", "-pc=false"), r"--report_type detailed_counters needs the counters")


def check_details(data, output):
    """What other tools do not print."""
    numbers, machine = data["execution_results"], data["machine"]
    expect(0.005 < numbers["gflop"] < 0.05, f"MobileNet-v2 at 32x32 is about 0.0126 GFLOP: {numbers}")
    expect(abs(numbers["gflops"] - numbers["gflop"] * numbers["throughput"]) < 0.01 * numbers["gflops"], f"{numbers}")
    peak = max(machine["peak_gflops_begin"], machine["peak_gflops_end"])
    expect(abs(numbers["peak_share"] * peak - numbers["gflops"]) < 0.01 * numbers["gflops"], f"{data}")
    expect(0 < numbers["peak_share"] < 1, f"more than the machine can do: {data}")
    expect(numbers["peak_memory"] > numbers["model_memory"] > 0, f"{numbers}")
    expect(machine["processors"] >= 1 and machine["threads"] >= 1, f"{machine}")
    for line in (r"Percentiles:   90 %: [0-9.]+ ms, 95 %: [0-9.]+ ms, 99 %: [0-9.]+ ms",
                 r"Confidence:    the median is between [0-9.]+ and [0-9.]+ ms \(95 %\)",
                 r"Arithmetic:    [0-9.]+ GFLOP per inference, [0-9.]+ GFLOP/s, [0-9.]+ % of the multiply-add peak of",
                 r"Memory:        [0-9.]+ MiB at most, [0-9.]+ MiB by the model",
                 r"Planned:       [0-9.]+ MiB of weights, [0-9.]+ MiB of packed weights, [0-9.]+ MiB a request, [0-9.]+ MiB",
                 r"Reorders:      [0-9.]+ % of the time"):
        expect(re.search(rf"^\[ INFO \]    {line}", output, re.MULTILINE), f"'{line}' is missing: {output}")


def check_layers(layers, output, device):
    expect(layers and {"stem", "head"} <= {layer["name"] for layer in layers}, f"layers are missing: {layers}")
    for layer in layers:
        expect(re.search(rf"^{re.escape(layer['name'])} +{layer['status']} +layerType: {layer['node_type']} .*"
                         rf"execType: {re.escape(layer['exec_type'])} .*realTime \(ms\): [0-9.]+ +cpuTime \(ms\): [0-9.]+$",
                         output, re.MULTILINE), f"the table has no '{layer['name']}': {output}")
        expect(layer["real_time_low"] <= layer["real_time_median"] <= layer["real_time_high"], f"{layer}")
    slow = [layer for layer in layers if layer["exec_type"].startswith("ref") and layer["status"] == "EXECUTED"]
    expect(f"Layers on reference kernels: {len(slow)}" in output, f"{len(slow)} layers are on the reference: {output}")
    expect((len(slow) > 0) == (device == "INTERPRETER"), f"{device} runs {len(slow)} layers on the reference")
    total = float(re.search(r"^Total time: ([0-9.]+) +milliseconds$", output, re.MULTILINE)[1])
    expect(abs(total - sum(layer["real_time"] for layer in layers)) < 0.01, f"the total is wrong: {output}")


def counters_reports(run, folder):
    words = ("-niter", 2, "-nireq", 2, "-report_folder", folder, "-report_type")
    columns = "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);"
    for kind, tables in (("average_counters", 1), ("detailed_counters", 2), ("sort_detailed_counters", 2)):
        bench(run, *words, kind)
        text = (folder / f"benchmark_{kind}_report.csv").read_text()
        expect(text.count(columns) == tables and text.count("\nTotal;;;;") == tables, f"{kind}: {text}")
        expect("OPTIMIZED_OUT" in text or kind.startswith("sort"), f"{kind}: {text}")
        totals = re.findall(r"^Total;;;;([0-9.]+);([0-9.]+);(100\.000;)?$", text, re.MULTILINE)
        expect(len(totals) == tables and all((found[2] != "") == kind.startswith("sort") for found in totals), text)
        bench(run, *words, kind, "-json_stats")
        data = json.loads((folder / f"benchmark_{kind}_report.json").read_text())
        found = [data["avg_performance"]] if tables == 1 else data["detailed_performance"]
        expect(len(found) == tables, f"{kind}: {data}")
        for table in found:
            times = [node["real_time"] for node in table["nodes"]]
            expect(abs(table["total_real_time"] - sum(times)) < 0.001 * len(times), f"{kind}: {table}")
            if kind.startswith("sort"):
                expect(times == sorted(times, reverse=True), f"not sorted: {times}")
                expect(abs(sum(node["%"] for node in table["nodes"]) - 100) < 1, f"{table}")


def benchmark_app_preprocessing(run):
    """Element types, means and scales."""
    shape = f"[1,3,{SIZE},{SIZE}]"
    for words, inner, outer in (((), "u8", "f32"), (("-ip", "f32"), "f32", "f32"), (("-ip", "FP16", "-op", "f16"), "f16", "f16"),
                                (("-iop", "data:i32, prob:f64", "-ip", "u8"), "i32", "f64")):
        output = bench(run, *words)
        expect_all(output, f"data (node: data) : {inner} / [N,C,H,W] / {shape}", f" : {outer} / [...] / [1,1000]",
                   f", {inner}, {shape}, static): random values")

    def steps(*words):
        layers = report_of(run, "-api", "sync", "-pc", *words)["performance_counters"]
        return len([layer for layer in layers if layer["node_type"] or layer["exec_type"].startswith("fused")])

    plain = steps("-ip", "f32")
    for words in (("-mean_values", "[1,2,3]"), ("-scale_values", "data[2,3,4]")):
        expect(steps("-ip", "f32", *words) > plain, f"{words} adds no layer")
    for words, message in ((("-ip", "f99"), r"--ip: 'f99' is no element type"),
                           (("-op", "x"), r"--op: 'x' is no element type"),
                           (("-iop", "data"), r"--iop: 'data' is not written as name:type"),
                           (("-iop", "image:u8"), r"--iop: the model has no input or output 'image'"),
                           (("-mean_values", "[1,x]"), r"--mean_values: '1,x' is no list of numbers"),
                           (("-scale_values", "image[1]"), r"--scale_values: the model has no input 'image'"),
                           (("-mean_values", "[1,2]"), r"data")):
        refused(run, words, message)


def benchmark_app_layers(run):
    """-pc and -pcsort."""
    plain = bench(run, "-api", "sync")
    expect("Performance counts" not in plain and "Reorders:" not in plain, f"counters nobody asked for: {plain}")
    expect("PERF_COUNT: YES" in bench(run, "-pc"), "-pc is not told to the device")
    row = re.compile(r"^(\S+) +(EXECUTED|OPTIMIZED_OUT|NOT_RUN) +layerType: .*realTime \(ms\): ([0-9.]+) .*proportion: "
                     r"([0-9.]+|N/A)%$", re.MULTILINE)
    for order in ("no_sort", "sort", "simple_sort"):
        output = bench(run, "-api", "sync", "-pcsort", order)
        expect_all(output, "Sort performance counts for 0-th infer request:", "Full device name: ")
        rows = row.findall(output)
        times = [float(found[2]) for found in rows]
        shares = [0 if found[3] == "N/A" else float(found[3]) for found in rows]
        expect(abs(sum(shares) - 100) < 1 and not any(found[3] == "0.00" for found in rows),
               f"{order}: the shares are not 100 %: {output}")
        expect(re.search(r"^Total time: [0-9.]+\.[0-9]{6} +milliseconds$", output, re.MULTILINE), f"no total: {output}")
        expect((times == sorted(times, reverse=True)) == (order != "no_sort"), f"{order}: {times}")
        expect(any(found[1] == "OPTIMIZED_OUT" for found in rows) == (order != "simple_sort"), f"{order}: {output}")
    requests = bench(run, "-nireq", 2, "-pc")
    expect_all(requests, "counts for 0-th infer request", "counts for 1-th infer request")


def benchmark_app_config(run):
    dumped = run.work / "dumped.json"
    bench(run, "-nstreams", 2, "-nthreads", 2, "-nireq", 2, "-infer_precision", "CPU:f32", "-dump_config", dumped)
    config = json.loads(dumped.read_text())
    for key, value in (("NUM_STREAMS", "2"), ("INFERENCE_NUM_THREADS", "2"), ("INFERENCE_PRECISION_HINT", "f32"),
                       ("PERFORMANCE_HINT_NUM_REQUESTS", "2")):
        expect(config["CPU"][key] == value, f"{key}: {config}")
    loaded = bench(run, "-load_config", dumped)
    expect_all(loaded, "] NUM_STREAMS: 2\n", "2 streams for CPU", "INFERENCE_NUM_THREADS: 2\n")
    expect("] NUM_STREAMS: 1\n" in bench(run, "-d", "AUTO:CPU", "-nstreams", "CPU:1"), "-nstreams of a device of a list")
    expect("] NUM_STREAMS: 1\n" in bench(run, "-load_config", dumped, "-nstreams", "CPU:1"),
           "the file goes before the command line")
    dumped.write_text('{"CPU": {"PERF_COUNT": true, "NUM_STREAMS": 1}}')
    expect_all(bench(run, "-load_config", dumped), "PERF_COUNT: YES", "] NUM_STREAMS: 1\n", "Reorders:")
    # Entries of devices that the model runs on count, after those of a name that -d begins with.
    for device in "AUTO:CPU", "MULTI:CPU":
        expect_all(bench(run, "-d", device, "-load_config", dumped), "PERF_COUNT: YES", "] NUM_STREAMS: 1\n")
    again = run.work / "again.json"
    dumped.write_text('{"AUTO": {"NUM_STREAMS": 2}, "CPU": {"PERF_COUNT": true, "NUM_STREAMS": 1}, "CPUX": {"X": 1}}')
    expect_all(bench(run, "-d", "AUTO:CPU", "-load_config", dumped, "-dump_config", again), "PERF_COUNT: YES",
               "] NUM_STREAMS: 2\n")
    expect(sorted(json.loads(again.read_text())) == ["AUTO:CPU", "CPUX"], again.read_text())
    for text, message in (("{", r"--load_config: cannot use '.*bad\.json': "), ("[]", r"must be an object of devices"),
                          ('{"CPU": 1}', r"'CPU' must be an object"), ('{"CPU": {"NUM_STREAM": "1"}}', r"NUM_STREAMS")):
        bad = run.work / "bad.json"
        bad.write_text(text)
        refused(run, ("-load_config", bad), message)
    refused(run, ("-load_config", run.work / "none.json"), r"none\.json': it cannot be opened")
    refused(run, ("-load_config", run.work), r"--load_config: cannot use '.*': .*directory")
    refused(run, ("-niter", 1, "-dump_config", "/dev/null/x"), r"--dump_config: cannot write")

    cache = run.work / "cache"
    shutil.rmtree(cache, ignore_errors=True)  # files of another build would do as little as none
    cached = bench(run, "-cache_dir", cache)
    is_kept = cache.is_dir() and any(cache.iterdir())
    expect(f"CACHE_DIR: {cache}\n" in cached, f"-cache_dir is not told to the device: {cached}")
    expect(("--cache_dir: no compiled model is in" in cached) != is_kept, f"kept: {is_kept}, but: {cached}")

    direct = bench(run, "-load_from_file")
    check_steps(direct)
    expect(direct.count("Skipping the step for loading model from file") == 3 and "Read model took" not in direct, direct)
    refused(run, ("-load_from_file", "-mean_values", "[1,2,3]"), r"--load_from_file does not read")

    # A file of the cache is what export_model() writes.
    blob = run.work / "model.blob"
    shutil.copy(next(file for file in cache.iterdir() if file.suffix == ".terroir"), blob)
    imported = bench(run, "-m", blob, "-report_type", "no_counters", "-report_folder", run.work, "-json_stats")
    check_steps(imported)
    expect_all(imported, "Model is compiled", "Import model took", "Import model ram used", "Start of import memory usage")
    expect(imported.count("Skipping the step for compiled model") == 3 and "Read model took" not in imported, imported)
    results = json.loads((run.work / "benchmark_report.json").read_text())["execution_results"]
    expect(results["import_model_time"] > 0 and results["planned_memory_peak"] > 0, results)
    for option, value in (("-ip", "u8"), ("-iop", "data:u8"), ("-mean_values", "[1,2,3]")):
        refused(run, ("-m", blob, option, value), r"model\.blob' is compiled")
    damaged = run.work / "damaged.blob"
    damaged.write_bytes(blob.read_bytes()[:-100])
    refused(run, ("-m", damaged), r"importing a compiled model .*damaged\.blob' for CPU")


def benchmark_app_exec_graph(run):
    path = run.work / "exec_graph.xml"
    for shapes in ((), ("-shape", "[?,3,?,?]", "-data_shape", "[1,3,64,64]")):
        expect_all(bench(run, *shapes, "-exec_graph_path", path), "Layers are timed", f"graph is stored to {path}")
        graph = path.read_text()
        expect_all(graph, 'name="stem" type="', ' primitiveType="', ' originalLayersNames="')
        expect(re.search(r' execTimeMcs="[1-9]', graph), f"no layer has a time: {graph[:3000]}")
        path.unlink()
    refused(run, ("-niter", 1, "-exec_graph_path", "/dev/null/x.xml"), "--exec_graph_path: cannot write ./dev/null/x")


def benchmark_app_compare(run):
    """Reports that differ by what is written into them here."""
    old = report_of(run, "-api", "sync", "-niter", 20, "-pc", name="old.json")
    names = iter(range(100))

    def compare(change, expected, *words, extra=()):
        new = json.loads(json.dumps(old))
        for field in ("latency_p50", "latency_p50_low", "latency_p50_high"):
            new["execution_results"][field] = old["execution_results"]["latency_p50"] * {"latency_p50": 1}.get(
                field, 0.99 if field.endswith("low") else 1.01)
        before = json.loads(json.dumps(new))
        change(new)
        number = next(names)
        paths = [run.work / f"compare_{number}_{side}.json" for side in ("old", "new")]
        for path, data in zip(paths, (before, new)):
            path.write_text(json.dumps(data))
        done = run.start("benchmark_app", "compare", *paths, *extra)
        expect(done.returncode == expected, f"exit code {done.returncode}, not {expected}: {done.stdout}{done.stderr}")
        for word in words:
            expect(re.search(word, done.stdout), f"'{word}' is missing: {done.stdout}")
        return done.stdout

    def scale(factor, width=1.0):
        def change(report):
            numbers = report["execution_results"]
            for field in ("latency_p50", "latency_p50_low", "latency_p50_high"):
                numbers[field] *= factor
            numbers["latency_p50_low"] /= width
            numbers["latency_p50_high"] *= width
        return change

    def machine(factor):
        def change(report):
            scale(1.25)(report)
            for field in ("peak_gflops_begin", "peak_gflops_end"):
                report["machine"][field] /= factor
        return change

    def layer(report):
        scale(1.3)(report)
        slow = max(report["performance_counters"], key=lambda entry: entry["real_time_median"])
        slow.update({"exec_type": "ref_other", "real_time_median": slow["real_time_high"] * 3,
                     "real_time_low": slow["real_time_high"] * 2.9, "real_time_high": slow["real_time_high"] * 3.1})
        layer.name = slow["name"]

    compare(lambda report: None, 0, r"^same +x1\.000 +model\.xml on CPU", "0 slower, 0 faster, 1 the same")
    compare(scale(1.25), 2, r"^SLOWER +x1\.250", "1 slower")
    compare(scale(0.8), 0, r"^faster +x0\.800", "1 faster")
    compare(scale(1.025), 0, "^same")  # below the threshold
    compare(scale(1.025), 2, "^SLOWER", extra=("--threshold", "0.1"))
    compare(scale(1.25, 1.3), 0, "^same")  # within the noise
    compare(machine(1.3), 0, "^same", r"machine itself was x0\.77 as fast")
    compare(machine(1.02), 2, "^SLOWER")
    text = compare(layer, 2, "^SLOWER", r"was \S+, is ref_other")
    expect(f"'{layer.name}'" in text, f"the layer {layer.name} is not named: {text}")
    compare(lambda report: report["configuration_setup"].update({"nthreads": 7}), 2, "^MISSING .*threads",
            "\nnew .*threads 7")
    compare(lambda report: report["execution_results"].update({"error": "no memory"}), 2, "^FAILED .*no memory")

    folders = [run.work / "old_reports", run.work / "new_reports"]
    for folder, factors in zip(folders, ((1, 1.2), (1.1, 1.15))):
        folder.mkdir(exist_ok=True)
        for number, factor in enumerate(factors):
            report = json.loads(json.dumps(old))
            scale(factor)(report)
            (folder / f"{number}.json").write_text(json.dumps(report))
    joined = run.start("benchmark_app", "compare", *folders)
    expect(joined.returncode == 0 and "1 the same" in joined.stdout, f"runs are not taken together: {joined.stdout}")
    for words, message in ((("compare", "old.json"), "NEW is required"), (("compare", "old.json", "none.json"), "none.json"),
                           (("compare", "old.json", __file__), "is no report")):
        done = run.start("benchmark_app", *words)
        expect(done.returncode == 1 and message in done.stderr, f"{words}: {done.returncode} {done.stderr}")


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def benchmark_app_busy_machine(run):
    """Other programs take the processors away: the figures come with a warning."""
    others = [multiprocessing.Process(target=spin, args=(30,)) for _ in range(2 * os.cpu_count() + 2)]
    for process in others:
        process.start()
    try:
        report = report_of(run, "-t", 1, "-api", "sync")
    finally:
        for process in others:
            process.terminate()
            process.join()
    expect(report["machine"]["runnable_threads"] > 1.25 * report["machine"]["processors"], f"{report['machine']}")
    expect(any(text.startswith("oversubscription: ") for text in report["warnings"]), f"{report['warnings']}")


def benchmark_app_terminal(run):
    """A progress bar, where somebody looks."""
    ours, theirs = pty.openpty()
    command = [str(run.bin / "benchmark_app"), "-m", str(run.model), "-niter", "20", "-api", "sync"]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.STDOUT, cwd=run.work) as process:
        os.close(theirs)
        output = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while piece := os.read(ours, 65536):
                output += piece
    os.close(ours)
    expect(process.returncode == 0, f"{output}")
    text = output.decode()
    percents = [int(percent) for percent in re.findall(r"\r\[#* *\] (\d+) %", text)]
    expect(percents and percents == sorted(set(percents)) and percents[-1] == 100, f"no progress bar: {text}")
    expect(re.search(r"Throughput: +[0-9.]+ FPS\r\n$", text), f"{text}")


def benchmark_app_errors(run):
    missing = run.work / "missing"
    for arguments, message in (
        (("-d", "GPU"), r"there is no device 'GPU'; available: CPU, INTERPRETER"),
        (("-api", "both"), r"--api: both not in \{sync,async\}"),
        (("-hint", "fast"), r"--hint: fast not in \{latency,throughput,tput,cumulative_throughput,ctput,none\}"),
        (("-niter", "-1"), r"--niter: must be a number from 0 to 1e15, got '-1'"),
        (("-t", "0"), r"--time: must be a number of seconds above 0 and at most 1e9, got '0'"),
        (("-t", "1e16"), r"--time: must be a number of seconds above 0 and at most 1e9, got '1e16'"),
        (("-nireq", "0"), r"--nireq: must be a number of at least 1"),
        (("-api", "sync", "-nireq", "3", "-niter", "2"), r"--nireq 3 is more than --niter 2"),
        (("-nstreams", "x"), r"NUM_STREAMS: 'x'"),
        (("-nstreams", "GPU:2"), r"--nstreams: 'GPU:2' is for a device that is not run on"),
        (("-infer_precision", "f99"), r"INFERENCE_PRECISION_HINT.*f99"),
        (("-pin", "MAYBE"), r"--pin: MAYBE not in \{YES,NO\}"),
        (("-max_irate", "-3"), r"--max_irate: must be a number of at least 0"),
        (("-b", "0"), r"--batch: must be a number of at least 1"),
        (("-b", "2", "-layout", "[HWC?]"), r"--batch: no input has an axis N; --layout says which"),
        (("-layout", "[NCH]"), r"--layout: .*NCH|--layout: "),
        (("-layout", "[NN]"), r"--layout: "),
        (("-layout", "[N,,H,W]"), r"--layout: .*\[N,,H,W\]"),
        (("-shape", "[1,3"), r"--shape: '\[1,3' is not written as \[\.\.\.\]"),
        (("-shape", "[1],[2]"), r"--shape: '\[1\],\[2\]' names all inputs twice"),
        (("-shape", "[1][2]"), r"gives the input 'data' 2 values; it can have one"),
        (("-shape", "x[1]"), r"--shape: the model has no input 'x'; its inputs are data"),
        (("-shape", "[1,a]"), r"--shape: .*a"),
        (("-shape", "[1,4,64,64]"), r"cannot reshape the model: Subtract 'data/centered'"),
        (("-shape", "[1,3,?,64]"), r"dynamic shape \[1,3,\?,64\]; fix it with --shape"),
        (("-data_shape", "[1,3,64,64]"), r"--data_shape: the input 'data' has the static shape .*; --shape changes it"),
        (("-shape", "[1,3,?,64]", "-data_shape", "[1,3,?,64]"), r"--data_shape: \[1,3,\?,64\] has unknown extents"),
        (("-shape", "[1,3,?,64]", "-data_shape", "[2,3,64,64]"), r"does not fit the input 'data' of shape \[1,3,\?,64\]"),
        (("-latency_percentile", "0"), r"--latency_percentile: must be a number from 1 to 100"),
        (("-report_type", "all"), r"--report_type: all not in \{no_counters,"),
        (("-pcsort", "up"), r"--pcsort: up not in \{sort,no_sort,simple_sort\}"),
        (("-extensions", missing), r"missing"),
        (("-what",), r"not expected: --what"),
        (("-niter", "18446744073709551615"), r"--niter: must be a number from 0 to 1e15, got"),
    ):
        refused(run, arguments, message)
    done = run.start("benchmark_app")
    expect(done.returncode == 3 and "--model is required" in done.stderr, done.stderr)
    done = run.start("benchmark_app", "-m", f"{missing}.xml")
    expect(done.returncode == 3 and re.search(r"missing\.xml'.*No such file", done.stderr), done.stderr)
    usage = run.succeed("benchmark_app", "--help")
    for option in ("-m", "-i", "-d", "--hint", "--niter", "--max_irate", "-t", "-b", "--shape", "--data_shape", "--layout",
                   "--extensions", "--cache_dir", "--load_from_file", "--api", "--nireq", "--nstreams", "--inference_only",
                   "--infer_precision", "--no_warmup", "--ip", "--op", "--iop", "--mean_values", "--scale_values",
                   "--nthreads", "--pin", "--latency_percentile", "--report_type", "--report_folder", "--json_stats",
                   "--pc", "--pcsort", "--pcseq", "--exec_graph_path", "--dump_config", "--load_config"):
        expect(re.search(rf"^  {option}[ ,\n]", usage, re.MULTILINE), f"{option} is not in the help: {usage}")
    expect("Usage: benchmark_app compare" in run.succeed("benchmark_app", "compare", "--help"), "compare has no usage")


CASES = (benchmark_app, benchmark_app_modes, benchmark_app_shapes, benchmark_app_inputs, benchmark_app_reports,
         benchmark_app_preprocessing, benchmark_app_layers, benchmark_app_config, benchmark_app_exec_graph,
         benchmark_app_compare, benchmark_app_busy_machine, benchmark_app_terminal, benchmark_app_errors)
