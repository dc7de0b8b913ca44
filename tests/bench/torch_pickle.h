// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/shape.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::bench {

/// Builds what torch.save pickles, with the sharing that CPython's objects have: one object per class, per
/// key of the program's own dictionaries, per storage key.
class TorchPickle
{
public:
    using Entries = std::initializer_list<std::pair<std::string_view, NodeId>>;

    /// A view of a storage in C order; the location is always "cpu". `stored` is the storage's size in
    /// elements.
    struct Tensor {
        std::string_view storageClass; ///< "FloatStorage"
        uint32_t storage = 0;
        uint64_t stored = 0;
        uint64_t offset = 0;
        Shape shape;
        bool requiresGrad = false;
    };

    PickleBuilder& builder() { return m_builder; }
    NodeId word(std::string_view text); ///< one object per text: keys and constants of a program
    NodeId integer(uint64_t value) { return m_builder.integer(static_cast<int64_t>(value)); }
    NodeId boolean(bool value) { return m_builder.boolean(value); }
    NodeId none() { return m_builder.none(); }
    NodeId real(double value) { return m_builder.real(value); }
    NodeId global(std::string_view module, std::string_view name);
    NodeId dict(Entries entries = {});
    void set(NodeId dict, std::string_view key, NodeId value) { m_builder.setItem(dict, word(key), value); }
    NodeId orderedDict();
    NodeId integers(const std::vector<uint64_t>& values, bool tuple);
    /// An instance made by __new__ without arguments, then given these attributes.
    NodeId object(std::string_view module, std::string_view name, Entries attributes);
    NodeId torchSize(const Shape& shape);
    NodeId tensor(const Tensor& tensor);
    /// A tensor with a Python attribute, as torch saves it.
    NodeId tensorWith(const Tensor& tensor, std::string_view attribute, const std::string& value);

    Result<std::string> finish(NodeId root);

private:
    NodeId tensorArguments(const Tensor& tensor);

    PickleBuilder m_builder;
    std::unordered_map<std::string, NodeId> m_words;
    std::unordered_map<std::string, NodeId> m_globals;
    std::vector<NodeId> m_storageKeys;
};

} // namespace shardscope::bench
