// SPDX-License-Identifier: Apache-2.0
#include "core/torchfile/torch_tensors.h"

#include "core/base/text.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>

namespace shardscope {

bool isStateDict(const PickleGraph& graph)
{
    const auto items = mappingItems(graph, graph.root());
    if (items.empty())
        return false;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        if (!asString(graph, items[i]) || !looksLikeTensor(graph, items[i + 1]))
            return false;
    }
    return true;
}

Result<std::vector<SafeTensor>> stateDictTensors(const TorchFile& file)
{
    const PickleGraph& graph = file.pickle();
    const std::string path = file.path().string();
    if (!isStateDict(graph))
        return fail(ErrorCode::Damaged, "the pickle is not a dict of tensors", path);
    if (file.isBigEndian())
        return fail(ErrorCode::Unsupported, "the elements are stored in big-endian order", path);
    std::vector<SafeTensor> out;
    const auto items = mappingItems(graph, graph.root());
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        SafeTensor found;
        found.name = *asString(graph, items[i]);
        SHARDSCOPE_TRY(const TensorView tensor, asTensor(graph, items[i + 1]));
        if (!tensor.isContiguous())
            return fail(ErrorCode::Unsupported,
                "`" + toValidUtf8(found.name) + "` is a view that is not stored row by row", path);
        SHARDSCOPE_TRY(const TensorExtent extent, file.extentOf(tensor));
        found.dtype = tensor.dtype;
        found.shape = tensor.sizes;
        found.elements = tensor.elements().value_or(0);
        found.byteOffset = extent.byteOffset;
        found.bytes = found.elements * itemSize(tensor.dtype);
        out.push_back(std::move(found));
    }
    std::stable_sort(out.begin(), out.end(),
        [](const SafeTensor& a, const SafeTensor& b) { return a.byteOffset < b.byteOffset; });
    return out;
}

} // namespace shardscope
