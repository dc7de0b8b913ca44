// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <set>
#include <string>
#include <vector>

namespace shardscope {

/// The form of a state file's pickle, which tells what in it is DeepSpeed's and what the client's.
enum class PickleForm {
    ModelStates, ///< DeepSpeed's keys, and beside them the client's
    Optimizer, ///< DeepSpeed's alone: optimizer files, and those of a universal folder
    Tensors, ///< tensors by name: files of layers and of experts
    Step, ///< a universal folder's step of one parameter
};

/// What may be shown to others of a pickle's values: an entry per node of its graph, and what became of the
/// client's keys.
struct ShownValues {
    std::vector<bool> kept;
    std::set<std::string> redactedKeys;
    std::set<std::string> keptKeys;
    /// Keys of storages that hold one element, the optimizer's step: a counter, which newer releases of torch
    /// keep as a tensor.
    std::set<std::string> steps;
};

/// Tells the values of DeepSpeed from those of its user.
///
/// Kept: names and shapes of parameters, tensors' dtypes and strides, counters, versions, degrees of
/// parallelism, param groups with all their options, loss scaler, places in flat buffers, numbers and truth
/// values of ds_config and of the scheduler, and of their texts the words that DeepSpeed itself knows
/// ("nvme", "AdamW"). Not kept: all that stands under a client's key that is not in `keep`, names inside it
/// included, so that only the key, the nesting, classes and shapes of tensors are left of it; other texts of
/// ds_config, such as paths; byte strings, which may hold anything. `stream` is what the graph was parsed
/// from.
ShownValues shownValues(
    const PickleGraph& graph, std::string_view stream, PickleForm form, const std::set<std::string>& keep);

} // namespace shardscope
