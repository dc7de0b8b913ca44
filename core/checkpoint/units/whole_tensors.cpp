// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/whole_tensors.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/reading_state.h"

#include <algorithm>

namespace shardscope {

bool addWholeTensor(Reading& reading, FileId id, ParamId param, const TensorView& tensor)
{
    Checkpoint& out = reading.out;
    const CheckpointFile& file = out.file(id);
    const Parameter& of = out.params[index(param)];
    const auto complain = [&](const std::string& trouble, std::vector<std::string> evidence) {
        reading.add(code::kTensorInvalid, Severity::Error, trouble, ParamAddress{of.name, "weight"},
            std::move(evidence));
        return false;
    };
    const auto extent = file.content->extentOf(tensor);
    if (!extent)
        return complain("the tensor's bytes in `" + file.name + "` are not where they should be",
            {describe(extent.error())});
    if (tensor.sizes != of.shape)
        return complain("the stored copy in `" + file.name + "` has another shape than param_shapes says",
            {shapeText(tensor.sizes), shapeText(of.shape)});
    WholeTensor whole;
    whole.param = param;
    whole.dtype = tensor.dtype;
    whole.contiguous = tensor.isContiguous();
    if (!whole.contiguous)
        whole.strides = tensor.strides;
    whole.run = {id, extent->record, extent->byteOffset, of.elements};
    out.whole.push_back(std::move(whole));
    return true;
}

void sortWholeTensors(Reading& reading)
{
    auto& whole = reading.out.whole;
    std::stable_sort(whole.begin(), whole.end(),
        [](const WholeTensor& a, const WholeTensor& b) { return a.param < b.param; });
    // If several files have the same name, use the first.
    const auto same = [](const WholeTensor& a, const WholeTensor& b) { return a.param == b.param; };
    whole.erase(std::unique(whole.begin(), whole.end(), same), whole.end());
}

} // namespace shardscope
