// SPDX-License-Identifier: Apache-2.0
//
// std::unordered_map.
#include <unordered_map>

#include "map_rival.h"

template <class Key, class Value>
using StdMap = std::unordered_map<Key, Value>;
MAP_RIVAL("std::unordered_map", "g++ " __VERSION__, StdMap)
