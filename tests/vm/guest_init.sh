#!/bin/busybox sh
# The guest's init: what run_guest.sh has packed is run on the CPUs of /affinity; the last line on the
# console says how it went.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /tmp
ifconfig lo 127.0.0.1 up
mask=$(cat /affinity)
bad=0

check() { # WHAT COMMAND...
  local what=$1
  shift
  if "$@"; then echo "ok   $what"; else echo "FAIL $what"; bad=1; fi
}

echo "--- the engine, on CPUs $mask"
check "placement" taskset "$mask" /bin/vm_placement /data/facts.csv

echo "--- the daemon, on CPUs $mask"
taskset "$mask" /bin/morseld --data-root /data --pool-reserve 256M --port-file /tmp/ports >/tmp/morseld.log 2>&1 &
pid=$!
export MORSEL_SERVER=127.0.0.1:7432
tries=0
until morsel ping >/dev/null 2>&1 || [ $tries -ge 300 ]; do sleep 0.1; tries=$((tries + 1)); done
grep topology: /tmp/morseld.log
check "load" morsel load -q facts facts.csv
check "load" morsel load -q names names.csv
check "join of tables" sh -c "morsel sql 'SELECT count(*) n, sum(v) s, sum(w) t FROM facts JOIN names USING (key)' -o csv >/tmp/join.csv"
for mode in shared replicated routed; do
  check "join, $mode" sh -c "morsel sql 'SELECT count(*) n, sum(v) s, sum(w) t FROM facts JOIN names USING (key)' --set probe_mode=$mode -o csv | cmp - /data/join.expected"
done
check "aggregate of a file" sh -c "morsel group -q server:facts.csv --by key --agg 'n = count(), s = sum(v)' --order key -o csv >/tmp/group.csv"
check "the join is right" cmp /tmp/join.csv /data/join.expected
check "the aggregate is right" cmp /tmp/group.csv /data/group.expected
wget -q -O /tmp/metrics http://127.0.0.1:7433/metrics
check "metrics and kernel agree" /bin/vm_readback $pid /tmp/metrics
kill -TERM $pid
check "the daemon ends" wait $pid
[ $bad -eq 0 ] && echo "guest: all good" || { cat /tmp/morseld.log; echo "guest: FAILED"; }
reboot -f
