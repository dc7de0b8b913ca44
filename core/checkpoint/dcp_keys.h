// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardscope {

/// What a key of a distributed checkpoint means, as get_state_dict() of torch names its parts and as
/// torchtitan does.
struct DcpKey {
    enum class Kind { Model, State, GroupMembers, Other };
    Kind kind = Kind::Other;
    std::string name; ///< of the parameter
    std::string state; ///< State
    uint32_t group = 0; ///< GroupMembers
};

/// "model.NAME", "optim.state.NAME.STATE", "optim.param_groups.N.params"; `optimizer.` may stand for
/// `optim.`. A state's name has no dot in it.
DcpKey parseDcpKey(std::string_view key);

} // namespace shardscope
