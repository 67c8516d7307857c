#!/usr/bin/env python3
"""Writes the seed files of tests/fuzz/corpus/gguf: small GGUF files, good and bad."""
import struct
import sys
from pathlib import Path

U32, I32, F32, BOOL, STRING, ARRAY, U64, F64 = 4, 5, 6, 7, 8, 9, 10, 12
PACK = {0: "<B", 1: "<b", 2: "<H", 3: "<h", U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q", 11: "<q", F64: "<d"}


def text(value):
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def scalar(kind, value):
    return text(value) if kind == STRING else struct.pack(PACK[kind], value)


def entry(key, kind, value, element=None):
    body = scalar(kind, value) if element is None else struct.pack("<IQ", element, len(value)) + b"".join(scalar(element, v) for v in value)
    return text(key) + struct.pack("<I", kind) + body


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<iQ", kind, offset)


def image(entries, tensors=(), data=b"", version=3, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries)) + b"".join(entries) + b"".join(tensors)
    return head + bytes(-len(head) % alignment) + data if tensors else head


arch = entry("general.architecture", STRING, "llama")
vocab = [arch, entry("tokenizer.ggml.model", STRING, "gpt2"),
         entry("tokenizer.ggml.tokens", ARRAY, ["a", "b", "ab", "<s>"], STRING),
         entry("tokenizer.ggml.token_type", ARRAY, [1, 1, 1, 3], I32),
         entry("tokenizer.ggml.scores", ARRAY, [0.0, -1.0, -2.5, 0.0], F32),
         entry("tokenizer.ggml.add_bos_token", BOOL, True)]
every = [arch] + [entry(f"k.{kind}", kind, 1) for kind in PACK] + [entry(f"a.{kind}", ARRAY, [0, 1], kind) for kind in PACK]
two = [tensor("token_embd.weight", [32, 2], 8, 0), tensor("output_norm.weight", [8], 0, 96)]
data = bytes(range(68)) + bytes(28) + bytes(32)
blocks = {2: (32, 18), 12: (256, 144), 14: (256, 210), 16: (256, 66), 19: (256, 50), 29: (256, 56), 39: (32, 17), 40: (64, 36)}
offset, formats, format_data = 0, [], b""
for kind, (n, size) in blocks.items():
    formats.append(tensor(f"t{kind}", [n], kind, offset))
    format_data += bytes((i * 37 + kind) & 255 for i in range(size)) + bytes(-size % 32)
    offset = len(format_data)
whole = image([arch], two, data)
files = {
    "vocabulary": image(vocab), "two_tensors": whole, "all_value_types": image(every), "formats": image([arch], formats, format_data),
    "version_2": image([arch], two, data, version=2), "alignment_64": image([entry("general.alignment", U32, 64)], [tensor("t", [16], 0, 0)], bytes(64), alignment=64),
    "scalar": image([arch], [tensor("s", [], 0, 0)], bytes(32)), "shard": image([arch, entry("split.no", 2, 0), entry("split.count", 2, 2), entry("split.tensors.count", I32, 2)], two[:1], data),
    "empty": image([]), "truncated_data": whole[:-40], "truncated_directory": whole[:90], "bad_type": image([arch], [tensor("t", [32], 4, 0)], bytes(64)),
    "bad_offset": image([arch], [tensor("t", [8], 0, 4)], bytes(64)), "big_endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0),
    "bad_alignment": image([entry("general.alignment", U32, 48)]), "duplicate_key": image([arch, arch]), "version_1": image([], version=1),
    "nested_array": image([text("k") + struct.pack("<IIQ", ARRAY, ARRAY, 1)]), "huge_count": b"GGUF" + struct.pack("<IQQ", 3, 1 << 63, 1 << 62),
}

folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "corpus/gguf"
folder.mkdir(parents=True, exist_ok=True)
for name, content in files.items():
    (folder / name).write_bytes(content)
