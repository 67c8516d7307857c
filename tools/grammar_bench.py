#!/usr/bin/env python3
"""Times JSON Schema constraints beside two other engines, and counts their verdicts.

Needs the packages xgrammar, llguidance, numpy and torch (in a virtual environment, say) and the built program. All three
get the same vocabulary (that of MODEL, as `tally tokenize` prints it), the same tokens of the same texts, and take turns
schema by schema in an order that rotates. A sample is one mask before one token, or at a text's end. The other engines
are called from Python, which adds a few tenths of a microsecond to each of their calls; the program times itself.

With --rounds N everything is measured N times, each time by a fresh process and from nothing, and the least time of each
sample counts: other work on the machine weighs less.
"""
import argparse
import base64
import json
import pathlib
import subprocess
import sys
import time

try:
    import llguidance
    import llguidance.numpy
    import numpy
    import torch
    import xgrammar
except ImportError as e:
    sys.exit(f"{sys.argv[0]}: the package {e.name} is missing; pip install xgrammar llguidance numpy torch")


class Vocabulary:
    """Tokens by bytes, and texts by ids, from `tally tokenize`."""

    def __init__(self, tally, model):
        self.tally, self.model = tally, model
        info = json.loads(subprocess.run([tally, "info", model, "--json"], check=True, capture_output=True).stdout)
        meta = info["metadata"]
        self.end = meta["tokenizer.ggml.eos_token_id"]
        n = meta["tokenizer.ggml.tokens"]["count"]
        self.tokens = [self.bytes_of(x) for x in self.lines([{"ids": [i]} for i in range(n)])]
        self.special = [i for i, t in enumerate(self.tokens) if not t]

    @staticmethod
    def bytes_of(answer):
        return answer["text"].encode() if "text" in answer else base64.b64decode(answer["bytes"])

    def lines(self, asks):
        text = "".join(json.dumps(a) + "\n" for a in asks)
        run = subprocess.run([self.tally, "tokenize", self.model, "--jsonl"], input=text, check=True,
                             capture_output=True, text=True)
        return [json.loads(x) for x in run.stdout.splitlines()]

    def ids(self, texts):
        return [x["ids"] for x in self.lines([{"text": t, "add_special": False} for t in texts])]


