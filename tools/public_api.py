#!/usr/bin/env python3
"""Lists the public interface of the library, one line for each item, from rustdoc's JSON.

    tools/public_api.py            compares docs/api.txt with the code
    tools/public_api.py --write    writes docs/api.txt

A line that is gone or changed breaks programs of users: the changelog must say so. Auto traits and blanket impls are left out. What
nearly every type implements is one line for each type (`gardenia::Bloom: Clone Debug PartialEq`).
rustdoc's JSON is unstable; RUSTC_BOOTSTRAP=1 lets the stable compiler print it.
"""

import difflib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "docs" / "api.txt"
SOURCES = ROOT / "crates" / "gardenia" / "src"
# A reader of the crate's page sees this many names of types, traits and errors at most: what fewer need is in a module.
MOST_IN_ROOT = 60
# Implemented by nearly every type: a line for each would bury the rest, so that a type names them all in one.
QUIET = {"Clone", "Copy", "Debug", "Display", "Eq", "PartialEq", "Hash", "Ord", "PartialOrd", "StructuralPartialEq", "Error"}


def documented():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "api"
    command = ["cargo", "rustdoc", "-q", "--locked", "-p", "gardenia", "--all-features", "--target-dir", target, "--"]
    command += ["-Z", "unstable-options", "--output-format", "json", "--cap-lints", "allow"]
    subprocess.run(command, cwd=ROOT, check=True, env=os.environ | {"RUSTC_BOOTSTRAP": "1"})
    return json.loads((target / "doc" / "gardenia.json").read_text())


