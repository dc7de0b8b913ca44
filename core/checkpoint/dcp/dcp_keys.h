// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/formats/dcp_metadata.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace shardscope {

/// What an entry of a distributed checkpoint means.
struct DcpKey {
    enum class Kind {
        Model, ///< a tensor of the model
        State, ///< a state of one parameter
        GroupMembers, ///< the names of a param group
        GroupOption,
        ParamOption, ///< an option of one parameter: torchtitan writes those in place of param groups
        Object, ///< anything else that is carried: counters, scheduler, client state
        Unknown, ///< a tensor, or a part of the optimizer, that this build does not understand
    };
    Kind kind = Kind::Object;
    std::string name; ///< of the parameter; GroupOption: of the option
    std::string state; ///< State: its name; ParamOption: the option's
    uint32_t group = 0; ///< GroupMembers, GroupOption
    std::vector<DcpStep> path; ///< the value's place in the state dict; the optimizer is called "optim" in it
};

/// The keys of all entries. They are read together: which steps of a path are containers, and which belong to
/// a parameter's name, depends on what the others are.
///
/// The optimizer is below "optim", "optimizer" or "optimizers", the model below "model", both in the root or
/// below one common step ("app"). A model may also be in the root itself. The optimizer's part has the steps
/// "state", NAME, STATE and "param_groups", N, OPTION, or is flat: "state.NAME.STATE" and
/// "param_groups.NAME.OPTION" (torch/distributed/checkpoint/state_dict.py). What is a step of its own is a
/// container; dots within a step belong to a name. Without recorded paths, "model." is a container only if it
/// explains every tensor, or if the optimizer's names say so.
std::vector<DcpKey> parseDcpKeys(std::span<const DcpEntry> entries);

} // namespace shardscope
