// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <set>
#include <string>
#include <vector>

namespace shardscope {

/// The form of a state file's pickle. It decides which keys are DeepSpeed's and which are the client's.
enum class PickleForm {
    ModelStates, ///< DeepSpeed's keys, and the client's next to them
    Optimizer, ///< only DeepSpeed's keys: optimizer files, and those of a universal folder
    Tensors, ///< tensors by name: files of layers and of experts
    Step, ///< a universal folder's step of one parameter
};

/// Which values of a pickle may be shown to others: an entry per node of its graph, and what was done with
/// the client's keys.
struct KeptValues {
    std::vector<bool> kept;
    std::set<std::string> redactedKeys;
    std::set<std::string> keptKeys;
    /// Keys of storages that hold one element, the optimizer's step. Newer releases of torch keep this
    /// counter as a tensor.
    std::set<std::string> steps;
};

/// Separates DeepSpeed's values from the user's.
///
/// Kept: names and shapes of parameters, tensors' dtypes and strides, counters, versions, degrees of
/// parallelism, param groups with all their options, loss scaler, places in flat buffers. Of ds_config and
/// the scheduler: numbers, truth values, and the words that DeepSpeed itself knows ("nvme", "AdamW").
///
/// Not kept: everything under a client's key that is not in `keep`, including the names inside it. Only the
/// key, the nesting, classes and shapes of tensors remain. Also not kept: other texts of ds_config, such as
/// paths, and byte strings, which may hold anything. `stream` is the data that the graph was parsed from.
KeptValues keptValues(
    const PickleGraph& graph, std::string_view stream, PickleForm form, const std::set<std::string>& keep);

} // namespace shardscope
