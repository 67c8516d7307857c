// The rivals' side of `lab tokenizer`: run as `python3 -c PROGRAM ORDER.json`, prints one JSON object.
#include "lab/tokenizer_bench.h"

namespace tally::lab {

const char* const kRivalDriver = R"PY(
import ctypes, json, sys, time

order = json.load(open(sys.argv[1], encoding="utf-8"))

def from_hf():
    import tokenizers
    t = tokenizers.Tokenizer.from_file(order["tokenizer_json"])
    return tokenizers.__version__, lambda text: t.encode(text, add_special_tokens=False).ids

def from_tiktoken():
    import tiktoken
    j = json.load(open(order["tokenizer_json"], encoding="utf-8"))
    vocab, steps = j["model"]["vocab"], j["pre_tokenizer"]["pretokenizers"]
    patterns = [s["pattern"]["Regex"] for s in steps if s["type"] == "Split"]
    if len(patterns) != 1:
        raise SystemExit("tiktoken splits text with one pattern; this vocabulary needs %d in a row" % len(patterns))
    alphabet, n = {}, 0
    for b in range(256):
        plain = 33 <= b <= 126 or 161 <= b <= 172 or 174 <= b
        alphabet[chr(b if plain else 256 + n)] = b
        n += not plain
    raw = lambda text: bytes(alphabet[c] for c in text)
    ranks, ids = {}, []
    for c in alphabet:  # rank 0…255: bytes; then every merge by its place
        ranks[bytes([alphabet[c]])] = len(ids)
        ids.append(vocab[c])
    for merge in j["model"]["merges"]:
        left, right = merge.split(" ") if isinstance(merge, str) else merge
        token = raw(left + right)
        if token not in ranks:
            ranks[token] = len(ids)
            ids.append(vocab[left + right])
    e = tiktoken.Encoding("vocabulary", pat_str=patterns[0], mergeable_ranks=ranks, special_tokens={})
    return tiktoken.__version__, (lambda text: e.encode_ordinary(text)), (lambda out: [ids[i] for i in out])

def from_llama():
    lib = ctypes.CDLL(order["library"])
    class Params(ctypes.Structure):  # passed through as it comes: larger than any version's
        _fields_ = [("bytes", ctypes.c_char * 1024)]
    quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *a: None)
    lib.llama_log_set(quiet, None)
    lib.llama_backend_init()
    lib.llama_model_default_params.restype = Params
    load = lib.llama_model_load_from_file
    load.argtypes, load.restype = [ctypes.c_char_p, Params], ctypes.c_void_p
    model = load(order["model"].encode(), lib.llama_model_default_params())
    if not model:
        raise SystemExit("llama.cpp could not load " + order["model"])
    lib.llama_model_get_vocab.argtypes, lib.llama_model_get_vocab.restype = [ctypes.c_void_p], ctypes.c_void_p
    vocab = lib.llama_model_get_vocab(model)
    tokenize = lib.llama_tokenize
    tokenize.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int32, ctypes.POINTER(ctypes.c_int32), ctypes.c_int32,
                         ctypes.c_bool, ctypes.c_bool]
    tokenize.restype = ctypes.c_int32
    longest = max(len(t.encode()) for w in order["workloads"] for t in w["texts"]) + 8
    out = (ctypes.c_int32 * longest)()
    def encode(text):  # text: bytes
        n = tokenize(vocab, text, len(text), out, longest, False, False)
        if n < 0:
            raise SystemExit("llama_tokenize wants %d places" % -n)
        return n
    return "libllama", encode, None, (lambda n: out[:n])

kind = order["kind"]
made = {"hf": from_hf, "tiktoken": from_tiktoken, "llama.cpp": from_llama}[kind]()
version, encode = made[0], made[1]
ids_of = made[2] if len(made) == 3 else (lambda out: list(out))
results = {}
for w in order["workloads"]:
    texts = [t.encode() for t in w["texts"]] if kind == "llama.cpp" else w["texts"]
    ids = []
    for t in texts:  # the first pass warms
        out = encode(t)
        ids.append(made[3](out) if kind == "llama.cpp" else ids_of(out))
    passes, total = 0, 0
    while total < order["at_least_ms"] * 1e6 or passes == 0:
        begin = time.perf_counter_ns()
        for t in texts:
            encode(t)
        total += time.perf_counter_ns() - begin
        passes += 1
    results[w["name"]] = {"ms": total / passes / 1e6, "passes": passes}
    if order["want_ids"]:
        results[w["name"]]["ids"] = ids
json.dump({"version": version, "results": results}, sys.stdout)
)PY";

}  // namespace tally::lab