class Printer:
    def __init__(self, crate):
        self.index = crate["index"]
        self.paths = crate["paths"]
        self.lines = set()
        self.seen = set()
        self.homes = {}

    def item(self, number):
        return self.index.get(str(number))

    # Types, as they are written in code.

    def type(self, value):
        (kind, inner), = value.items() if isinstance(value, dict) else ((value, None),)
        match kind:
            case "primitive" | "generic":
                return inner
            case "resolved_path":
                return inner["path"].split("::")[-1] + self.arguments(inner["args"])
            case "borrowed_ref":
                life = inner["lifetime"] + " " if inner["lifetime"] else ""
                return "&" + life + ("mut " if inner["is_mutable"] else "") + self.type(inner["type"])
            case "raw_pointer":
                return ("*mut " if inner["is_mutable"] else "*const ") + self.type(inner["type"])
            case "slice":
                return f"[{self.type(inner)}]"
            case "array":
                return f"[{self.type(inner['type'])}; {inner['len']}]"
            case "tuple":
                return "(" + ", ".join(map(self.type, inner)) + ")"
            case "impl_trait":
                return "impl " + self.bounds(inner)
            case "dyn_trait":
                traits = [bound["trait"]["path"].split("::")[-1] + self.arguments(bound["trait"]["args"]) for bound in inner["traits"]]
                return "dyn " + " + ".join(traits + ([inner["lifetime"]] if inner["lifetime"] else []))
            case "qualified_path":
                of = inner["trait"]["path"].split("::")[-1] if inner["trait"] else None
                own = self.type(inner["self_type"])
                return (f"<{own} as {of}>" if of else own) + "::" + inner["name"]
            case "function_pointer":
                return "fn" + self.signature(inner["sig"])
        return kind

    def arguments(self, arguments):
        if not arguments:
            return ""
        if "parenthesized" in arguments:
            given = arguments["parenthesized"]
            out = f" -> {self.type(given['output'])}" if given["output"] else ""
            return "(" + ", ".join(map(self.type, given["inputs"])) + ")" + out
        if "angle_bracketed" not in arguments:
            return ""
        given = arguments["angle_bracketed"]
        parts = []
        for argument in given["args"]:
            (kind, inner), = argument.items() if isinstance(argument, dict) else ((argument, None),)
            parts.append(self.type(inner) if kind == "type" else inner["expr"] if kind == "const" else inner or "_")
        for constraint in given["constraints"]:
            binding = constraint["binding"]
            bound = self.type(binding["equality"]["type"]) if "type" in binding.get("equality", {}) else "…"
            parts.append(f"{constraint['name']} = {bound}")
        return f"<{', '.join(parts)}>" if parts else ""

    def bounds(self, bounds):
        parts = []
        for bound in bounds:
            if "trait_bound" in bound:
                trait = bound["trait_bound"]["trait"]
                mark = "?" if bound["trait_bound"]["modifier"] == "maybe" else ""
                parts.append(mark + trait["path"].split("::")[-1] + self.arguments(trait["args"]))
            elif "outlives" in bound:
                parts.append(bound["outlives"])
        return " + ".join(parts)

    def generics(self, generics):
        parts = []
        for parameter in generics["params"]:
            kind = parameter["kind"]
            if "type" in kind and not kind["type"]["is_synthetic"]:
                bounds = self.bounds(kind["type"]["bounds"])
                default = f" = {self.type(kind['type']['default'])}" if kind["type"]["default"] else ""
                parts.append(parameter["name"] + (f": {bounds}" if bounds else "") + default)
            elif "lifetime" in kind:
                parts.append(parameter["name"])
            elif "const" in kind:
                parts.append(f"const {parameter['name']}: {self.type(kind['const']['type'])}")
        return f"<{', '.join(parts)}>" if parts else ""

    def where(self, generics):
        parts = []
        for predicate in generics["where_predicates"]:
            if "bound_predicate" in predicate:
                bound = predicate["bound_predicate"]
                parts.append(f"{self.type(bound['type'])}: {self.bounds(bound['bounds'])}")
        return f" where {', '.join(parts)}" if parts else ""

    def signature(self, sig):
        inputs = []
        for name, given in sig["inputs"]:
            inputs.append(self.type(given).replace("Self", "self") if name == "self" else f"{name}: {self.type(given)}")
        out = f" -> {self.type(sig['output'])}" if sig["output"] else ""
        return f"({', '.join(inputs)}){out}"

    def function(self, item):
        inner = item["inner"]["function"]
        header = inner["header"]
        words = "".join(word + " " for word, has in [("const", header["is_const"]), ("unsafe", header["is_unsafe"])] if has)
        return f"{words}fn {item['name']}{self.generics(inner['generics'])}{self.signature(inner['sig'])}{self.where(inner['generics'])}"

    # Items.

    def module(self, path, number):
        if (path, number) in self.seen:
            return
        self.seen.add((path, number))
        # What is in the root is listed there, and elsewhere only named.
        is_module = lambda child: "module" in self.item(child)["inner"]
        for child in sorted(self.item(number)["inner"]["module"]["items"], key=is_module):
            self.public(path, child)

    def public(self, path, number, name=None):
        item = self.item(number)
        if item is None or hidden(item) or item["visibility"] not in ("public", "default"):
            return
        (kind, inner), = item["inner"].items()
        if kind == "use":
            if inner["id"] is None or self.item(inner["id"]) is None:
                self.lines.add(f"{path}::{inner['name']} = {inner['source']}")
            elif inner["is_glob"]:
                self.module(path, inner["id"])
            else:
                self.public(path, inner["id"], inner["name"])
            return
        full = f"{path}::{name or item['name']}"
        if self.homes.setdefault(number, full) != full:
            self.lines.add(f"use {full} = {self.homes[number]}")
            return
        match kind:
            case "module":
                self.lines.add(f"mod {full}")
                self.module(full, number)
            case "function":
                self.lines.add(self.function(item).replace(f"fn {item['name']}", f"fn {full}", 1))
            case "struct":
                self.lines.add(f"struct {full}{self.generics(inner['generics'])}{attributes(item)}")
                shape = inner["kind"]
                fields = shape["plain"]["fields"] if "plain" in shape else shape.get("tuple", []) if isinstance(shape, dict) else []
                self.fields(full, fields)
                self.implementations(full, inner["impls"])
            case "enum":
                self.lines.add(f"enum {full}{self.generics(inner['generics'])}{attributes(item)}")
                for variant in inner["variants"]:
                    self.variant(full, self.item(variant))
                self.implementations(full, inner["impls"])
            case "trait":
                bounds = self.bounds(inner["bounds"])
                self.lines.add(f"trait {full}{self.generics(inner['generics'])}" + (f": {bounds}" if bounds else ""))
                self.members(full, inner["items"])
            case "type_alias":
                self.lines.add(f"type {full}{self.generics(inner['generics'])} = {self.type(inner['type'])}")
            case "constant":
                self.lines.add(f"const {full}: {self.type(inner['type'])}")
            case _:
                self.lines.add(f"{kind} {full}")

    def fields(self, path, numbers):
        for number in numbers:
            field = self.item(number) if number is not None else None
            if field and field["visibility"] in ("public", "default") and not hidden(field):
                self.lines.add(f"{path}.{field['name']}: {self.type(field['inner']['struct_field'])}")

    def variant(self, path, item):
        if item is None or hidden(item):
            return
        kind = item["inner"]["variant"]["kind"]
        full = f"{path}::{item['name']}"
        self.lines.add(f"variant {full}")
        if isinstance(kind, dict):
            self.fields(full, kind["struct"]["fields"] if "struct" in kind else kind["tuple"])

    def implementations(self, path, numbers):
        """The impls of one of our types."""
        quiet = set()
        for number in numbers:
            item = self.implementation(number)
            if item is None:
                continue
            inner = item["inner"]["impl"]
            own = self.type(inner["for"])
            name = inner["trait"] and inner["trait"]["path"].split("::")[-1]
            if name is None:
                self.members(path if own == path.split("::")[-1] else f"{path} as {own}", inner["items"])
            elif name in QUIET and "resolved_path" in inner["for"]:
                quiet.add(name)
            else:
                self.lines.add(self.header(inner, f"{path} as {own}"))
        quiet.discard("StructuralPartialEq")  # the compiler's own
        if quiet:
            self.lines.add(f"{path}: {' '.join(sorted(quiet))}")

    def foreign(self):
        """The impls for types of others: of the standard library, references, tuples, `dyn` … To be called last."""
        for item in filter(None, map(self.implementation, self.index)):
            inner = item["inner"]["impl"]
            (kind, of), = inner["for"].items() if isinstance(inner["for"], dict) else ((inner["for"], None),)
            if inner["trait"] is None or kind == "resolved_path" and self.is_local(of["id"]):
                continue
            trait = inner["trait"]["id"]
            if trait in self.homes or not self.is_local(trait):
                self.lines.add(self.header(inner, self.type(inner["for"]), self.homes.get(trait)))

    def dynamic(self):
        """The methods of our `dyn Trait`s, as they stand in the code: rustdoc's JSON leaves them out."""
        for file in sorted(SOURCES.glob("**/*.rs")):
            for name, body in re.findall(r"^impl dyn (\w+)[^{]*\{\n(.*?)^\}", file.read_text(), re.M | re.S):
                for signature in re.findall(r"^    pub (fn .*?) \{$", body, re.M | re.S):
                    self.lines.add(f"dyn {name}: {' '.join(signature.split())}")

    def implementation(self, number):
        item = self.item(number)
        inner = item["inner"].get("impl") if item else None
        return None if inner is None or inner["is_synthetic"] or inner["blanket_impl"] or hidden(item) else item

    def is_local(self, number):
        """Whether an item is of this crate; what is in none is hidden in this one."""
        return self.paths.get(str(number), {"crate_id": 0})["crate_id"] == 0

    def header(self, inner, own, path=None):
        trait = (path or inner["trait"]["path"].split("::")[-1]) + self.arguments(inner["trait"]["args"])
        return f"impl{self.generics(inner['generics'])} {trait} for {own}{self.where(inner['generics'])}"

    def members(self, path, numbers):
        for number in numbers:
            item = self.item(number)
            if item is None or hidden(item) or item["visibility"] not in ("public", "default"):
                continue
            (kind, inner), = item["inner"].items()
            if kind == "function":
                self.lines.add(f"{path}: {self.function(item)}")
            elif kind == "assoc_const":
                self.lines.add(f"{path}: const {item['name']}: {self.type(inner['type'])}")
            elif kind == "assoc_type":
                self.lines.add(f"{path}: type {item['name']}")


def hidden(item):
    return any("doc(hidden)" in str(attribute) or "Hidden" in str(attribute) for attribute in item["attrs"])


def attributes(item):
    return " (non-exhaustive)" if any("non_exhaustive" in str(attribute) for attribute in item["attrs"]) else ""


def main():
    crate = documented()
    printer = Printer(crate)
    printer.module("gardenia", crate["root"])
    printer.foreign()
    printer.dynamic()
    root = [name for name in printer.homes.values() if name.count("::") == 1 and name.split("::")[1][0].isupper()]
    if len(root) > MOST_IN_ROOT:
        sys.exit(f"The crate root has {len(root)} names, and {MOST_IN_ROOT} are allowed: move one into its module.")
    found = sorted(printer.lines)
    if "--write" in sys.argv:
        LIST.write_text("\n".join(found) + "\n")
        return
    known = LIST.read_text().splitlines()
    if known != found:
        print("\n".join(difflib.unified_diff(known, found, "docs/api.txt", "the code", n=0, lineterm="")))
        sys.exit("The public interface differs. If that is meant: tools/public_api.py --write, and a line in the changelog.")
    print(f"{len(found)} lines of the public interface are as listed, with {len(root)} names in the crate root")


if __name__ == "__main__":
    main()
