#!/usr/bin/env bash
# morseld beside DuckDB, ClickHouse, Polars and DataFusion, in one run (tests/bench/compare/README.md).
#   scripts/compare.sh                     every suite: groupby join micro tpch
#   scripts/compare.sh groupby --rows 1e6  one suite, smaller
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh

packages_ensure "${packages_build[@]}" python3-venv
venv=build/compare-venv
if ! cmp -s tests/bench/compare/requirements.txt "$venv/requirements.txt" 2>/dev/null; then
  say "Installing the peers into $venv" >&2
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv" || fail "python3 -m venv failed"
  "$venv/bin/pip" install -q --disable-pip-version-check -r tests/bench/compare/requirements.txt ||
    fail "pip could not install tests/bench/compare/requirements.txt"
  cp tests/bench/compare/requirements.txt "$venv/requirements.txt"
fi
build_preset release >&2
PYTHON=$venv/bin/python bash tests/e2e/make_stubs.sh "$PWD" "$PWD/build/release" >&2
exec "$venv/bin/python" tests/bench/compare "$@"
