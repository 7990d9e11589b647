# What the machine needs to build and run this: Debian packages and Swift. Nothing is touched that is there.
# shellcheck shell=bash

swift_version=6.3
debian_packages=(libssl-dev libpq-dev postgresql openssl curl ca-certificates)
swift_environment=${SWIFTLY_HOME_DIR:-${HOME:-/root}/.local/share/swiftly}/env.sh

ensure_toolchain() {
    ensure_packages "${debian_packages[@]}"
    # A toolchain installed by an earlier run, which a new shell may not know yet.
    if ! command -v swift >/dev/null && [[ -f $swift_environment ]]; then use_swiftly; fi
    command -v swift >/dev/null || install_swift
}

# ensure_packages NAME...: installs those that are missing.
ensure_packages() {
    local name status missing=()
    if ! command -v dpkg-query >/dev/null; then
        say "This is not a Debian or Ubuntu: taking it that the equivalents of $* are installed."
        return
    fi
    for name in "$@"; do
        # shellcheck disable=SC2016 # ${Status} is dpkg-query's.
        status=$(dpkg-query --show --showformat='${Status}' "$name" 2>/dev/null) || true
        [[ $status == 'install ok installed' ]] || missing+=("$name")
    done
    ((${#missing[@]} > 0)) || return 0
    is_root || command -v sudo >/dev/null ||
        fail "missing packages. As root, run: apt-get update && apt-get install ${missing[*]}"
    say "Installing ${missing[*]} ..."
    as_root apt-get update --quiet=2 || fail "apt-get update failed; see above."
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}" ||
        fail "apt-get could not install ${missing[*]}; see above."
}

# ensure_browser: what the tests of the landing page drive. Without it they are skipped, and nothing else is.
ensure_browser() {
    ! command -v chromium >/dev/null || return 0
    if is_root || sudo --non-interactive true 2>/dev/null; then
        (ensure_packages chromium chromium-sandbox) && return
    fi
    say "The landing page is not tested without a browser. As root, run: apt-get install chromium chromium-sandbox"
}

# ensure_shop_receiver: the Python that runs the example receiver of events, in an environment of its own. Without it
# that one test is skipped.
ensure_shop_receiver() {
    local tools=$PWD/.local/shop-receiver
    export SHOP_RECEIVER_PYTHON=$tools/bin/python
    { [[ -x $SHOP_RECEIVER_PYTHON ]] || (ensure_packages python3 python3-venv); } &&
        make_python_environment "$tools" examples/shop-receiver/requirements.txt ||
        say "The example receiver of events is not tested: python3-venv or PyPI is out of reach."
}

# ensure_axe: the checks of accessibility that the tests run on every step of the example shop. Without them those tests
# are skipped; the tests' own checks are not.
ensure_axe() {
    local package=axe-playwright-python==0.1.8
    local place=$PWD/.local/${package/==/-}
    export TEST_AXE=$place/axe_playwright_python/axe.min.js
    # Only the one file in it is wanted, so nothing that the package needs to run is installed.
    [[ -f $TEST_AXE ]] ||
        attend "$SHOP_RECEIVER_PYTHON" -m pip install --quiet --disable-pip-version-check --no-deps \
            --target "$place" "$package" ||
        say "The example shop is not held against axe-core: PyPI is out of reach."
}

# ensure_kotlin: what compiles the example for Android. Without it that one test is skipped.
ensure_kotlin() {
    local packages=(kotlin libandroid-json-org-java)
    [[ ! -x /usr/bin/kotlinc || ! -r /usr/share/java/json-android.jar ]] || return 0
    if is_root || sudo --non-interactive true 2>/dev/null; then
        (ensure_packages "${packages[@]}") && return
    fi
    say "The example for Android is not tested without Kotlin. As root, run: apt-get install ${packages[*]}"
}

# ensure_balancer: what stands before three instances in one of the tests. Without it that one is skipped.
ensure_balancer() {
    ! PATH=$PATH:/usr/sbin command -v haproxy >/dev/null || return 0
    if is_root || sudo --non-interactive true 2>/dev/null; then
        (ensure_packages haproxy) && return
    fi
    say "Three instances are not tested without HAProxy. As root, run: apt-get install haproxy"
}

# make_python_environment DIRECTORY LIST: Python with the packages that LIST names, made once, and anew when LIST
# changes. Returns 1 when that is not possible.
make_python_environment() {
    local directory=$1 list=$2
    if cmp --silent "$list" "$directory/requirements.txt" && [[ -x $directory/bin/python ]]; then return; fi
    say "Installing what $list names into $directory ..."
    mkdir -p "$(dirname "$directory")"
    rm -rf "$directory"
    attend python3 -m venv "$directory" &&
        attend "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$list" &&
        cp "$list" "$directory/requirements.txt"
}

# build_programs PRODUCT...: the server, the sandbox, the load generator, and these, as the image has them (Dockerfile).
# Sets `programs`, the directory that they are in.
build_programs() {
    local product
    for product in merchant belvo-sandbox LoadProgram "$@"; do
        attend swift build --configuration release --static-swift-stdlib --product "$product" ||
            fail "the build of $product failed; see above."
    done
    programs=$(swift build --configuration release --static-swift-stdlib --show-bin-path)
}

# measure WORD...: has the library in bench/measure measure and report; see there.
measure() {
    attend env PYTHONPATH=bench PYTHONDONTWRITEBYTECODE=1 python3 -m measure "$@" || exit 1
}

# install_swift: by swiftly, Swift's own installer (www.swift.org/install/linux, swiftly's "Install Swiftly
# Automatically"), into the user's home; no profile is changed.
install_swift() {
    local scratch
    ensure_packages gnupg git tar
    say "Installing Swift $swift_version with swiftly into ${swift_environment%/env.sh} ..."
    scratch=$(mktemp -d)
    curl --fail --silent --show-error --location "https://download.swift.org/swiftly/linux/swiftly-$(uname -m).tar.gz" |
        tar --extract --gzip --directory "$scratch" ||
        fail "could not download swiftly from download.swift.org; see above."
    "$scratch/swiftly" init --assume-yes --skip-install --no-modify-profile --quiet-shell-followup ||
        fail "swiftly init failed; see above."
    use_swiftly
    # From there: in a checkout, --use would write a .swift-version file.
    (cd "$scratch" && swiftly install --use --assume-yes --post-install-file=post-install.sh "$swift_version") ||
        fail "swiftly could not install Swift $swift_version; see above."
    # Written only when the toolchain lacks system packages: an apt-get line.
    if [[ -f $scratch/post-install.sh ]]; then
        as_root apt-get update --quiet=2
        as_root env DEBIAN_FRONTEND=noninteractive sh "$scratch/post-install.sh" ||
            fail "the packages that Swift needs could not be installed; see above."
    fi
    rm -rf "$scratch"
    hash -r
    command -v swift >/dev/null || fail "swiftly finished, but swift is not on the path."
}

use_swiftly() {
    # shellcheck disable=SC1090 # Written by swiftly.
    . "$swift_environment"
}
