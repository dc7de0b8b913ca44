// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/torchfile/pickle/foreign_tensors.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <fmt/format.h>

#include <array>

namespace shardscope {

namespace {

constexpr size_t kMaxDimensions = 64;
constexpr int kMaxWrappers = 8; ///< torch nests two at most: a type around a Parameter around a tensor

enum class Rebuild { None, V2, V3, Parameter, FromType, OnDevice };

Rebuild rebuildOf(const PickleGraph& graph, NodeId callable)
{
    const std::string_view module = graph.globalModule(callable);
    const std::string_view name = graph.globalName(callable);
    if (module == "torch._tensor")
        return name == "_rebuild_from_type_v2" ? Rebuild::FromType : Rebuild::None;
    // torch_npu/utils/storage.py, _reduce_ex: a copy on the CPU, and after it the layout on the NPU
    if (module == "torch_npu.utils.storage" && name == "_rebuild_npu_tensor")
        return Rebuild::V2;
    if (module != "torch._utils")
        return Rebuild::None;
    if (name == "_rebuild_tensor_v2")
        return Rebuild::V2;
    if (name == "_rebuild_tensor_v3")
        return Rebuild::V3;
    if (name == "_rebuild_parameter" || name == "_rebuild_parameter_with_state")
        return Rebuild::Parameter;
    if (name == "_rebuild_device_tensor_from_cpu_tensor")
        return Rebuild::OnDevice;
    return Rebuild::None;
}

/// A call to be, not yet unwrapped: `_rebuild_from_type_v2` holds its function and arguments apart.
struct Call {
    NodeId callable = kNoNode;
    NodeId arguments = kNoNode;
};

std::optional<DType> dtypeOfStorageType(const PickleGraph& graph, NodeId type)
{
    if (graph.kind(type) != NodeKind::Global)
        return std::nullopt;
    const std::string_view module = graph.globalModule(type);
    const std::string_view name = graph.globalName(type);
    if (name == "UntypedStorage" || name == "_UntypedStorage")
        return module == "torch.storage" || module == "torch" ? std::optional(DType::UInt8) : std::nullopt;
    if (module != "torch" && module != "torch.cuda")
        return std::nullopt;
    return dtypeFromStorageClass(name);
}

Error invalid(std::string why)
{
    return Error{ErrorCode::Damaged, "a tensor has an invalid description: " + std::move(why), {}, {}};
}

/// Python attributes: a dict, or (dict, slots). The outermost wrapper's win.
void readState(const PickleGraph& graph, NodeId state, TensorView& view)
{
    if (graph.kind(state) == NodeKind::Tuple && graph.items(state).size() == 2)
        state = graph.items(state)[0];
    if (view.attributes == kNoNode && isMapping(graph, state))
        view.attributes = state;
}

DType dtypeOf(const PickleGraph& graph, NodeId node)
{
    if (graph.kind(node) != NodeKind::Global || graph.globalModule(node) != "torch")
        return DType::Unknown;
    return dtypeFromName(graph.globalName(node)).value_or(DType::Unknown);
}

/// The innermost _rebuild_tensor_v2 or _v3 call; fills what the wrappers around it say.
std::optional<Call> unwrap(const PickleGraph& graph, NodeId node, TensorView& view)
{
    if (graph.kind(node) != NodeKind::Reduce)
        return std::nullopt;
    Call call{graph.callable(node), graph.arguments(node)};
    bool parameter = false;
    for (int depth = 0; depth < kMaxWrappers; ++depth) {
        const auto arguments = graph.items(call.arguments);
        switch (rebuildOf(graph, call.callable)) {
        case Rebuild::V2:
        case Rebuild::V3:
            if (arguments.size() < 5)
                return std::nullopt;
            if (!parameter)
                view.requiresGrad = graph.boolean(arguments[4]);
            return call;
        case Rebuild::Parameter:
            if (arguments.size() < 3 || graph.kind(arguments[0]) != NodeKind::Reduce)
                return std::nullopt;
            if (!parameter)
                view.requiresGrad = graph.boolean(arguments[1]);
            parameter = true;
            if (arguments.size() == 4) // _rebuild_parameter_with_state
                readState(graph, arguments[3], view);
            call = {graph.callable(arguments[0]), graph.arguments(arguments[0])};
            break;
        case Rebuild::OnDevice: // (tensor, dtype, device, requires_grad)
            if (arguments.size() < 4 || graph.kind(arguments[0]) != NodeKind::Reduce)
                return std::nullopt;
            if (!parameter)
                view.requiresGrad = graph.boolean(arguments[3]);
            parameter = true;
            view.dtype = dtypeOf(graph, arguments[1]);
            call = {graph.callable(arguments[0]), graph.arguments(arguments[0])};
            break;
        case Rebuild::FromType:
            if (arguments.size() != 4 || graph.kind(arguments[2]) != NodeKind::Tuple)
                return std::nullopt;
            readState(graph, arguments[3], view);
            call = {arguments[0], arguments[2]};
            break;
        case Rebuild::None:
            return std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<std::vector<uint64_t>> counts(const PickleGraph& graph, NodeId node)
{
    return asShape(graph, node);
}

/// Elements of the storage that the view spans from its offset on; nothing on overflow.
std::optional<uint64_t> span(const TensorView& view)
{
    uint64_t last = 0;
    for (size_t i = 0; i < view.sizes.size(); ++i) {
        if (view.sizes[i] == 0)
            return 0;
        const auto step = checkedMultiply(view.sizes[i] - 1, view.strides[i]);
        const auto sum = step ? checkedAdd(last, *step) : std::nullopt;
        if (!sum)
            return std::nullopt;
        last = *sum;
    }
    return checkedAdd<uint64_t>(last, 1);
}

Status checkExtent(const TensorView& view)
{
    const auto elements = view.elements();
    const auto bytes = elements ? checkedMultiply<uint64_t>(*elements, itemSize(view.dtype)) : std::nullopt;
    if (!bytes)
        return forward(invalid("its size does not fit 64 bits"));
    const auto extent = span(view);
    const auto end = extent ? checkedAdd(view.storageOffset, *extent) : std::nullopt;
    const auto endBytes = end ? checkedMultiply<uint64_t>(*end, itemSize(view.dtype)) : std::nullopt;
    const auto held = checkedMultiply<uint64_t>(view.storage.elements, itemSize(view.storage.dtype));
    if (!held)
        return forward(invalid("the size of its storage does not fit 64 bits"));
    if (*extent != 0 && (!endBytes || *endBytes > *held))
        return forward(invalid(fmt::format("it reaches beyond its storage of {} bytes", *held)));
    return {};
}

} // namespace

std::optional<StorageView> asStorage(const PickleGraph& graph, NodeId node)
{
    const NodeId target = graph.target(node);
    const auto parts = graph.items(target);
    if (graph.kind(target) != NodeKind::Tuple || parts.size() != 5)
        return std::nullopt;
    const auto tag = asString(graph, parts[0]);
    const auto dtype = dtypeOfStorageType(graph, parts[1]);
    const auto key = asString(graph, parts[2]);
    const auto location = asString(graph, parts[3]);
    const auto elements = asInteger(graph, parts[4]);
    if (tag != "storage" || !dtype || !key || !location || !elements || *elements < 0)
        return std::nullopt;
    return StorageView{node, *key, *location, *dtype, static_cast<uint64_t>(*elements)};
}

bool isForeignTensor(const PickleGraph& graph, NodeId node)
{
    if (graph.kind(node) != NodeKind::Reduce || graph.kind(graph.callable(node)) != NodeKind::Global)
        return false;
    const std::string_view module = graph.globalModule(graph.callable(node));
    const std::string_view name = graph.globalName(graph.callable(node));
    if (module == "torch._utils")
        return name == "_rebuild_xla_tensor" || name == "_rebuild_device_tensor_from_numpy";
    const bool ofTorch = module == "torch" || module.starts_with("torch.");
    return !ofTorch && name.starts_with("_rebuild") && name.find("tensor") != std::string_view::npos
        && rebuildOf(graph, graph.callable(node)) == Rebuild::None;
}

std::string tensorLibrary(const PickleGraph& graph, NodeId node)
{
    const std::string_view module = graph.globalModule(graph.callable(node));
    if (module == "torch._utils")
        return "XLA or another accelerator as a NumPy array (`"
            + std::string(graph.globalName(graph.callable(node))) + "`)";
    return "`" + toValidUtf8(std::string(module.substr(0, module.find('.')))) + "`";
}

std::optional<std::string> foreignTensors(const PickleGraph& graph)
{
    for (uint32_t i = 0; i < graph.nodeCount(); ++i) {
        if (isForeignTensor(graph, NodeId{i}))
            return tensorLibrary(graph, NodeId{i});
    }
    return std::nullopt;
}

bool looksLikeTensor(const PickleGraph& graph, NodeId node)
{
    if (graph.kind(node) != NodeKind::Reduce)
        return false;
    const Rebuild outer = rebuildOf(graph, graph.callable(node));
    if (outer != Rebuild::FromType)
        return outer != Rebuild::None;
    const auto arguments = graph.items(graph.arguments(node));
    return !arguments.empty() && rebuildOf(graph, arguments[0]) != Rebuild::None;
}

Result<TensorView> asTensor(const PickleGraph& graph, NodeId node)
{
    TensorView view;
    view.node = node;
    const auto call = unwrap(graph, node, view);
    if (!call && isForeignTensor(graph, node))
        return fail(ErrorCode::Unsupported,
            "a tensor was saved by " + tensorLibrary(graph, node)
                + ", in a form that this build does not read");
    if (!call)
        return forward(invalid("it is not one of torch's rebuild forms"));
    const DType onDevice = view.dtype;
    const auto arguments = graph.items(call->arguments);
    const auto storage = asStorage(graph, arguments[0]);
    if (!storage)
        return forward(invalid("its storage is not ('storage', type, key, location, count)"));
    if (storageConflicts(graph, arguments[0]))
        return forward(invalid(
            fmt::format("storage {} is used with two types or two sizes", storage->key.substr(0, 64))));
    view.storage = *storage;
    view.arguments = call->arguments;
    view.dtype = storage->dtype;
    if (rebuildOf(graph, call->callable) == Rebuild::V3) {
        if (arguments.size() < 7 || graph.globalModule(arguments[6]) != "torch")
            return forward(invalid("its dtype is missing"));
        view.dtype = dtypeOf(graph, arguments[6]);
    }
    if (onDevice != DType::Unknown && onDevice != view.dtype)
        return fail(ErrorCode::Unsupported, "a tensor is stored in another type than it has on its device");
    const auto offset = asInteger(graph, arguments[1]);
    if (!offset || *offset < 0)
        return forward(invalid("its storage offset is not a count"));
    view.storageOffset = static_cast<uint64_t>(*offset);
    auto sizes = counts(graph, arguments[2]);
    auto strides = counts(graph, arguments[3]);
    if (!sizes || !strides)
        return forward(invalid("its sizes or strides are not counts"));
    if (sizes->size() != strides->size())
        return forward(
            invalid(fmt::format("it has {} sizes and {} strides", sizes->size(), strides->size())));
    if (sizes->size() > kMaxDimensions)
        return forward(invalid(fmt::format("it has {} dimensions, 64 are allowed", sizes->size())));
    view.sizes = std::move(*sizes);
    view.strides = std::move(*strides);
    SHARDSCOPE_CHECK(checkExtent(view));
    return view;
}

bool TensorView::isContiguous() const
{
    uint64_t expected = 1;
    for (const uint64_t size : sizes)
        if (size == 0)
            return true;
    for (size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i] != 1 && strides[i] != expected)
            return false;
        expected *= sizes[i]; // cannot overflow: asTensor checked the product
    }
    return true;
}

} // namespace shardscope
