// SPDX-License-Identifier: Apache-2.0
//
// boost::unordered_flat_map, of Debian's libboost1.81-dev.
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/version.hpp>

#include "map_rival.h"

template <class Key, class Value>
using BoostMap = boost::unordered_flat_map<Key, Value>;
MAP_RIVAL("boost::unordered_flat_map", "Boost " BOOST_LIB_VERSION ", g++ " __VERSION__, BoostMap)
