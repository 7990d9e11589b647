#!/usr/bin/env bash
# Draw the pictures of the landing page in docs/landing anew.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/toolchain.sh

# Roboto is what most of the phones show.
ensure_packages chromium fonts-roboto-unhinted
WRITE_SCREENSHOTS=1 exec bash scripts/test.sh --filter LandingPagePictures
