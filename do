#!/usr/bin/env bash
# Everything one does with weir: ./do help. Installs what is missing first (Debian 12 packages).
set -euo pipefail

caller_folder=$PWD
root=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
cd -- "$root"
jobs=$(nproc)

build_packages=(g++ cmake ninja-build ccache libboost1.81-dev libcli11-dev libspdlog-dev libfmt-dev
  libssl-dev libnghttp2-dev libprotobuf-dev libyaml-cpp-dev protobuf-compiler)
bench_packages=(libbenchmark-dev nginx-light)
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev redis-server redis-tools libhiredis-dev
  libcpp-httplib-dev libgrpc++-dev protobuf-compiler-grpc liblua5.1-0-dev python3 python3-grpcio
  python3-jsonschema python3-redis python3-venv python3-yaml nghttp2-client openssl clang-14
  libclang-rt-14-dev curl procps pkg-config zsh fish mandoc groff-base tzdata)
package_packages=(dpkg-dev file gzip xz-utils lintian)
slow_test_packages=(debootstrap systemd-container doxygen)  # and those above
# Whose packaged clients are tested: the command that is needed, and what brings it if nothing has.
client_tools=(node:nodejs npm:npm go:golang-go javac:default-jdk-headless mvn:maven)
# Before which weir is tested.
proxy_tools=(nginx:nginx-light haproxy:haproxy caddy:caddy)
# Whose limiters are compared with ours. Debian 12's go and cargo are too old for those of today.
peer_tools=(javac:default-jdk-headless mvn:maven)
docs_packages=(doxygen python3)
lint_packages=(clang-format-14 clang-tidy-14 python3)
change_labels='fast|redis|net|must_not_compile|bench_smoke|fuzz'

help() {
  cat <<'HELP'
./do run [ARG...]     build weir and start the server: weir serve ARG... (Ctrl-C stops it)
./do test [--all]     the tests a change must pass, then the fast ones under sanitizers;
                      --all adds the slow ones
./do build [PRESET]   build/release/weir and weir_module.so; with a PRESET, everything
                      of build/PRESET: release, dev, asan, tsan, fuzz or coverage
./do package          build/package/weir_VERSION_amd64.deb, and libweir-dev for the library
./do docs             the reference of the library: build/docs/html
./do single-header    the library in one header: build/single/weir.hpp
./do lint [--all]     format, style, include arrows, clang-tidy of what changed lately;
                      --all: clang-tidy of every file
./do bench [--smoke]  every benchmark; --smoke only sees that they run
./do bench peers      weir beside limiters of Go, Rust and Java (bench/peers/compare --help)
./do fuzz [SECONDS]   fuzz each target so long (60)
./do faults [ROW...]  what callers see while a Redis fails, row by row of the fault matrix
./do mutate [NAME...] plant the bugs of test/mutants one at a time; a test must find each
./do help             this page

Each verb installs the Debian packages it lacks. The first build takes minutes, the next seconds.
HELP
}

say() { printf '== %s\n' "$*"; }

die() {  # die "what is wrong" "what to do next"
  printf '\n./do: %s\n      %s\n' "$1" "$2" >&2
  exit 1
}

# ---- What is missing ----

as_root() {
  if [[ $EUID == 0 ]]; then "$@"; else sudo "$@"; fi
}

# Some packages start a server and have it start at boot; the tests start their own.
install_without_services() {
  local policy=/usr/sbin/policy-rc.d status=0
  if [[ -e $policy ]]; then
    policy=
  else
    printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
    as_root chmod 755 "$policy"
  fi
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --quiet --no-install-recommends "$@" || status=$?
  if [[ -n $policy ]]; then as_root rm -f "$policy"; fi
  local package
  for package in redis-server nginx-light haproxy caddy; do
    if [[ " $* " == *" $package "* && -d /run/systemd/system ]]; then
      as_root systemctl disable --now --quiet "${package%-light}" || true
    fi
  done
  return "$status"
}

need() {  # need PACKAGE...
  command -v dpkg-query >/dev/null || return 0  # not a Debian: the build will say what it lacks
  local present package
  local -a missing=()
  present=$(dpkg-query --show --showformat '${db:Status-Abbrev} ${Package}\n' "$@" 2>/dev/null ||
    true)
  for package in "$@"; do
    [[ $'\n'$present$'\n' == *$'\nii  '"$package"$'\n'* ]] || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then return; fi

  local by_hand="apt-get install ${missing[*]}"
  if [[ $EUID != 0 ]] && ! command -v sudo >/dev/null; then
    die "missing packages, and no sudo to install them" "As root: $by_hand"
  fi
  say "installing ${missing[*]}"
  as_root apt-get update --quiet ||
    die "apt-get update failed" "Check the network and /etc/apt, then again, or: $by_hand"
  install_without_services "${missing[@]}" ||
    die "apt-get install failed" "The names are those of Debian 12. See above, then try: $by_hand"
}

