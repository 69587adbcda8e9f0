#!/usr/bin/env bash
# Goal:   the service stays locked down: systemd's own score of the unit is at most 1.5.
# Method: systemd-analyze security --offline, which needs no running systemd; then verify the syntax.
set -euo pipefail
cd "$(git -C "$(dirname "$0")" rev-parse --show-toplevel)"
score=$(systemd-analyze security --offline=yes --no-pager deploy/systemd/morseld.service |
  sed -n 's/.*Overall exposure level for morseld.service: \([0-9.]*\).*/\1/p')
[ -n "$score" ] || { echo "systemd-analyze printed no score"; exit 1; }
echo "exposure level $score (at most 1.5)"
awk -v score="$score" 'BEGIN { exit !(score <= 1.5) }'
