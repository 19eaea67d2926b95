#!/usr/bin/env python3
"""Generates the models that the zoo tests run, those that are not there yet.

    make_zoo.py ZOO_PY OUT NAME...      exit code 77 (ctest: skipped) when there is no generator
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77


def main(generator, out, names):
    if os.environ.get("TERROIR_ZOO_DIR"):
        print("TERROIR_ZOO_DIR names a folder with the models")
        return 0
    if not pathlib.Path(generator).is_file():
        print(f"SKIPPED: there is no generator at '{generator}' (TERROIR_SHARED_DIR)")
        return SKIPPED
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    missing = [name for name in names if not (out / f"{name}.xml").is_file()]
    for name in missing:
        # Into a folder beside and then renamed, the .xml last: an interrupted run leaves no half model behind.
        with tempfile.TemporaryDirectory(dir=out) as folder:
            quantised = ["--int8"] if name.endswith("-int8") else []
            subprocess.run([sys.executable, generator, name.removesuffix("-int8"), "--out", folder, "--no-onnx", *quantised],
                           check=True)
            for suffix in (".bin", ".xml"):
                os.replace(pathlib.Path(folder) / (name + suffix), out / (name + suffix))
    print(f"generated {len(missing)} of {len(names)} models")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
