#!/usr/bin/env bash
# Python stubs of our .proto files, made by the stock generator, into the build tree.
# Usage: make_stubs.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
python=${PYTHON:-$1/build/venv/bin/python} # the test venv unless PYTHON names another
[ -x "$python" ] || { echo "no test venv: run scripts/test.sh once"; exit 1; }
mkdir -p "$2/stubs"
"$python" -m grpc_tools.protoc -I"$1/proto" --python_out="$2/stubs" --grpc_python_out="$2/stubs" \
  morsel/v1/types.proto morsel/v1/plan.proto morsel/v1/job_service.proto
