#!/usr/bin/env python3
"""Fails if an object file compiled for one instruction set bucket defines a symbol that the linker could share.

An inline function with external linkage that such a file emits may be the copy the linker keeps for the whole library,
and would crash processors without that instruction set. So every global, weak or unique symbol defined by
plugins/cpu/kernels/<family>/[<part>_]<isa>.cpp must carry the name of its bucket: it lives in (or is made of types of)
terroir::cpu::<isa> or xsimd_<isa>.

usage: check_isa_symbols.py --nm NM BUILD_DIRECTORY
"""
import argparse
import pathlib
import re
import subprocess
import sys

BUCKETS = ("sse42", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "avx512_amx")
# A hidden pointer to the C++ runtime's own function: data, the same in every object.
HARMLESS = {"DW.ref.__gxx_personality_v0"}


def own_name(symbol: str, isa: str) -> bool:
    namespace = f"7terroir3cpu{len(isa)}{isa}"
    renamed = f"xsimd_{isa}"
    return namespace in symbol or f"{len(renamed)}{renamed}" in symbol


def foreign_symbols(nm: str, path: pathlib.Path, isa: str) -> list[str]:
    listing = subprocess.run([nm, "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
    foreign = []
    for line in listing.splitlines():
        fields = line.split()
        kind, symbol = fields[-2], fields[-1]
        # Lower-case letters are local, but for weak (w, v) and unique (u) symbols.
        shareable = kind.isupper() or kind in "wvu"
        if shareable and symbol not in HARMLESS and not own_name(symbol, isa):
            foreign.append(f"{kind} {symbol}")
    return foreign


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nm", default="nm")
    parser.add_argument("build", type=pathlib.Path)
    args = parser.parse_args()
    pattern = re.compile(r"plugins/cpu/kernels/[^/]+/(?:[^/]+_)?(" + "|".join(BUCKETS) + r")\.cpp\.o$")
    # A file removed from the sources leaves its object behind; only objects ninja still builds count.
    checked, failed = 0, 0
    root = pathlib.Path(__file__).resolve().parents[2]
    for path in sorted(args.build.rglob("*.cpp.o")):
        match = pattern.search(path.as_posix())
        if not match:
            continue
        source = root / path.as_posix()[path.as_posix().index("plugins/cpu/kernels/"):-len(".o")]
        if not source.exists():
            continue
        checked += 1
        for symbol in foreign_symbols(args.nm, path, match.group(1)):
            failed += 1
            print(f"{path.name} ({path.parent.name}): {symbol} is not in terroir::cpu::{match.group(1)}")
    if checked == 0:
        print(f"no kernel objects under {args.build}")
        return 1
    print(f"{checked} kernel objects checked, {failed} foreign symbols")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
