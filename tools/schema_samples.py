#!/usr/bin/env python3
"""Samples outputs under JSON Schemas and validates each with the Python package jsonschema.

    tools/schema_samples.py [--tally build/release/tally] [--outputs 1000] [--temperature 1] [MODEL …]

Each model (default: the bundled one) writes its share of the outputs, the schemas below in turn, through
`tally run --jsonl`. An output that the token budget cut off is counted apart: it is no complete JSON and proves nothing.
Exit status 1 when an output is invalid, 2 when jsonschema is not installed.
"""
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NAME = {"type": "string", "minLength": 1, "maxLength": 12}


def record(properties, required=None, **more):
    return {"type": "object", "properties": properties, "required": list(properties) if required is None else required,
            "additionalProperties": False, **more}


SCHEMAS = [
    record({"city": NAME, "celsius": {"type": "number", "minimum": -90, "maximum": 60, "multipleOf": 0.5}}),
    record({"unit": {"enum": ["celsius", "fahrenheit"]}, "days": {"type": "integer", "minimum": 1, "maximum": 14}}),
    record({"a": {"type": "boolean"}, "b": {"type": ["integer", "null"], "minimum": -5, "maximum": 105}}, []),
    {"type": "array", "items": {"enum": ["red", "green", "blue", 1, None]}, "minItems": 1, "maxItems": 5},
    {"type": "array", "items": {"enum": ["a", "b", "c", "d"]}, "uniqueItems": True, "minItems": 2},
    {"type": "array", "prefixItems": [NAME, {"type": "boolean"}], "items": {"const": 0}, "minItems": 2, "maxItems": 4},
    {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 20}, "contains": {"minimum": 10},
     "minContains": 1, "maxContains": 2, "maxItems": 5},
    {"type": "string", "pattern": "^[A-Z]{2}-\\d{3,5}$"},
    {"type": "string", "pattern": "^(?!con$)[a-z]{3,8}$"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time", "maxLength": 25},
    {"type": "string", "format": "uuid"},
    {"type": "string", "format": "ipv4"},
    {"anyOf": [record({"kind": {"const": "circle"}, "r": {"type": "integer", "minimum": 1, "maximum": 99}}),
               record({"kind": {"const": "text"}, "value": NAME})]},
    {"oneOf": [{"type": "integer", "maximum": 50, "minimum": 0}, {"type": "integer", "minimum": 40, "maximum": 99}]},
    {"allOf": [{"properties": {"id": {"type": "integer", "minimum": 1, "maximum": 999}}, "required": ["id"]},
               {"properties": {"name": NAME}, "required": ["name"]}], "type": "object", "unevaluatedProperties": False},
    record({"country": {"enum": ["US", "DE"]}, "zip": {"type": "string", "maxLength": 9}},
           **{"if": {"properties": {"country": {"const": "US"}}}, "then": {"properties": {"zip": {"pattern": "^\\d{5}$"}}},
              "else": {"properties": {"zip": {"pattern": "^[A-Z]-\\d{3}$"}}}}),
    {"type": "object", "patternProperties": {"^x-[a-z]{1,4}$": {"type": "boolean"}}, "additionalProperties": False,
     "minProperties": 1, "maxProperties": 3},
    record({"card": {"type": "integer", "minimum": 0, "maximum": 9}, "billing": NAME}, [],
           dependentRequired={"card": ["billing"]}),
    {"$defs": {"t": record({"n": {"type": "integer", "minimum": 0, "maximum": 9},
                            "kids": {"type": "array", "items": {"$ref": "#/$defs/t"}, "maxItems": 1}})},
     "$ref": "#/$defs/t"},
    {"type": "integer", "not": {"enum": [0, 1, 2]}, "minimum": 0, "maximum": 30},
]


def sample(tally, model, n, first_seed, temperature):
    lines = [json.dumps({"id": i, "prompt": "An example in JSON: ", "n_predict": 300, "temperature": temperature,
                         "seed": first_seed + i, "json_schema": SCHEMAS[i % len(SCHEMAS)]}) for i in range(n)]
    done = subprocess.run([tally, "run", model, "--jsonl"], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"tally run {model} failed: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", default=[os.path.join(ROOT, "models", "tally-tiny.gguf")])
    parser.add_argument("--tally", default=os.path.join(ROOT, "build", "release", "tally"))
    parser.add_argument("--outputs", type=int, default=1000)
    parser.add_argument("--temperature", type=float, default=1)
    args = parser.parse_args()
    try:
        import jsonschema
    except ImportError:
        print("skipped: the Python package jsonschema is not installed (pip install jsonschema)", file=sys.stderr)
        sys.exit(2)
    validators = [jsonschema.Draft202012Validator(s, format_checker=jsonschema.FormatChecker()) for s in SCHEMAS]
    invalid = 0
    for k, model in enumerate(args.models):
        n = args.outputs // len(args.models) + (k < args.outputs % len(args.models))
        counts = {"valid": 0, "invalid": 0, "cut off": 0}
        for reply in sample(args.tally, model, n, 1000 * k + 1, args.temperature):
            if "error" in reply:
                sys.exit(f"request {reply['id']}: {reply['error']}")
            if reply["finish_reason"] == "length":
                counts["cut off"] += 1
                continue
            try:
                error = next(validators[reply["id"] % len(SCHEMAS)].iter_errors(json.loads(reply["text"])), None)
            except ValueError as e:
                error = e
            counts["invalid" if error else "valid"] += 1
            if error:
                print(f"schema {reply['id'] % len(SCHEMAS)}: {reply['text']!r}: {str(error).splitlines()[0]}")
        invalid += counts["invalid"]
        print(f"{os.path.basename(model)}: " + ", ".join(f"{v} {name}" for name, v in counts.items()))
    sys.exit(1 if invalid else 0)


if __name__ == "__main__":
    main()
