#!/usr/bin/env bash
# Goal:   placement is right on a machine with nodes. Method: boots the Debian kernel of KERNEL_DIR in
#         QEMU's software emulation with NODES nodes at different distances, some CPUs taken away by
#         affinity; guest_init.sh runs vm_placement and a daemon inside; the verdict is on the console.
# Usage:  run_guest.sh BUILD_DIR KERNEL_DIR 2|4
set -euo pipefail
build=$1 kernels=$2 nodes=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

kernel=$(find "$kernels" -name 'vmlinuz-*-cloud-amd64' 2>/dev/null | sort -V | tail -n 1)
[ -n "$kernel" ] || { echo "no kernel below $kernels: scripts/test.sh unpacks one"; exit 1; }

# Two CPUs a node. With 2 nodes one CPU of the second is taken away; with 4, one of the first and
# both of the second, so that nodes are numbered differently inside and a node has one worker.
case $nodes in
  2) cpus=4 mask=0x7 distances="0,1,21" ;;
  4) cpus=8 mask=0xf2 distances="0,1,16 0,2,22 0,3,30 1,2,30 1,3,22 2,3,16" ;;
  *) echo "2 or 4 nodes"; exit 2 ;;
esac
machine=(-smp "$cpus,sockets=$nodes,cores=2,threads=1" -m $((nodes * 384)))
for ((n = 0; n < nodes; n++)); do
  machine+=(-object "memory-backend-ram,id=m$n,size=384M" -numa "node,nodeid=$n,memdev=m$n,cpus=$((2 * n))-$((2 * n + 1))")
done
for d in $distances; do
  IFS=, read -r a b far <<<"$d"
  machine+=(-numa "dist,src=$a,dst=$b,val=$far")
done

# ---- initramfs: busybox, our programs with their libraries, data and what the answers must be
root=$work/root
mkdir -p "$root"/{bin,data,proc,sys,dev,tmp,etc}
cp "$(command -v busybox)" "$root/bin/busybox"
cp "$here/guest_init.sh" "$root/init"
chmod +x "$root/init"
echo "$mask" >"$root/affinity"
for program in morseld morsel morsel-sqlparse vm_placement vm_readback; do
  cp "$build/bin/$program" "$root/bin/"
  strip "$root/bin/$program"
  ldd "$build/bin/$program" | grep -o '/[^ ]*' | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -Ln "$library" "$root$library"
  done
done
awk 'BEGIN { print "key,v"; for (i = 0; i < 120000; i++) print (i * 7919) % 20011 ",", i % 1000 }' |
  tr -d ' ' >"$root/data/facts.csv"
awk 'BEGIN { print "key,w"; for (i = 0; i < 20011; i += 2) print i "," i * 3 }' >"$root/data/names.csv"
awk -F, 'NR == FNR { if (FNR > 1) w[$1] = $2; next }
         FNR > 1 && ($1 in w) { n++; s += $2; t += w[$1] } END { print "n,s,t"; printf "%d,%d,%d\n", n, s, t }' \
  "$root/data/names.csv" "$root/data/facts.csv" >"$root/data/join.expected"
awk -F, 'FNR > 1 { n[$1]++; s[$1] += $2 }
         END { print "key,n,s"; for (k = 0; k < 20011; k++) if (k in n) printf "%d,%d,%d\n", k, n[k], s[k] }' \
  "$root/data/facts.csv" >"$root/data/group.expected"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/initramfs"

# ---- run
console=$work/console
timeout 500 qemu-system-x86_64 -accel tcg,thread=multi -cpu max "${machine[@]}" \
  -nodefaults -no-reboot -display none -serial "file:$console" \
  -kernel "$kernel" -initrd "$work/initramfs" -append 'console=ttyS0 quiet panic=-1' || true
tr -d '\r' <"$console"
grep -q '^guest: all good' "$console"
