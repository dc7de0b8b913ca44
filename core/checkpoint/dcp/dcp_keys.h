// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// What a key of a distributed checkpoint means, as get_state_dict() of torch names its parts and as
/// torchtitan does.
struct DcpKey {
    enum class Kind { Model, State, GroupMembers, GroupOption, Other };
    Kind kind = Kind::Other;
    std::string name; ///< of the parameter; GroupOption: of the option
    std::string state; ///< State
    uint32_t group = 0; ///< GroupMembers, GroupOption
};

/// "model.NAME", "optim.state.NAME.STATE", "optim.param_groups.N.params" and "optim.param_groups.N.OPTION";
/// `optimizer.` may stand for `optim.`. Names of states and options have no dot in them.
DcpKey parseDcpKey(std::string_view key);

} // namespace shardscope
