#!/usr/bin/env bash
# Installs, builds and runs every test: units, lint, fuzz replays and end-to-end in the release preset,
# then all but lint under ASan+UBSan (a debug build) and under TSan.
#   scripts/test.sh            everything
#   scripts/test.sh release    one preset (release, asan, tsan, dev)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh

packages_ensure "${packages_build[@]}" "${packages_test[@]}"
packages_unpack_kernel build/kernel

# Stock gRPC and Arrow clients and SQL oracles, in a venv of the build tree.
venv=build/venv
if ! cmp -s tests/requirements.txt "$venv/requirements.txt" 2>/dev/null; then
  say "Installing the Python test clients into $venv"
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv" || fail "python3 -m venv failed"
  "$venv/bin/pip" install -q --disable-pip-version-check -r tests/requirements.txt ||
    fail "pip could not install tests/requirements.txt"
  cp tests/requirements.txt "$venv/requirements.txt"
fi

presets=("${@:-release asan tsan}")
read -r -a presets <<<"${presets[*]}"
passed=0 failed=0 skipped=0
for preset in "${presets[@]}"; do
  build_preset "$preset"
  say "Testing the $preset preset"
  log="build/$preset.test.log"
  ctest --preset "$preset" --no-tests=error --output-junit "$PWD/build/$preset.junit.xml" 2>&1 | tee "$log" |
    grep -vE '^ *Start +[0-9]+:' || true
  grep -q 'tests passed' "$log" || fail "ctest did not run to its end (log: $log)"
  counts=$(python3 - "build/$preset.junit.xml" <<'PY'
import sys, xml.etree.ElementTree as et
cases = list(et.parse(sys.argv[1]).getroot().iter("testcase"))
bad = [c for c in cases if c.get("status") == "fail"]
skip = [c for c in cases if c.get("status") in ("notrun", "disabled")]
for c in skip:
    out = (c.findtext("system-out") or "").strip().splitlines()
    print(f"skipped {c.get('name')}: {out[-1] if out else 'no reason given'}", file=sys.stderr)
print(len(cases) - len(bad) - len(skip), len(bad), len(skip))
PY
)
  read -r p f s <<<"$counts"
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
