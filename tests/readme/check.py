"""Holds the README to the truth: its commands, table of operations, rooms and switches.

    check.py SOURCE_DIR [--update]      --update writes the table of operations anew
"""

import collections
import pathlib
import re
import sys

FOLDERS = ("ir", "ops", "runtime", "plugins")
MARK = "<!-- operations: tests/readme/check.py --update -->\n"


def operations_table(source):
    rows = re.findall(r"^TERROIR_OP\((\w+), ", (source / "ops/op_list.inc").read_text(), re.MULTILINE)
    numbers = [int(row.removeprefix("opset")) for row in rows if row.startswith("opset")]
    counts = sorted(collections.Counter(numbers).items()) + [("all", len(numbers))]
    counts += sorted(collections.Counter(row for row in rows if not row.startswith("opset")).items())
    head = "| opset | " + " | ".join(str(opset) for opset, _ in counts) + " |\n"
    rule = "| --- " * (len(counts) + 1) + "|\n"
    body = "| operations | " + " | ".join(str(count) for _, count in counts) + " |\n"
    return head + rule + body


def told_operations(readme):
    """Opset, "all" opsets or set of our own -> number the README tells."""
    lines = readme.split(MARK, 1)[1].split("\n")
    cells = [[cell.strip() for cell in lines[i].strip("|").split("|")] for i in (0, 2)]
    return {opset: int(count) for opset, count in zip(cells[0][1:], cells[1][1:])}


def problems(source):
    readme = (source / "README.md").read_text()

    # An operation more in the list than in the README is no lie; the other way round it is.
    table = MARK + operations_table(source)
    truth = told_operations(table)
    for opset, count in told_operations(readme).items():
        if count > truth.get(opset, 0):
            yield f"the README promises {count} operations of opset {opset}, there are {truth.get(opset, 0)}"

    commands = [block.strip() for block in re.findall(r"^```sh\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)]
    if len(commands) != 2 or any("\n" in command for command in commands):
        yield f"the README must have two commands of one line, found {commands}"
        return
    run = [line.removesuffix(' "$@"') for line in (source / ".ci/run").read_text().splitlines()]
    steps = commands[1].split(" && ")
    if run[-len(steps):] != steps:
        yield f"the test command {steps} is not what .ci/run ends with: {run[-len(steps):]}"
    if commands[0].split(" && ")[:2] != steps[:2]:
        yield "the two commands begin differently"
    for program in re.findall(r"build/release/bin/(\w+)", commands[0]):
        if not (source / "samples" / program / "CMakeLists.txt").is_file():
            yield f"there is no sample {program}"

    for room in re.findall(r"`((?:ir|ops|runtime|plugins|samples|tests)(?:/[\w./]+)?)`", readme):
        if not (source / room).exists():
            yield f"there is no {room}"

    code = "".join(path.read_text() for folder in FOLDERS for path in sorted((source / folder).rglob("*.cpp")))
    switches = set(re.findall(r'getenv\("(TERROIR_\w+)"\)', code))
    told = set(re.findall(r"^\| `(TERROIR_\w+)=", readme, re.MULTILINE))
    if switches != told:
        yield f"switches in the code and in the README differ: {sorted(switches ^ told)}"


def update(source):
    path = source / "README.md"
    before, after = path.read_text().split(MARK, 1)
    rest = re.sub(r"\A(\|.*\n)*", "", after)
    path.write_text(before + MARK + operations_table(source) + rest)


def main():
    source = pathlib.Path(sys.argv[1])
    if "--update" in sys.argv[2:]:
        update(source)
    found = list(problems(source))
    print("\n".join(found) or "the README tells the truth")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
