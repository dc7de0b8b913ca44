// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <vector>

namespace shardscope {

/// Where the parameters of every unit would lie if they stood in one certain order.
struct ParamOrder {
    std::vector<FlatPartition> partitions; ///< per unit
    std::vector<std::vector<uint32_t>> places; ///< per unit: its place for each position in FlatUnit::params
};

/// As `param_shapes` lists them.
ParamOrder listedOrder(const Checkpoint& checkpoint);
/// The listed order is what round_robin_gradients made: the one before it, which is the optimizer's.
Result<ParamOrder> orderBeforeRoundRobin(const Checkpoint& checkpoint);
/// The listed order is the optimizer's: the one that round_robin_gradients makes of it.
Result<ParamOrder> orderAfterRoundRobin(const Checkpoint& checkpoint);
/// Where stock DeepSpeed's slice mappings say that the parameters lie when they are listed in round-robin
/// order: it overlooks that order except in groups that have padding between parameters.
Result<ParamOrder> stockMappingOrder(const Checkpoint& checkpoint);

/// Whether round-robin order differs from the optimizer's in any unit.
bool roundRobinMatters(const Checkpoint& checkpoint);

} // namespace shardscope
