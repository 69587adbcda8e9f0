#!/usr/bin/env bash
# Goal:   examples/c/run_job.c needs the public header and the shared library, nothing else, and prints
#         what the command line tool prints.
# Method: copy the header away from the tree, compile the example as strict C11 and as C++, start a
#         daemon, compare the example's rows with the tool's; check what the library exports.
# Usage:  c_example.sh SOURCE_DIR BUILD_DIR CC CXX [FLAGS]
set -euo pipefail
source_dir=$1 build=$2 cc=$3 cxx=$4 flags=${5:-}
work=$(mktemp -d)
daemon=
cleanup() {
  [ -n "$daemon" ] && kill -KILL "$daemon" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

mkdir "$work/include"
cp "$source_dir/client/include/morsel.h" "$work/include/"
echo '#include <morsel.h>
int main() { return morsel_version() == 0; }' >"$work/header.cc"
"$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$work/include" -fsyntax-only "$work/header.cc"
# shellcheck disable=SC2086
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror $flags -I"$work/include" "$source_dir/examples/c/run_job.c" \
  -L"$build/lib" -lmorsel -Wl,-rpath,"$build/lib" -o "$work/run_job"

# As installed, pkg-config knows where it is.
cmake --install "$build" --prefix "$work/usr" --component libmorsel >"$work/install.log"
export PKG_CONFIG_PATH="$work/usr/lib/pkgconfig"
# shellcheck disable=SC2046,SC2086
"$cc" -std=c11 $flags "$source_dir/examples/c/run_job.c" $(pkg-config --cflags --libs morsel) -o "$work/run_job_installed"
# shellcheck disable=SC2046,SC2086
"$cc" -std=c11 $flags "$source_dir/examples/c/run_job.c" -I"$work/usr/include" "$work/usr/lib/libmorsel.a" \
  $(pkg-config --static --libs morsel | sed 's/-lmorsel//') -o "$work/run_job_pc_static"
grep -q "^Version: $("$build/bin/morsel" version | sed -n '1s/morsel //p')$" "$work/usr/lib/pkgconfig/morsel.pc"

# The static library needs what it is made of, and nothing of this tree.
# shellcheck disable=SC2086
"$cc" -std=c11 $flags -I"$work/include" "$source_dir/examples/c/run_job.c" "$build/lib/libmorsel.a" \
  -lprotobuf-c -lnghttp2 -ljansson -lxxhash -lstdc++ -lm -o "$work/run_job_static"

readelf -d "$build/lib/libmorsel.so" | grep -q 'SONAME.*\[libmorsel\.so\.0\]'
if nm -D --defined-only "$build/lib/libmorsel.so" | awk '$2 ~ /[A-Z]/ {print $3}' | sed 's/@.*//' |
  grep -vE '^(morsel_[a-z0-9_]+|MORSEL_0)$' | grep -vE '^(_init|_fini|__.*)$' | grep .; then
  echo "libmorsel.so exports names that are not its own" >&2
  exit 1
fi
# Every function of the header is there, and no other.
diff <(grep -oE '\bmorsel_[a-z0-9_]+\(' "$source_dir/client/include/morsel.h" | tr -d '(' | sort -u |
  while read -r name; do grep -qE "MORSEL_API[^;]*\b$name\(" <(tr '\n' ' ' <"$source_dir/client/include/morsel.h") && echo "$name"; done) \
  <(nm -D --defined-only "$build/lib/libmorsel.so" | awk '$2 == "T" {print $3}' | sed 's/@.*//' | grep '^morsel_' | sort -u)

printf 'id,city,amount\n1,x,1.5\n2,y,2.5\n3,x,\n4,,7\n' >"$work/a.csv"
cat >"$work/job.json" <<'JSON'
{"plan": {"version": 1, "rels": [
  {"scan": {"files": {"paths": ["a.csv"]}}},
  {"sort": {"input": 1, "keys": [{"expr": 1, "direction": "SORT_DIRECTION_DESC_NULLS_LAST"}]}}],
 "exprs": [{"column": {"name": "id"}}]}}
JSON
"$build/bin/morseld" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --port-file "$work/ports" \
  --data-root "$work" 2>"$work/log" &
daemon=$!
for _ in $(seq 300); do
  [ -s "$work/ports" ] && break
  kill -0 "$daemon" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
  sleep 0.1
done
port=$(head -n 1 "$work/ports")
"$work/run_job" "127.0.0.1:$port" "$work/job.json" >"$work/out"
printf 'id\tcity\tamount\n4\tNULL\t7\n3\tx\tNULL\n2\ty\t2.5\n1\tx\t1.5\n' | diff "$work/out" -
LD_LIBRARY_PATH="$work/usr/lib" "$work/run_job_installed" "127.0.0.1:$port" "$work/job.json" | diff - "$work/out"
"$work/run_job_static" "127.0.0.1:$port" "$work/job.json" | diff - "$work/out"
# A job that cannot run: exit 1, the code and the sentence on stderr.
sed 's/"name": "id"/"name": "nothing"/' "$work/job.json" >"$work/bad.json"
if "$work/run_job" "127.0.0.1:$port" "$work/bad.json" >/dev/null 2>"$work/err"; then
  echo "a wrong job succeeded" >&2
  exit 1
fi
grep -q "COLUMN_NOT_FOUND: .*'nothing'" "$work/err"
kill -TERM "$daemon"
wait "$daemon"
daemon=
