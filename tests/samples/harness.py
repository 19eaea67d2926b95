"""What the cases of run.py share: running programs, expecting things, images."""

import pathlib
import struct
import subprocess
import zlib

SIZE = 96  # of the model that the cases share: real, but quick under sanitizers, too
SKIPPED = 77


class Run:
    """Where the programs and the files are. Each case has a folder of its own: cases run beside each other."""

    def __init__(self, arguments):
        self.bin = pathlib.Path(arguments.bin).resolve()
        self.model = pathlib.Path(arguments.work).resolve() / "model" / "model.xml"
        self.work = pathlib.Path(arguments.work).resolve() / arguments.case
        self.shared = pathlib.Path(arguments.shared) if arguments.shared else None
        self.extensions = pathlib.Path(arguments.extensions)
        self.work.mkdir(parents=True, exist_ok=True)

    def start(self, program, *arguments):
        command = [str(self.bin / program)] + [str(argument) for argument in arguments]
        return subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=self.work, check=False)

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