need_tools() {  # need_tools "WHAT" COMMAND:PACKAGE...: without them WHAT is skipped
  local what=$1 tool
  local -a missing=()
  shift
  for tool in "$@"; do
    command -v "${tool%%:*}" >/dev/null || missing+=("${tool#*:}")
  done
  if ((${#missing[@]})) && ! (need "${missing[@]}"); then
    say "$what that need ${missing[*]} will be skipped"
  fi
}

# ---- Building and testing ----

configure() {  # configure PRESET [-DNAME=VALUE...]
  local preset=$1 log
  shift
  mkdir -p build
  log=build/configure-$preset.log
  if ! cmake --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    die "CMake could not configure build/$preset" "If the tree was moved: rm -r build/$preset"
  fi
}

compile() {  # compile PRESET [TARGET...]
  local preset=$1
  shift
  cmake --build "build/$preset" --parallel "$jobs" ${1:+--target "$@"} ||
    die "build/$preset did not build" "The first error above is the one to mend."
}

build_weir() {
  need "${build_packages[@]}"
  # Whoever only runs weir needs no test packages; a tree set up for tests stays so.
  if [[ -e build/release/build.ninja ]]; then
    configure release
  else
    configure release -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=OFF
  fi
  compile release weir weir_module
}

stage_count=0
failed_stages=()
stage_times=()

stage() {  # stage "NAME" COMMAND...: runs it with its time told; a failure is kept for the end
  local name=$1 started=$SECONDS result=passed
  shift
  stage_count=$((stage_count + 1))
  printf '\n'
  say "stage $stage_count: $name"
  if ! "$@"; then
    failed_stages+=("$name")
    result=FAILED
  fi
  stage_times+=("$(printf '%5d s  %s  %s' $((SECONDS - started)) "$result" "$name")")
  say "stage $stage_count: $result after $((SECONDS - started)) s"
}

run_labels() {  # run_labels PRESET LABELS
  # These sanitizers do not know the wide address randomisation of newer kernels.
  local -a same_addresses=()
  if [[ $1 != release ]] && setarch --addr-no-randomize true 2>/dev/null; then
    same_addresses=(setarch --addr-no-randomize)
  fi
  UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=halt_on_error=1 \
    "${same_addresses[@]}" ctest --test-dir "build/$1" --label-regex "^($2)\$" --parallel 2 \
    --output-on-failure --no-tests=error 2>&1 |
    sed --unbuffered --regexp-extended 's/ \.{4,}/ .../' | tee "build/ctest-$1.log"
}

closing_lines() {  # closing_lines PRESET: what ctest said at the end
  printf '\n== ctest in build/%s\n' "$1"
  if ! grep -q 'tests passed' "build/ctest-$1.log"; then
    tail -n 5 "build/ctest-$1.log"
    return
  fi
  sed -n '/tests passed/,$p' "build/ctest-$1.log"
}

test_change() {
  local labels=$change_labels preset
  case ${1:-} in
    '') ;;
    --all)
      labels+='|slow'
      need "${package_packages[@]}" "${slow_test_packages[@]}"
      ;;
    *) die "test knows --all, not '$1'" "See: ./do help" ;;
  esac
  need "${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}"
  need_tools 'the tests' "${client_tools[@]}"
  need_tools 'the tests' "${proxy_tools[@]}"

  configure release -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCH=ON
  stage 'build release' compile release
  stage "test release ($labels)" run_labels release "$labels"
  configure asan
  stage 'build asan (fast and fuzz tests)' compile asan fast_tests fuzz_tests
  stage 'test asan (fast and fuzz tests)' run_labels asan 'fast|fuzz'
  configure tsan
  stage 'build tsan (tests with that label)' compile tsan tsan_tests
  stage 'test tsan (tests with that label)' run_labels tsan tsan

  printf '\n== stages\n'
  printf '%s\n' "${stage_times[@]}"
  if ((${#failed_stages[@]})); then
    printf '\n%d stage(s) failed. One test again, in full:\n' "${#failed_stages[@]}"
    printf '  ctest --test-dir build/release --verbose --tests-regex NAME\n'
  fi
  for preset in tsan asan release; do closing_lines "$preset"; done
  ((${#failed_stages[@]} == 0))
}

# ---- The verbs ----

build() {
  if [[ $# == 0 ]]; then
    build_weir
    say "build/release/weir, build/release/weir_module.so"
    return
  fi
  case $1 in
    release | dev | asan | tsan | fuzz | coverage) ;;
    *) die "there is no preset '$1'" "See: ./do help" ;;
  esac
  need "${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}"
  if [[ $1 == release ]]; then set -- release -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCH=ON; fi
  configure "$@"
  cmake --build --preset "$1" --parallel "$jobs" ||
    die "build/$1 did not build" "The first error above is the one to mend."
}

run() {
  build_weir
  cd -- "$caller_folder"  # so that a FILE among the arguments means the caller's
  exec "$root/build/release/weir" serve "$@"
}

lint() {
  need "${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}" "${lint_packages[@]}"
  configure release -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCH=ON  # for compile_commands.json
  cmake --build --preset release --target weir_generated_sources --parallel "$jobs" ||
    die "what protoc writes could not be made" "The first error above is the one to mend."
  /usr/bin/python3 lint/lint.py "$@"
}

package() {
  need "${build_packages[@]}" "${package_packages[@]}"
  # All times in the packages are that of the newest entry, so that the same tree gives the same
  # bytes.
  SOURCE_DATE_EPOCH=$(dpkg-parsechangelog --file packaging/debian/changelog --show-field Timestamp)
  export SOURCE_DATE_EPOCH
  rm -f build/package/*.deb
  configure package
  compile package
  (cd build/package && umask 022 && cpack) >build/package/cpack.log 2>&1 || {
    cat build/package/cpack.log >&2
    die "the packages could not be made" "See above; the rules are in cmake/WeirDeb.cmake."
  }
  lintian --fail-on error,warning build/package/*.deb ||
    die "lintian found fault" "lintian --info build/package/*.deb tells what to do."
  ls build/package/*.deb
}

project_version() {
  sed -n 's/^project(weir VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt
}

docs() {
  need "${docs_packages[@]}"
  mkdir -p build
  rm -rf build/docs  # or pages of what is gone would stay
  WEIR_VERSION=$(project_version) doxygen docs/reference/Doxyfile ||
    die "the reference could not be made" "See the warnings above; comments.py translates comments."
  say "build/docs/html/index.html"
}

single_header() {
  need python3
  /usr/bin/python3 packaging/single_header.py build/single/weir.hpp
  say "build/single/weir.hpp"
}

bench() {
  need "${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}"
  configure release -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCH=ON
  if [[ ${1:-} == peers ]]; then
    need python3
    need_tools 'the peers' "${peer_tools[@]}"
    shift
    bench/peers/compare "$@"
    return
  fi
  compile release bench_smoke_tests
  if [[ ${1:-} == --smoke ]]; then
    run_labels release bench_smoke
    return
  fi
  local program found=
  for program in build/release/bench/*_*; do
    # A benchmark's name asks a question; what else lies there serves one.
    [[ -x $program && ${program##*/} =~ ^(how|what|when|where|which|who|does|is)_ ]] || continue
    found=yes
    say "${program##*/}"
    "$program"
  done
  [[ -n $found ]] || die "no benchmark was built" "See: bench/CMakeLists.txt"
}

fuzz() {
  local seconds=${1:-60} program name
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "'$seconds' is no number of seconds" "See: ./do help"
  need "${build_packages[@]}" "${test_packages[@]}"
  configure fuzz
  compile fuzz fuzz_tests
  for program in build/fuzz/fuzz/fuzz_*; do
    name=${program##*/fuzz_}
    say "$name, $seconds s"
    mkdir -p "build/fuzz/corpus/$name" "build/fuzz/crashes"
    "$program" -max_total_time="$seconds" -timeout=10 \
      -artifact_prefix="build/fuzz/crashes/$name-" \
      "build/fuzz/corpus/$name" "test/fuzz/corpus/$name" ||
      die "$name: an input failed; it is in build/fuzz/crashes" \
        "Again: $program FILE. Once mended, keep the file in test/fuzz/corpus/$name."
  done
}

faults() {
  need "${build_packages[@]}" "${test_packages[@]}" "${bench_packages[@]}"
  configure release -DWEIR_BUILD_TESTS=ON -DWEIR_BUILD_BENCH=ON
  compile release weir_faults
  build/release/test/fault/store/weir_faults --json build/faults.json "$@"
}

mutate() {
  need "${build_packages[@]}" "${test_packages[@]}"
  /usr/bin/python3 test/mutants/run.py "$@"
}

verb=${1:-help}
shift || true
case $verb in
  run | build | package | docs | lint | bench | fuzz | faults | mutate) "$verb" "$@" ;;
  single-header) single_header "$@" ;;
  test) test_change "$@" ;;
  help | -h | --help) help ;;
  *) help >&2; die "there is no verb '$verb'" "See above." ;;
esac
