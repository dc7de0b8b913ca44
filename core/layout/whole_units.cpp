// SPDX-License-Identifier: Apache-2.0
#include "core/layout/whole_units.h"

namespace shardscope {

std::vector<const WholeTensor*> tensorsOutsideUnits(const Checkpoint& checkpoint)
{
    std::vector<const WholeTensor*> tensors;
    for (const WholeTensor& tensor : checkpoint.whole) {
        const Parameter& param = checkpoint.params[index(tensor.param)];
        // An alias has its owner's unit.
        if (param.unit == kNoUnit && param.sharedWith == kNoParam)
            tensors.push_back(&tensor);
    }
    return tensors;
}

bool isStoredWhole(const FlatUnit& unit)
{
    return unit.kind == UnitKind::Whole && unit.partition.ranks() == 1;
}

std::shared_ptr<const FlatUnit> unitOf(const Checkpoint& checkpoint, const WholeTensor& tensor)
{
    auto unit = std::make_shared<FlatUnit>();
    unit->kind = UnitKind::Whole;
    unit->params = {tensor.param};
    const Parameter& param = checkpoint.params[index(tensor.param)];
    if (auto partition = FlatPartition::contiguous({param.elements}, 1, 1))
        unit->partition = std::move(*partition);
    StoredRun run = tensor.run;
    if (!tensor.contiguous)
        run.record = StoredRun::kNoRecord;
    unit->states.push_back({.name = tensor.state,
        .dtype = tensor.dtype,
        .perRank = {run},
        .elements = std::make_shared<const TensorMap>(std::vector{run})});
    return unit;
}

} // namespace shardscope
