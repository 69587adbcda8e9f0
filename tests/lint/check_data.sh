#!/usr/bin/env bash
# Goal:   the data in the repo is what data/*/README.md says, and at most 8 MB in all.
# Method: decompress each file and compare its checksum and row count with the README's table.
set -euo pipefail
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
status=0
while IFS='|' read -r _ file rows sum _; do
  file=$(echo "$file" | tr -d ' ') rows=$(echo "$rows" | tr -d ' ,') sum=$(echo "$sum" | tr -d ' ')
  path=data/nycflights13/$file
  got=$(zstd -dcq "$path" | sha256sum | cut -d' ' -f1)
  lines=$(zstd -dcq "$path" | wc -l)
  [ "$got" = "$sum" ] || { echo "$path: checksum $got, the README says $sum"; status=1; }
  [ $((lines - 1)) -eq "$rows" ] || { echo "$path: $((lines - 1)) rows, the README says $rows"; status=1; }
done < <(grep -E '^\| [a-z]+\.csv\.zst' data/nycflights13/README.md)
bytes=$(cat data/nycflights13/*.zst | wc -c)
[ "$bytes" -le 8000000 ] || { echo "data/ holds $bytes bytes, more than 8 MB"; status=1; }
exit $status
