// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// What a key of a distributed checkpoint means. torch's get_state_dict() and torchtitan name the parts so.
struct DcpKey {
    enum class Kind { Model, State, GroupMembers, GroupOption, Other };
    Kind kind = Kind::Other;
    std::string name; ///< of the parameter; GroupOption: of the option
    std::string state; ///< State
    uint32_t group = 0; ///< GroupMembers, GroupOption
};

/// The forms are "model.NAME", "optim.state.NAME.STATE", "optim.param_groups.N.params" and
/// "optim.param_groups.N.OPTION". `optimizer.` may replace `optim.`. Names of states and options have no dot.
DcpKey parseDcpKey(std::string_view key);

} // namespace shardscope
