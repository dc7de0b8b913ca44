# SPDX-License-Identifier: Apache-2.0
"""Random damage to copies of checkpoints: bytes, zip records, pickles and sets of files. Standard library only."""

import os
import pickletools
import re
import shutil
import struct
import warnings
import zipfile
import zlib
from io import BytesIO

NUMBERS = (0, 1, -1, 2, 127, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, -2**63, 2**70)
TEXTS = ("", "fp32", "exp_avg", "step", "0", "-1", "../../x", "a" * 70000, "\0", "\udc80", "ü", "param_groups", "module")
OPCODES = b"().012NQR]abcdehijloqrstu}\x80\x81\x85\x86\x87\x88\x89\x94"
warnings.filterwarnings("ignore", "Duplicate name", UserWarning)  # such archives are wanted


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


# Bytes.

def flip(data, random):
    for _ in range(1 << random.randrange(6)):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)


def overwrite(data, random):
    if data:
        at = random.randrange(len(data))
        width = random.choice((1, 2, 4, 8))
        value = (random.choice(NUMBERS) & (256**width - 1)).to_bytes(width, "little")
        data[at:at + width] = value[:len(data) - at]


def truncate(data, random):
    del data[random.randrange(len(data) + 1):]


def _chunk(data, random):
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + (1 << random.randrange(14)))


def remove_chunk(data, random):
    begin, end = _chunk(data, random)
    del data[begin:end]


def duplicate_chunk(data, random):
    begin, end = _chunk(data, random)
    data[end:end] = data[begin:end]


def move_chunk(data, random):
    begin, end = _chunk(data, random)
    chunk = data[begin:end]
    del data[begin:end]
    at = random.randrange(len(data) + 1)
    data[at:at] = chunk


def insert_noise(data, random):
    at = random.randrange(len(data) + 1)
    data[at:at] = random.randbytes(1 << random.randrange(12))


def change_number_in_text(data, random):
    found = list(re.finditer(rb"-?\d+", bytes(data[:1 << 20])))
    if found:
        match = random.choice(found)
        data[match.start():match.end()] = str(random.choice(NUMBERS)).encode()


BYTES = (flip, flip, overwrite, truncate, remove_chunk, duplicate_chunk, move_chunk, insert_noise, change_number_in_text)


# Zip archives. Every change gets a matching CRC, so that readers continue after it.

def _records(data):
    with zipfile.ZipFile(BytesIO(data)) as archive:
        return [[item.filename, archive.read(item)] for item in archive.infolist()]


def _archive(records):
    out = BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in records:
            archive.writestr(zipfile.ZipInfo(name), content)
    return bytearray(out.getvalue())


def _change_records(data, random):
    records = _records(data)
    record = random.choice(records)
    what = random.randrange(6)
    if what == 0:
        content = bytearray(record[1])
        random.choice(BYTES)(content, random)
        record[1] = bytes(content)
    elif what == 1:
        records.remove(record)
    elif what == 2:
        records.append([record[0], record[1][::-1]])  # two of one name
    elif what == 3:
        other = random.choice(records)
        record[1], other[1] = other[1], record[1]
    elif what == 4:
        record[0] = random.choice((f"{record[0]}x", "../" + record[0], record[0].split("/")[-1], "x" * 60000, "a/data.pkl"))
    else:
        random.shuffle(records)
    data[:] = _archive(records)


def _change_directory(data, random):
    """A field of the central directory, or of the end record, with a value at a limit."""
    places = [match.start() for match in re.finditer(rb"PK\x01\x02|PK\x05\x06|PK\x06\x06|PK\x06\x07|PK\x03\x04", bytes(data))]
    at = random.choice(places) + random.randrange(4, 56)
    width = random.choice((2, 4, 8))
    data[at:at + width] = (random.choice(NUMBERS) & (256**width - 1)).to_bytes(width, "little")[:max(0, len(data) - at)]


