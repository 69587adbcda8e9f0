# Sourced by quickstart.sh and test.sh: the Debian packages morseld needs, and how to install those
# that are missing.

packages_build=(
  build-essential cmake ninja-build pkg-config
  libuv1-dev liburing-dev libnuma-dev libprotobuf-c-dev protobuf-c-compiler protobuf-compiler
  libxxhash-dev libcriterion-dev libnghttp2-dev libmicrohttpd-dev libflatbuffers-dev
  flatbuffers-compiler libjansson-dev zlib1g-dev libzstd-dev libpg-query-dev systemtap-sdt-dev
  libpcre2-dev libutf8proc-dev tzdata curl
)
packages_test=(
  clang-14 clang-format-14 libclang-rt-14-dev python3-venv prometheus systemd git zstd
  qemu-system-x86 busybox-static gdb binutils
)
package_kernel=linux-image-cloud-amd64 # for the tests in virtual machines: unpacked, never installed

say() { printf '%s\n' "${bold:-}$*${plain:-}"; }
fail() { printf '%s\n' "$(basename "$0"): $*" >&2; exit 1; }
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\033[1m' plain=$'\033[0m'; else bold= plain=; fi

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo)

# packages_ensure NAME...: install what is missing, as root or through sudo.
packages_ensure() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  [ ${#as_root[@]} -eq 0 ] || command -v sudo >/dev/null ||
    fail "these Debian packages are missing and there is no sudo to install them: ${missing[*]}"
  say "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update -qq &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    fail "apt-get could not install the packages (log: $log)"
  fi
  rm -f "$log"
}

# kernel_download DIR: the .deb that the kernel's metapackage names today.
kernel_download() {
  local name
  name=$(apt-cache depends "$package_kernel" | awk '$1 == "Depends:" && $2 ~ /^linux-image-.*-cloud-amd64$/ { print $2; exit }')
  [ -n "$name" ] && (cd "$1" && apt-get download -qq "$name" 2>&1)
}

# packages_unpack_kernel DIR: puts vmlinuz-* of a stock Debian kernel into DIR, without installing it.
packages_unpack_kernel() {
  compgen -G "$1/vmlinuz-*" >/dev/null && return 0
  local work log
  work=$(mktemp -d)
  log=$work/log
  say "Unpacking a Debian kernel into $1"
  if ! { kernel_download "$work" || { "${as_root[@]}" apt-get update -qq && kernel_download "$work"; }; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    fail "apt-get could not download $package_kernel"
  fi
  dpkg-deb -x "$work"/linux-image-*.deb "$work/tree"
  mkdir -p "$1"
  cp "$work"/tree/boot/vmlinuz-* "$1/"
  rm -rf "$work"
}

# build_preset NAME: configure and build, quiet unless it fails; progress on a terminal.
build_preset() {
  local log="build/$1.log"
  mkdir -p build
  say "Building the $1 preset"
  if ! { cmake --preset "$1" && cmake --build --preset "$1"; } >"$log" 2>&1; then
    grep -E 'error|FAILED|undefined' "$log" | head -n 20 >&2 || true
    fail "the $1 preset does not build (log: $log)"
  fi
}
