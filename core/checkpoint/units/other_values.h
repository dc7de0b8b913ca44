// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/units/unit_states.h"

#include <set>
#include <string>

namespace shardscope {

// What an optimizer keeps besides tensors with an element for each element of the partition. A plain value (a
// number, a small tensor, a short text) that is equal on all ranks, and for all parts of a param group, is
// carried, compared and digested. All else is set aside (odd_states.h).

/// Checks a value that the guide's entry has.
void checkOtherValue(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    const RankStates& guide, const std::string& name);
/// Sets values aside that only other ranks than the guide have. `known`: the guide's names.
void checkFurtherValues(const Reading& reading, const FlatUnit& unit, const std::vector<RankStates>& perRank,
    const std::set<std::string>& known);
/// Compares the plain values of a group's units, since a rewrite gives all of them those of the first.
void checkValuesOfGroups(const Reading& reading);

/// A value as text, to compare it with others. Nothing if that is not all of it, or if it is long.
std::optional<std::string> plainValue(const Reading& reading, FileId file, NodeId value);

/// Sets aside what torch's optimizer dict has besides the states of the param groups and their options:
/// further keys that are no plain values, and states under keys that no group lists. `optimizer`: that dict,
/// in a readable file.
void checkOptimizerKeys(const Reading& reading, FileId file, NodeId optimizer);

} // namespace shardscope
