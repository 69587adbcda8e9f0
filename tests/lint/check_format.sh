#!/usr/bin/env bash
# Goal:   all C and C++ is formatted as .clang-format says.
# Method: clang-format 14 (the version the file is written for) in dry-run mode over tracked files.
set -euo pipefail
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
git ls-files -z '*.c' '*.h' '*.cc' | xargs -0 clang-format-14 --dry-run -Werror
