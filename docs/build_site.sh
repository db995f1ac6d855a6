#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build_site.sh SITE: builds the static site of the manual (mkdocs.yml) into the folder SITE, which must be new or empty. A
# warning of MkDocs, such as a link that leads nowhere, is an error.

set -euo pipefail

root=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
mkdir -p "${1:?build_site.sh SITE}"
site=$(cd "$1" && pwd)
[[ ! $(ls -A "$site") ]] || { # MkDocs would remove what is in it
  echo "build_site.sh: $site is not empty" >&2
  exit 1
}
TSR_PAGES=$(mktemp -d)
export TSR_PAGES
trap 'rm -rf "$TSR_PAGES"' EXIT
for name in "$root"/*; do
  case ${name##*/} in
    bazel-* | BUILD | WORKSPACE) ;;
    *) ln -s "$name" "$TSR_PAGES" ;;
  esac
done
mkdocs build --strict --config-file "$root/docs/mkdocs.yml" --site-dir "$site"
