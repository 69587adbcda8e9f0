#!/usr/bin/env bash
# From nothing to an answer: installs what is missing, builds morseld, starts it on loopback, runs the
# main job over TCP, shows what was stolen and what was local, and stops the daemon again.
set -euo pipefail
case "${1:-}" in
  "") ;;
  --help | -h)
    echo "usage: scripts/quickstart.sh"
    echo "Installs missing packages (apt), builds morseld, runs the main job over TCP on loopback, shows"
    echo "which worker did what, and stops the daemon again. Nothing stays running."
    exit 0 ;;
  *) echo "quickstart: unknown argument '$1' (see --help)" >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/packages.sh

packages_ensure "${packages_build[@]}"
build_preset release

bin=build/release/bin
work=$(mktemp -d)
daemon=
# wait takes the end of the daemon without a word of the shell's about it.
cleanup() {
  if [ -n "$daemon" ]; then
    kill -KILL "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap cleanup EXIT

# Port 0: any free one, so another program on 7432 is not in the way.
say "Starting morseld on loopback"
"$bin/morseld" --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --port-file "$work/ports" \
  --data-root "$PWD" 2>"$work/log" &
daemon=$!
for _ in $(seq 100); do
  [ -s "$work/ports" ] && break
  kill -0 "$daemon" 2>/dev/null || { cat "$work/log" >&2; daemon=; fail "morseld did not start"; }
  sleep 0.1
done
[ -s "$work/ports" ] || { cat "$work/log" >&2; fail "morseld did not say its port within 10 s"; }
{ read -r grpc_port; read -r admin_port; } <"$work/ports"
echo "morseld serves gRPC on 127.0.0.1:$grpc_port and metrics on 127.0.0.1:$admin_port"

say "Main job: 336,776 flights joined with airlines and airports, grouped by carrier"
"$bin/morsel" run examples/main_job.json --server "127.0.0.1:$grpc_port" -o table ||
  fail "the main job failed (exit code $?)"

say "Who did the work (from /metrics)"
curl -fsS "http://127.0.0.1:$admin_port/metrics" >"$work/metrics" || fail "no metrics on port $admin_port"
grep -E '^morsel_worker_(morsels|rows|steals)' "$work/metrics" || fail "the metrics page has no worker counters"

say "Draining the daemon"
kill -TERM "$daemon"
status=0
wait "$daemon" || status=$?
daemon=
[ "$status" -eq 0 ] || { tail -n 5 "$work/log" >&2; fail "morseld ended with status $status"; }
echo "morseld drained and exited cleanly"
