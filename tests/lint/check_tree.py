#!/usr/bin/env python3
"""Goal:   the tree keeps the habits that a compiler does not check.
Method: read every tracked file; print one line a fault as file:line: what; exit 1 if any.
Usage:  check_tree.py RULE, with RULE one of the functions below without `rule_`."""
import pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACKED = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
FILES = [ROOT / name for name in TRACKED if name and (ROOT / name).is_file()]
C_FILES = [f for f in FILES if f.suffix in (".c", ".h", ".cc", ".def")]
ROOMS = ("numa", "exec", "proto", "server", "client")

# header (as included) -> the only files or folders that may include it
ONLY_IN = {
    r"uv\.h": ("server/", "client/", "tests/server/", "tests/bench/wire/"),
    r"liburing\.h": ("exec/io/io_uring.c",),
    r"numa(if)?\.h": ("numa/",),
    r"nghttp2/.*": ("server/", "client/", "tests/server/", "tests/client/", "tests/fuzz/", "tests/bench/wire/"),
    r"microhttpd\.h": ("server/",),
    r"protobuf-c/.*": ("proto/", "server/", "client/", "tests/"),
    r".*\.pb-c\.h": ("proto/", "server/", "client/", "tests/"),
    r"flatbuffers/.*": ("proto/arrow_flatbuffers.cc",),
    r"jansson\.h": ("proto/", "client/", "tests/"),
    r"pg_query\.h": ("client/sql/sqlparse_main.c",),
    r"pcre2\.h": ("exec/expr/regex.c",),
    r"utf8proc\.h": ("exec/expr/char_case.c",),
}


def lines(path):
    return enumerate(path.read_text(errors="replace").split("\n"), 1)


def rule_includes():
    for path in C_FILES:
        name = str(path.relative_to(ROOT))
        for number, line in lines(path):
            match = re.match(r'\s*#\s*include\s+[<"]([^>"]+)[>"]', line)
            if not match:
                continue
            header = match.group(1)
            if ".." in header.split("/"):
                yield f"{name}:{number}: {header} climbs out of its room"
            for pattern, allowed in ONLY_IN.items():
                if re.fullmatch(pattern, header) and not name.startswith(allowed):
                    yield f"{name}:{number}: {header} may be included in {', '.join(allowed)} only"


def rule_unique_names():
    seen = {}
    for path in C_FILES:
        if path.suffix == ".def":
            continue
        if path.name in seen:
            yield f"{path.relative_to(ROOT)}: the name is taken by {seen[path.name].relative_to(ROOT)}"
        seen[path.name] = path


def rule_whitespace():
    for path in FILES:
        if path.suffix in (".c", ".h", ".cc", ".def", ".py", ".sh", ".cmake", ".proto", ".md", ".service", ".conf", ".txt"):
            for number, line in lines(path):
                if line != line.rstrip():
                    yield f"{path.relative_to(ROOT)}:{number}: trailing space"
                if "\t" in line:
                    yield f"{path.relative_to(ROOT)}:{number}: tab"


def rule_readmes():
    """Every room and folder of the engine has a README, and READMEs name files that exist."""
    names = {path.name for path in FILES}
    for folder in list(ROOMS) + [f"exec/{p.name}" for p in (ROOT / "exec").iterdir() if p.is_dir() and p.name != "include" and any(p.glob("*.c"))]:
        if not (ROOT / folder / "README.md").is_file():
            yield f"{folder}: no README.md"
    for path in FILES:
        if path.suffix != ".md":
            continue
        for number, line in lines(path):
            for word in re.findall(r"`([A-Za-z0-9_.*/-]+\.(?:c|h|cc|def|py|sh|proto|md|json|sql|service|socket|cmake|fbs|conf))`", line):
                if "*" in word:
                    continue
                here = path.parent / word
                if not (here.exists() or (ROOT / word).exists() or ("/" not in word and word in names)
                        or any(str(f).endswith("/" + word) for f in FILES)):
                    yield f"{path.relative_to(ROOT)}:{number}: names {word}, which does not exist"


def rule_words():
    """No leftovers, and the repo speaks of the project only."""
    left = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    for path in C_FILES + [f for f in FILES if f.suffix in (".py", ".sh")]:
        if path.name == pathlib.Path(__file__).name:
            continue
        for number, line in lines(path):
            if left.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {left.search(line).group(1)} left in the code"


def rule_long_files():
    for path in C_FILES:
        count = path.read_text(errors="replace").count("\n")
        if count > 800:
            yield f"{path.relative_to(ROOT)}: {count} lines; look for the second concept"


def rule_metrics():
    """Every metric and counter of the .def lists is named in server/README.md."""
    readme = (ROOT / "server/README.md").read_text() if (ROOT / "server/README.md").exists() else ""
    for path in FILES:
        if not path.name.endswith("counters.def") and path.name != "metrics.def":
            continue
        for number, line in lines(path):
            match = re.match(r"\s*[A-Z_]+\((\w+),", line)
            if match and match.group(1) not in readme:
                yield f"{path.relative_to(ROOT)}:{number}: {match.group(1)} is not in server/README.md"


def main():
    faults = list(globals()["rule_" + sys.argv[1]]())
    print("\n".join(faults) if faults else f"{sys.argv[1]}: {len(FILES)} files, no fault")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
