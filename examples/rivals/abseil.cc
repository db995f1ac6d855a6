// SPDX-License-Identifier: Apache-2.0
//
// absl::flat_hash_map, of Debian's libabsl-dev.
#include <absl/base/config.h>
#include <absl/container/flat_hash_map.h>

#include "map_rival.h"

#define TEXT_OF(number) #number
#define LTS_OF(number) TEXT_OF(number)

template <class Key, class Value>
using AbslMap = absl::flat_hash_map<Key, Value>;
MAP_RIVAL("absl::flat_hash_map", "abseil " LTS_OF(ABSL_LTS_RELEASE_VERSION) ", g++ " __VERSION__, AbslMap)
