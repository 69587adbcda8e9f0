#!/usr/bin/env bash
# Goal:   the libraries the project is built on are linked and really called.
# Method: NEEDED entries and undefined symbols of the built programs.
# Usage:  check_libraries.sh BUILD_DIR
set -euo pipefail
build=$1
status=0
need() { # program, library, symbol prefix
  local program=$build/bin/$1
  [ -x "$program" ] || program=$build/tests/$1
  readelf -d "$program" | grep -q "NEEDED.*\[$2" || { echo "$1 is not linked with $2"; status=1; }
  [ "$(nm -D --undefined-only "$program" | grep -cE " $3")" -gt 0 ] || { echo "$1 calls nothing of $2"; status=1; }
}
need morseld libuv 'uv_'
need morseld liburing 'io_uring_'
need morseld libnuma '(numa_|mbind|move_pages|set_mempolicy|get_mempolicy)'
need morseld libprotobuf-c 'protobuf_c_'
need morseld libxxhash 'XXH'
need morseld libnghttp2 'nghttp2_'
need morseld libmicrohttpd 'MHD_'
need morsel libnghttp2 'nghttp2_'
need morsel libprotobuf-c 'protobuf_c_'
test_program=$(find "$build" -maxdepth 3 -name 'test_budget' -type f -perm -u+x | head -n 1)
[ -n "$test_program" ] || { echo "no unit test program found in $build"; exit 1; }
readelf -d "$test_program" | grep -q 'NEEDED.*\[libcriterion' || { echo "unit tests are not linked with Criterion"; status=1; }
exit $status
