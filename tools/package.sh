#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Packs what a user installs. Nothing inside names a place outside, so the result may be unpacked anywhere; the same
# inputs make the same bytes. //:dist calls this:
#
#   package.sh OUT.tar.gz FILE...
#
# The place of a file in the package follows from its path in the checkout. Read next: tests/dist/dist_test.sh.

set -euo pipefail

fail() {
  echo "package.sh: $*" >&2
  exit 1
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root

# put MODE FILE PLACE
put() { install -D -m "$1" "$2" "$root/$3"; }

put_file() {
  local file=$1 name=${1##*/}
  case /$file in
    */man1.tar) mkdir -p "$root/share/man/man1" && tar -C "$root/share/man/man1" -xf "$file" ;;
    */tools/cli/completion.bash) put 644 "$file" share/bash-completion/completions/tessera ;;
    */tools/cli/completion.zsh) put 644 "$file" share/zsh/site-functions/_tessera ;;
    */tools/cli/completion.fish) put 644 "$file" share/fish/vendor_completions.d/tessera.fish ;;
    */tools/cli/tessera) put 755 "$file" bin/tessera ;;
    */fused.tar) mkdir -p "$root/lib/tessera" && tar -C "$root/lib/tessera" -xf "$file" ;;
    */linked.cubins) put 644 "$file" lib/tessera/linked.cubins ;;
    */tests/conformance/conformance) put 755 "$file" bin/tessera-conform ;;
    */core/libtessera.so) put 755 "$file" lib/libtessera.so ;;
    */core/tessera*.h | */core/tessera.cuh) put 644 "$file" "include/$name" ;;
    */docs/*.md) put 644 "$file" "docs/$name" ;;
    */examples/*) put 644 "$file" "share/tessera/examples/${file#*examples/}" ;;
    */plugins/*.sh) put 755 "$file" "share/tessera/sdk/plugins/$name" ;;
    */plugins/*) put 644 "$file" "share/tessera/sdk/plugins/${file#*plugins/}" ;;
    */transports/*.sh) put 755 "$file" "share/tessera/transports/$name" ;;
    */transports/*) put 644 "$file" "share/tessera/transports/$name" ;;
    */specs/*) put 644 "$file" "share/tessera/specs/${file#*specs/}" ;;
    */layout_*.so | */probing_*.so | */hasher_*.so | */allocator_*.so | */eviction_*.so) put 755 "$file" "lib/tessera/$name" ;;
    /LICENSE | /README.md) put 644 "$file" "$name" ;;
    *) fail "$file: has no place in a package" ;;
  esac
}

# The run path lets a program find the library where it was unpacked, without LD_LIBRARY_PATH.
write_pkg_config() {
  cat <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: tessera
Description: GPU hash tables, composed at run time from plugins that an INI file names
Version: $1
Cflags: -I\${includedir}
Libs: -L\${libdir} -Wl,-rpath,\${libdir} -ltessera
END
}

# What find_package(Tessera) reads: the target Tessera::tessera. The run path is for programs that are installed; those in
# their build folder get one from CMake.
write_cmake_config() {
  cat <<'END'
# SPDX-License-Identifier: Apache-2.0
# find_package(Tessera) of CMake 3.13 or newer: target_link_libraries(prog Tessera::tessera)
get_filename_component(Tessera_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET Tessera::tessera)
  add_library(Tessera::tessera SHARED IMPORTED)
  set_target_properties(Tessera::tessera PROPERTIES
    IMPORTED_LOCATION "${Tessera_PREFIX}/lib/libtessera.so"
    IMPORTED_NO_SONAME TRUE
    INTERFACE_INCLUDE_DIRECTORIES "${Tessera_PREFIX}/include"
    INTERFACE_LINK_OPTIONS "LINKER:-rpath,${Tessera_PREFIX}/lib")
endif()
END
}

# Which versions find_package(Tessera VERSION) takes: before 1.0, those of the same minor version that are not newer.
write_cmake_version() {
  cat <<END
# SPDX-License-Identifier: Apache-2.0
set(PACKAGE_VERSION "$1")
set(Tessera_SERIES "${1%.*}")
END
  cat <<'END'
set(PACKAGE_VERSION_COMPATIBLE TRUE)
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif(PACKAGE_FIND_VERSION_COUNT GREATER 1 AND
       NOT Tessera_SERIES VERSION_EQUAL "${PACKAGE_FIND_VERSION_MAJOR}.${PACKAGE_FIND_VERSION_MINOR}")
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
END
}

out=$1
shift
for file in "$@"; do
  put_file "$file"
done
version=$(sed -n 's/^#define TSR_VERSION "\(.*\)"$/\1/p' "$root/include/tessera.h")
[[ $version ]] || fail "tessera.h: has no TSR_VERSION"

# tessera.h includes the SDK's header of errors, a kernel of the user's own the others.
for file in "$root"/share/tessera/sdk/plugins/*.h "$root"/share/tessera/sdk/plugins/*.cuh; do
  put 644 "$file" "include/plugins/${file##*/}"
done
mkdir -p "$root/lib/pkgconfig"
write_pkg_config "$version" >"$root/lib/pkgconfig/tessera.pc"
mkdir -p "$root/lib/cmake/Tessera"
write_cmake_config >"$root/lib/cmake/Tessera/TesseraConfig.cmake"
write_cmake_version "$version" >"$root/lib/cmake/Tessera/TesseraConfigVersion.cmake"
# It makes the SDK a repository that a plugin's own workspace can name (local_repository).
echo 'workspace(name = "tessera")' >"$root/share/tessera/sdk/WORKSPACE.bazel"

mv "$root" "$scratch/tessera-$version"
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "tessera-$version" | gzip -n >"$out"
