// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "core/torchfile/pickle/pickle_graph.h"

#include <functional>
#include <optional>

namespace shardscope {

/// Second pass over a parsed pickle: known patterns get meaning, exact matches only; the rest stays opaque.
/// All functions are pure and accept any node; a mismatch is an empty answer, never a guess.

[[nodiscard]] bool isGlobal(
    const PickleGraph& graph, NodeId node, std::string_view module, std::string_view name);
/// Dict, or an OrderedDict/defaultdict/Counter call node.
[[nodiscard]] bool isMapping(const PickleGraph& graph, NodeId node);
/// key, value, key, value … of a mapping.
[[nodiscard]] std::span<const NodeId> mappingItems(const PickleGraph& graph, NodeId node);
/// The value of the last pair with this string as key; kNoNode when there is none or `mapping` is not a
/// mapping.
[[nodiscard]] NodeId lookup(const PickleGraph& graph, NodeId mapping, std::string_view key);
/// The same for an integer key.
[[nodiscard]] NodeId lookup(const PickleGraph& graph, NodeId mapping, int64_t key);
/// List or Tuple elements; empty for other kinds.
[[nodiscard]] std::span<const NodeId> sequenceItems(const PickleGraph& graph, NodeId node);

[[nodiscard]] std::optional<int64_t> asInteger(
    const PickleGraph& graph, NodeId node); ///< Int; Bool is not one
[[nodiscard]] std::optional<double> asNumber(const PickleGraph& graph, NodeId node); ///< Int, Float
[[nodiscard]] std::optional<bool> asBool(const PickleGraph& graph, NodeId node);
[[nodiscard]] std::optional<std::string_view> asString(const PickleGraph& graph, NodeId node);
/// torch.Size((…)) or a plain tuple/list of non-negative ints.
[[nodiscard]] std::optional<Shape> asShape(const PickleGraph& graph, NodeId node);
/// An enum member in either pickled form, Cls(value) or getattr(Cls, "name"), for an integer-valued Cls.
[[nodiscard]] std::optional<int64_t> asEnumValue(const PickleGraph& graph, NodeId node,
    std::string_view module, std::string_view className,
    const std::function<std::optional<int64_t>(std::string_view)>& byName);

/// A NewObj or Reduce-made instance with a state: class name and attribute dict. Empty for other nodes.
struct ObjectView {
    std::string_view module;
    std::string_view className;
    NodeId attributes = kNoNode; ///< a mapping, or kNoNode
};
[[nodiscard]] std::optional<ObjectView> asObject(const PickleGraph& graph, NodeId node);

/// ('storage', StorageType, key, location, numel) of a persistent id.
struct StorageView {
    NodeId node = kNoNode; ///< the PersistentId node
    std::string_view key; ///< record "data/KEY"
    std::string_view location; ///< "cpu", "cuda:3"; ignored when reading
    DType dtype = DType::Unknown; ///< of the storage class; UInt8 for untyped ones
    uint64_t elements = 0; ///< of that dtype
};
[[nodiscard]] std::optional<StorageView> asStorage(const PickleGraph& graph, NodeId node);

/// A tensor in any of torch's rebuild forms (_rebuild_tensor_v2, _v3, _rebuild_parameter,
/// _rebuild_from_type_v2 unwrapped).
struct TensorView {
    NodeId node = kNoNode; ///< the outermost node of the tensor
    StorageView storage;
    DType dtype = DType::Unknown;
    uint64_t storageOffset = 0; ///< elements of `dtype`
    Shape sizes;
    std::vector<uint64_t> strides; ///< elements
    bool requiresGrad = false;
    NodeId attributes = kNoNode; ///< Python attributes (ds_id) of a wrapper with state, or kNoNode
    NodeId arguments = kNoNode; ///< of the innermost call: (storage, offset, sizes, strides, …)

    [[nodiscard]] std::optional<uint64_t> elements() const { return elementCount(sizes); }
    [[nodiscard]] bool isContiguous() const;
};
/// Checked: counts fit, strides match sizes, the view is inside its storage (T02–T06 of the hostile
/// catalogue).
[[nodiscard]] Result<TensorView> asTensor(const PickleGraph& graph, NodeId node);
/// Whether the node has the form of a tensor at all, valid or not.
[[nodiscard]] bool looksLikeTensor(const PickleGraph& graph, NodeId node);

/// A short printable form for people and JSON strings ("<deepspeed….LossScaler>", "torch.float16").
[[nodiscard]] std::string nodeText(const PickleGraph& graph, NodeId node, size_t limitBytes = 200);

} // namespace shardscope
