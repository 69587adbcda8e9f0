#!/usr/bin/env bash
# Goal:   the .proto files keep buf's STANDARD rules.
# Method: buf lint by npm (@bufbuild/buf), first proving that it finds a fault; exit 77 (skipped)
#         where there is no npm or no package to be had.
# Usage:  buf_lint.sh PROTO_DIR
set -u
dir=$1
skip() { echo "SKIPPED: buf lint: $1"; exit 77; }

command -v npx >/dev/null || skip "npx is not installed"
buf() { timeout 100 npx --yes @bufbuild/buf@1 "$@"; }
buf --version >/dev/null 2>&1 || skip "npm cannot provide @bufbuild/buf"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp -r "$dir/buf.yaml" "$dir/morsel" "$dir/google" "$dir/grpc" "$scratch/"
sed -i 's/string label = 1;/string Label = 1;/' "$scratch/morsel/v1/plan.proto"
if (cd "$scratch" && buf lint) >/dev/null 2>&1; then
  echo "buf lint does not notice a field in capitals"
  exit 1
fi
cd "$dir" && buf lint && echo "buf lint: clean"
