// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <vector>

namespace shardscope {

/// Where the parameters of every unit would be stored in a certain order.
struct ParamOrder {
    std::vector<FlatPartition> partitions; ///< per unit
    std::vector<std::vector<uint32_t>> places; ///< per unit: its place for each position in FlatUnit::params
};

/// As `param_shapes` lists them.
ParamOrder listedOrder(const Checkpoint& checkpoint);
/// If the listed order is the result of round_robin_gradients: the order before it, which is the optimizer's.
Result<ParamOrder> orderBeforeRoundRobin(const Checkpoint& checkpoint);
/// If the listed order is the optimizer's: the order that round_robin_gradients makes of it.
Result<ParamOrder> orderAfterRoundRobin(const Checkpoint& checkpoint);
/// Where stock DeepSpeed's slice mappings place the parameters if they are listed in round-robin order. Stock
/// DeepSpeed ignores that order, except in groups with padding between parameters.
Result<ParamOrder> stockMappingOrder(const Checkpoint& checkpoint);

/// Whether round-robin order differs from the optimizer's in any unit.
bool roundRobinMatters(const Checkpoint& checkpoint);

/// A unit's parameters in the optimizer's order. This is the order of its flat buffers, unless
/// round_robin_gradients distributes them to ranks in turn (core/partition/round_robin.h).
std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const FlatUnit& unit);
/// The same for all units of a param group.
std::vector<ParamId> optimizerOrder(const Checkpoint& checkpoint, const ParamGroup& group);

} // namespace shardscope
