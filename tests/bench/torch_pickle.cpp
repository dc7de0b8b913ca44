// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/torch_pickle.h"

#include "core/torchfile/pickle/pickle_emitter.h"

#include <algorithm>
#include <array>

namespace shardscope::bench {

NodeId TorchPickle::word(std::string_view text)
{
    const auto [entry, isNew] = m_words.try_emplace(std::string(text), kNoNode);
    if (isNew)
        entry->second = m_builder.string(text);
    return entry->second;
}

NodeId TorchPickle::global(std::string_view module, std::string_view name)
{
    const auto [entry, isNew] = m_globals.try_emplace(std::string(module).append(" ").append(name), kNoNode);
    if (isNew)
        entry->second = m_builder.global(module, name);
    return entry->second;
}

NodeId TorchPickle::dict(Entries entries)
{
    const NodeId made = m_builder.dict();
    for (const auto& [key, value] : entries)
        set(made, key, value);
    return made;
}

NodeId TorchPickle::orderedDict()
{
    return m_builder.reduce(global("collections", "OrderedDict"), m_builder.tuple({}));
}

NodeId TorchPickle::integers(const std::vector<uint64_t>& values, bool tuple)
{
    std::vector<NodeId> items;
    items.reserve(values.size());
    for (const uint64_t value : values)
        items.push_back(integer(value));
    return tuple ? m_builder.tuple(items) : m_builder.list(items);
}

NodeId TorchPickle::object(std::string_view module, std::string_view name, Entries attributes)
{
    const NodeId made = m_builder.newObj(global(module, name), m_builder.tuple({}));
    m_builder.setState(made, dict(attributes));
    return made;
}

NodeId TorchPickle::torchSize(const Shape& shape)
{
    const std::array arguments{integers(shape, true)};
    return m_builder.reduce(global("torch", "Size"), m_builder.tuple(arguments));
}

NodeId TorchPickle::tensorArguments(const Tensor& tensor)
{
    while (m_storageKeys.size() <= tensor.storage)
        m_storageKeys.push_back(m_builder.string(std::to_string(m_storageKeys.size())));
    const std::array id{word("storage"), global("torch", tensor.storageClass), m_storageKeys[tensor.storage],
        word("cpu"), integer(tensor.stored)};
    std::vector<uint64_t> strides(tensor.shape.size());
    uint64_t stride = 1;
    for (size_t i = strides.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= std::max<uint64_t>(tensor.shape[i], 1);
    }
    const std::array arguments{m_builder.persistentId(m_builder.tuple(id)), integer(tensor.offset),
        integers(tensor.shape, true), integers(strides, true), boolean(tensor.requiresGrad), orderedDict()};
    return m_builder.tuple(arguments);
}

NodeId TorchPickle::tensor(const Tensor& tensor)
{
    return m_builder.reduce(global("torch._utils", "_rebuild_tensor_v2"), tensorArguments(tensor));
}

NodeId TorchPickle::tensorWith(const Tensor& tensor, std::string_view attribute, const std::string& value)
{
    const NodeId attributes = dict({{attribute, m_builder.string(value)}});
    const std::array arguments{global("torch._utils", "_rebuild_tensor_v2"), global("torch", "Tensor"),
        tensorArguments(tensor), attributes};
    return m_builder.reduce(global("torch._tensor", "_rebuild_from_type_v2"), m_builder.tuple(arguments));
}

Result<std::string> TorchPickle::finish(NodeId root)
{
    return emitPickle(m_builder.finish(root));
}

} // namespace shardscope::bench