class Tally:
    name = "tally"

    def __init__(self, vocabulary):
        self.v = vocabulary
        self.process = None

    def begin(self):
        self.end()
        self.process = subprocess.Popen([self.v.tally, "grammar", "check", self.v.model, "--jsonl"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()
            self.process = None

    def run(self, row):
        """(compile ms or None when refused, mask samples in µs, wrongly refused, wrongly accepted)"""
        ask = {k: row[k] for k in ("schema", "accept", "reject") if k in row} | {"samples": True}
        self.process.stdin.write(json.dumps(ask) + "\n")
        self.process.stdin.flush()
        got = json.loads(self.process.stdout.readline())
        if "error" in got:
            return None, [], 0, 0
        return (got["compile_ms"], got["mask_us"]["samples"], len(got["wrongly_refused"]),
                len(got["wrongly_accepted"]))


class Other:
    """An engine in this process: compile() gives something with mask(), accept(id) and may_end()."""

    def begin(self):
        pass

    def end(self):
        pass

    def run(self, row):
        text = json.dumps(row["schema"])
        try:
            begin = time.perf_counter_ns()
            self.compile(text)
            compile_ms = (time.perf_counter_ns() - begin) * 1e-6
        except Exception:  # how each of them refuses a schema
            return None, [], 0, 0
        samples, wrong = [], {"accept": 0, "reject": 0}
        for key in wrong:
            for ids in row["ids"][key]:
                taken = self.feed(ids, samples)
                wrong[key] += taken != (key == "accept")
        return compile_ms, samples, wrong["accept"], wrong["reject"]

    def feed(self, ids, samples):
        self.reset()
        for i in ids + [None]:
            begin = time.perf_counter_ns()
            self.mask()
            samples.append((time.perf_counter_ns() - begin) * 1e-3)
            if i is None:
                return self.may_end()
            if not self.accept(i):
                return False


class XGrammar(Other):
    name = "xgrammar"

    def __init__(self, vocabulary):
        self.v = vocabulary
        info = xgrammar.TokenizerInfo(vocabulary.tokens, xgrammar.VocabType.RAW, vocab_size=len(vocabulary.tokens),
                                      stop_token_ids=[vocabulary.end])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.row = xgrammar.allocate_token_bitmask(1, len(vocabulary.tokens))

    def compile(self, text):
        self.compiled = self.compiler.compile_json_schema(text, any_whitespace=True, strict_mode=False)
        self.matcher = xgrammar.GrammarMatcher(self.compiled)

    def reset(self):
        self.matcher.reset()

    def mask(self):
        self.matcher.fill_next_token_bitmask(self.row)

    def accept(self, i):
        return self.matcher.accept_token(i)

    def may_end(self):
        end = self.v.end
        return bool(int(self.row[0, end // 32]) >> (end % 32) & 1)


class LLGuidance(Other):
    name = "llguidance"

    def __init__(self, vocabulary, tokenizer_json):
        self.v = vocabulary

        if tokenizer_json:
            self.tokenizer = llguidance.LLTokenizer(tokenizer_json, n_vocab=len(vocabulary.tokens),
                                                    eos_token=vocabulary.end)
            self.row = llguidance.numpy.allocate_token_bitmask(1, len(vocabulary.tokens))
            return
        by_bytes = {t: i for i, t in enumerate(vocabulary.tokens)}

        class Wrapped:
            eos_token_id = vocabulary.end
            bos_token_id = vocabulary.end
            special_token_ids = vocabulary.special
            tokens = [t or b"<|%d|>" % i for i, t in enumerate(vocabulary.tokens)]

            def __call__(self, text):
                left, ids = text if isinstance(text, bytes) else text.encode(), []
                while left:
                    n = next(n for n in range(min(len(left), 32), 0, -1) if left[:n] in by_bytes)
                    ids.append(by_bytes[left[:n]])
                    left = left[n:]
                return ids

        self.tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Wrapped()))
        self.row = llguidance.numpy.allocate_token_bitmask(1, len(vocabulary.tokens))

    def compile(self, text):
        self.first = llguidance.LLMatcher(self.tokenizer, llguidance.LLMatcher.grammar_from_json_schema(text))
        if self.first.is_error():
            raise ValueError(self.first.get_error())

    def reset(self):
        self.matcher = self.first.deep_copy()

    def mask(self):
        llguidance.numpy.fill_next_token_bitmask(self.matcher, self.row, 0)

    def accept(self, i):
        return bool(int(self.row[0, i // 32]) >> (i % 32) & 1) and self.matcher.consume_token(i)

    def may_end(self):
        return self.matcher.is_accepting()


def at(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else float("nan")


def least(best, now):
    """Sample by sample; the verdicts of the first round count."""
    if best is None or best[0] is None or now[0] is None or len(best[1]) != len(now[1]):
        return best or now
    return min(best[0], now[0]), [min(a, b) for a, b in zip(best[1], now[1])], *best[2:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("SCHEMAS", type=pathlib.Path, help='lines {"schema", "accept", "reject", "strict_unsupported"}')
    parser.add_argument("--tally", default="build/release/tally")
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--tokenizer", type=pathlib.Path, help="the model's tokenizer.json for llguidance, which asks "
                        "its tokenizer while it masks (default: longest match, written in Python)")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--verbose", action="store_true", help="also name what each engine refuses or gets wrong")
    options = parser.parse_args()
    torch.set_num_threads(1)
    vocabulary = Vocabulary(options.tally, options.model)
    rows = [json.loads(line) for line in options.SCHEMAS.read_text().splitlines()]
    for row in rows:
        row["ids"] = {}
        for key in ("accept", "reject"):
            row["ids"][key] = vocabulary.ids(row[key]) if row.get(key) else []
    tokenizer_json = options.tokenizer and options.tokenizer.read_text()
    engines = [Tally(vocabulary), XGrammar(vocabulary), LLGuidance(vocabulary, tokenizer_json)]
    results = {e.name: [None] * len(rows) for e in engines}
    for turn in range(options.rounds):
        for e in engines:
            e.begin()
        for i, row in enumerate(rows):
            for k in range(len(engines)):
                e = engines[(turn + i + k) % len(engines)]
                results[e.name][i] = least(results[e.name][i], e.run(row))
        for e in engines:
            e.end()
    print(f"{len(rows)} schemas, {len(vocabulary.tokens)} tokens, {options.rounds} rounds")
    print("engine      compile ms: median     p99      max   mask us: median     p99      max        n   "
          "refused (must support, may refuse)  texts wrongly refused, accepted")
    for e in engines:
        got = results[e.name]
        must = [not r["strict_unsupported"] and bool(r["accept"]) for r in rows]
        compiled = [g[0] for g in got if g[0] is not None]
        masks = [x for g in got for x in g[1]]
        refused = [sum(g[0] is None and m == want for g, m in zip(got, must)) for want in (True, False)]
        wrong = [sum(g[k] for g in got) for k in (2, 3)]
        print(f"{e.name:<12}{at(compiled, .5):18.3f}{at(compiled, .99):8.2f}{max(compiled):9.1f}"
              f"{at(masks, .5):18.2f}{at(masks, .99):8.1f}{max(masks):9.0f}{len(masks):9}   "
              f"{refused[0]:>15}{refused[1]:>13}{wrong[0]:>23}{wrong[1]:>9}")
        if options.verbose:
            for g, r in zip(got, rows):
                if g[0] is None or g[2] or g[3]:
                    print(f"  {r['name']}: {'refused' if g[0] is None else f'{g[2]} wrongly refused, {g[3]} accepted'}")


if __name__ == "__main__":
    main()
