#!/usr/bin/env python3
"""Checks who includes whom: every include path starts with its room, and a room includes only rooms below it.

    check_includes.py [ROOT]        exit code 1 and one line per violation

The table is that of the house plan, with one addition: the value headers of the public API (shapes, element types,
errors) are declared once, in runtime/include/terroir, and every floor may include them.
"""
import pathlib
import re
import sys

# room -> rooms it may include besides itself; the longest prefix of a file's path is its room
IR_CORE = ["ir/base", "ir/schema", "ir/graph"]
IR = IR_CORE + ["ir/text", "ir/pass", "ir/stored"]
READERS = ["ir/xml", "ir/onnx"]
OPS = ["ops/shape", "ops/reference", "ops/defs", "ops", "ops/rewrites"]
RUNTIME = ["runtime/parallel", "runtime/memory", "runtime/plugin", "runtime/extension"]
ROOMS = {
    "ir/base": [],
    "ir/schema": ["ir/base"],
    "ir/graph": ["ir/base", "ir/schema"],
    "ir/text": IR_CORE,
    "ir/pass": IR_CORE + ["ir/text"],
    "ir/stored": IR_CORE,
    "ir/xml": IR_CORE,
    "ir/onnx": IR_CORE,
    "ops/shape": IR,
    "ops/reference": IR + ["ops/shape"],
    "ops/defs": IR + ["ops/shape", "ops/reference"],
    "ops": IR + ["ops/shape", "ops/reference", "ops/defs"],
    "ops/rewrites": IR + ["ops/shape", "ops/reference", "ops/defs", "ops"],
    "runtime/parallel": ["ir/base"],
    "runtime/memory": IR + READERS + OPS + ["runtime/parallel"],
    "runtime/plugin": IR + READERS + OPS + ["runtime/parallel", "runtime/memory"],
    "runtime/extension": IR + READERS + OPS + RUNTIME,
    "runtime/api": IR + READERS + OPS + RUNTIME,
    "runtime/include": [],
    "plugins/interpreter": IR + READERS + OPS + RUNTIME,
    "plugins/cpu": IR + READERS + OPS + RUNTIME,
    "plugins": ["plugins/interpreter", "plugins/cpu", "runtime/plugin"],
    "samples": [],
    "runtime/compat": [],
    "tests": None,  # everything
}

# public headers that hold values only: any floor may include them
VALUE_HEADERS = {"any", "assert_failure", "bfloat16", "dimension", "element_type", "exception", "export", "float16", "partial_shape",
                 "shape"}
# rooms that may include every public header; runtime/include among themselves
PUBLIC_HEADERS = ["runtime", "plugins", "samples", "tests"]

# header of a third party -> rooms that may include it
THIRD_PARTY = [
    (r"pugi(config|xml)\.hpp", ["ir/xml", "tests"]),
    (r"(google/protobuf|onnx)/.*", ["ir/onnx", "tests"]),
    (r"(oneapi/)?tbb(/.*|\.h)", ["runtime/parallel", "tests"]),
    (r"xsimd/.*", ["plugins/cpu/simd", "plugins/cpu/kernels", "tests"]),
    (r"(x86|imm|[a-z]mm)intrin\.h", ["plugins/cpu/simd", "plugins/cpu/kernels", "tests"]),
    (r"cpuid\.h", ["plugins/cpu", "tests"]),
    (r"dlfcn\.h", ["runtime/extension", "samples", "tests"]),
    (r"(gtest|gmock|benchmark)/.*", ["tests"]),
    (r"CLI/.*", ["samples", "tests"]),
    (r"nlohmann/.*", ["samples", "tests"]),
    (r"(stb/)?stb_\w+\.h", ["samples", "tests"]),
    (r"(oneapi/)?dnnl(/.*|\.hpp|\.h)", ["tests/bench"]),
    (r"stdint\.h", ["runtime/include/terroir/extension_abi.h", "runtime/compat/include/openvino/c"]),  # C
    (r"std(bool|def|io|lib)\.h|string\.h", ["runtime/compat/include/openvino/c", "tests/compat"]),  # C
    (r"openvino/.*", ["runtime/compat", "tests/compat", "tests/install"]),
    # the operating system, at the doors where it is needed
    (r"(fcntl|unistd|sched|pthread|time)\.h|(linux|sys)/\w+\.h",
     ["ir/base", "runtime/parallel", "runtime/memory", "plugins/cpu", "samples", "tests"]),
    (r"(cxxabi|link)\.h", ["ir/base"]),
    (r"malloc\.h", ["tests"]),
]

SOURCES = ("*.hpp", "*.cpp", "*.inc", "*.h")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)


def under(path, folder):
    return path == folder or path.startswith(folder + "/")


def room_of(path):
    rooms = [room for room in ROOMS if under(path, room)]
    return max(rooms, key=len) if rooms else None


def check_angle(path, name):
    """A reason why `path` may not include <name>, or None."""
    for pattern, rooms in THIRD_PARTY:
        if re.fullmatch(pattern, name):
            return None if any(under(path, room) for room in rooms) else f"only {', '.join(rooms)} may include <{name}>"
    if "/" not in name and "." not in name:
        return None  # the standard library
    return f"<{name}> is neither the standard library nor a third party in the table"


def check_public(path, name):
    header = name[len("terroir/"):]
    if pathlib.PurePosixPath(header).stem in VALUE_HEADERS and "/" not in header:
        return None
    if any(under(path, room) for room in PUBLIC_HEADERS):
        return None
    return f"only {', '.join(PUBLIC_HEADERS)} may include <{name}>; below, only the value headers are allowed"


def check_quoted(root, path, name):
    room = room_of(path)
    if room == "samples":
        local = [root / "samples" / name, (root / path).parent / name]
        return None if any(file.is_file() for file in local) else f'samples see the installed headers only, not "{name}"'
    if room == "runtime/compat" and name.startswith("openvino/"):
        return None if (root / "runtime/compat/include" / name).is_file() else f'"{name}" does not exist'
    target = room_of(name)
    if target is None:
        return f'"{name}" does not start with a room'
    if not (root / name).is_file():
        return f'"{name}" does not exist'
    if ROOMS[room] is None or target == room or target in ROOMS[room]:
        return None
    return f'{room} may not include {target}: "{name}"'


def check_include(root, path, quote, name):
    if name.startswith("terroir/"):
        return check_public(path, name)
    return check_angle(path, name) if quote == "<" else check_quoted(root, path, name)


def violations(root):
    found = []
    for room in sorted({room.split("/")[0] for room in ROOMS}):
        for file in sorted(f for pattern in SOURCES for f in (root / room).rglob(pattern)):
            path = file.relative_to(root).as_posix()
            if room_of(path) is None:
                found.append(f"{path}:1: the file is in no room of the table")
                continue
            text = file.read_text(encoding="utf-8")
            for match in INCLUDE.finditer(text):
                reason = check_include(root, path, *match.groups())
                if reason:
                    found.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {reason}")
    return found


def main(arguments):
    root = pathlib.Path(arguments[0] if arguments else pathlib.Path(__file__).parents[2]).resolve()
    if not (root / "ir" / "base").is_dir():
        print(f"{root} is not the source folder: it has no ir/base")
        return 2
    found = violations(root)
    print("\n".join(found) if found else "every include obeys the floors")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