def _patch_in_place(data, random):
    """Bytes of one record with the archive's layout as it was, and a CRC that fits."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        items = [item for item in archive.infolist() if item.file_size and item.compress_type == zipfile.ZIP_STORED]
    item = random.choice(items)
    name_bytes, extra_bytes = struct.unpack_from("<HH", data, item.header_offset + 26)
    begin = item.header_offset + 30 + name_bytes + extra_bytes
    content = data[begin:begin + item.file_size]
    random.choice((flip, overwrite))(content, random)
    data[begin:begin + item.file_size] = content[:item.file_size]
    old, new = (struct.pack("<I", crc) for crc in (item.CRC, zlib.crc32(content)))
    for match in re.finditer(re.escape(old), bytes(data)):
        if not begin <= match.start() < begin + item.file_size:
            data[match.start():match.start() + 4] = new


# Pickles.

def _integer(value):
    if -2**31 <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    text = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(text)]) + text


def _text(value):
    encoded = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(encoded)) + encoded


def _changed_opcode(opcode, argument, random):
    if isinstance(argument, bool) or argument is None:
        return bytes([random.choice(OPCODES)])
    if opcode.name in ("BINPUT", "BINGET"):
        return opcode.code.encode("latin-1") + bytes([random.randrange(256)])
    if opcode.name in ("LONG_BINPUT", "LONG_BINGET"):
        return opcode.code.encode("latin-1") + struct.pack("<I", random.choice((random.randrange(5000), 2**32 - 1)))
    if opcode.name == "GLOBAL":
        return random.choice((b"cos\nsystem\n", b"ctorch\nFloatStorage\n", b"ctorch\nBFloat16Storage\n", b"c\n\n",
                              b"ccollections\nOrderedDict\n", b"ctorch._utils\n_rebuild_tensor_v2\n"))
    if isinstance(argument, int):
        return _integer(random.choice((*NUMBERS, argument + 1, argument - 1, argument * 2)))
    if isinstance(argument, str):
        return _text(random.choice((*TEXTS, argument + "x", argument[:-1])))
    return _text("x")


def change_pickle(content, random):
    """The pickle with one to four opcodes changed, removed, doubled, exchanged, inserted, or nested deeply."""
    listed = list(pickletools.genops(bytes(content)))
    ends = [place for _, _, place in listed[1:]] + [len(content)]
    pieces = [bytes(content[place:end]) for (_, _, place), end in zip(listed, ends)]
    for _ in range(random.randrange(1, 5)):
        at = random.randrange(len(pieces))
        what = random.randrange(8)
        if what <= 2 and at < len(listed):
            opcode, argument, _ = listed[at]
            pieces[at] = _changed_opcode(opcode, argument, random)
        elif what == 3:
            pieces[at] = b""
        elif what == 4:
            pieces[at] *= random.choice((2, 3, 1000))
        elif what == 5:
            other = random.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif what == 6:
            pieces[at] += bytes([random.choice(OPCODES)])
        else:
            pieces[at] = random.choice((b"(", b"]", b"}", b"N\x85")) * random.choice((10, 1000, 300000)) + pieces[at]
    return b"".join(pieces)


def _change_pickle_record(data, random):
    records = _records(data)
    record = random.choice([one for one in records if one[0].endswith("data.pkl")])
    record[1] = change_pickle(record[1], random)
    data[:] = _archive(records)


ARCHIVE = (_change_records, _change_directory, _patch_in_place, _change_pickle_record, _change_pickle_record)


def damage_content(path, random):
    data = bytearray(path.read_bytes())
    how = random.choice(ARCHIVE) if data[:4] == b"PK\x03\x04" and random.random() < 0.75 else random.choice(BYTES)
    try:
        how(data, random)
    except (zipfile.BadZipFile, ValueError, IndexError, KeyError, struct.error, zlib.error, NotImplementedError,
            EOFError, OSError, RuntimeError): # RuntimeError: an archive that says that it is encrypted
        how = flip  # an earlier mutation of this file left nothing to parse
        flip(data, random)
    path.write_bytes(data)
    return f"{how.__name__.strip('_')} {path.name}"


# Sets of files.

def _renumbered(name, random):
    numbers = list(re.finditer(r"\d+", name))
    if not numbers:
        return name + ".bak"
    match = random.choice(numbers)
    number = str(random.choice((0, 1, 2, 7, 99, 4095, 2**32, int(match[0]) + 1))).zfill(len(match[0]))
    return name[:match.start()] + number + name[match.end():]


def damage_files(folder, random):
    path = random.choice(files_of(folder))
    other = random.choice(files_of(folder))
    renamed = path.with_name(_renumbered(path.name, random))
    what = random.choice(("remove", "exchange", "rename", "duplicate", "replace", "empty", "link", "fifo", "folder", "pointer"))
    if what == "remove":
        path.unlink()
    elif what == "exchange":
        first, second = path.read_bytes(), other.read_bytes()
        path.write_bytes(second)
        other.write_bytes(first)
    elif what == "rename" and not renamed.exists():
        path.rename(renamed)
    elif what == "duplicate" and not renamed.exists():
        shutil.copyfile(path, renamed)
    elif what == "replace" and other != path:
        shutil.copyfile(other, path)
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "link":
        target = random.choice((other.name, path.name, "nowhere", "/dev/zero", "..", str(other)))
        path.unlink()
        path.symlink_to(target)
    elif what == "fifo":
        path.unlink()
        os.mkfifo(path)
    elif what == "folder":
        path.unlink()
        path.mkdir()
    elif what == "pointer":
        text = random.choice(("", "..", "nowhere", ".", "/", "a\0b", "x" * 5000, "global_step5\n\n"))
        pointer = folder / "latest"
        if pointer.is_dir() and not pointer.is_symlink():
            pointer.rmdir() # an earlier damage of this case
        else:
            pointer.unlink(missing_ok=True) # neither a FIFO nor the target of a link is written to
        pointer.write_text(text)
    return f"{what} {path.name} ({other.name}, {renamed.name[:40]})"


def damage(root, random):
    """Damages the file or folder one to three times; says what was done."""
    done = []
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        if root.is_file():
            done.append(damage_content(root, random))
        elif not files_of(root):
            break
        elif random.random() < 0.25:
            done.append(damage_files(root, random))
        else:
            done.append(damage_content(random.choice(files_of(root)), random))
    return done
