// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/module_reader.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/wrapped_names.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace shardscope {

namespace {

constexpr std::string_view kExtraState = "_extra_state";

/// Reads one tensor of `module` and the names that belong to it.
class ModuleReader
{
public:
    explicit ModuleReader(Reading& reading)
        : m_reading(reading)
        , m_graph(reading.content(reading.out.templateModel)->pickle())
    {
    }

    void run(bool weightsAreWhole)
    {
        readBufferNames();
        readFrozenShapes();
        readSharedNames();
        collectRecordedNames();
        const auto items = mappingItems(m_graph, lookup(m_graph, m_reading.modelRoot, "module"));
        if (weightsAreWhole) {
            m_byExtent.reserve(items.size() / 2);
            m_reading.out.whole.reserve(items.size() / 2);
        }
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            if (const auto name = asString(m_graph, items[i]))
                readEntry(std::string(*name), items[i + 1], weightsAreWhole);
        }
        addMissingFrozen();
        sortWholeTensors(m_reading);
    }

private:
    [[nodiscard]] std::string inFile(const char* what, const char* trouble) const
    {
        return what + (" in `" + m_reading.out.file(m_reading.out.templateModel).name) + "`" + trouble;
    }

    void readBufferNames()
    {
        m_namesBuffers = lookup(m_graph, m_reading.modelRoot, "buffer_names") != kNoNode;
        for (const NodeId item :
            sequenceItems(m_graph, lookup(m_graph, m_reading.modelRoot, "buffer_names"))) {
            if (const auto name = asString(m_graph, item))
                m_buffers.emplace(*name);
        }
    }

    /// Before 0.4.2, and with experts before 0.19.3, no file names buffers.
    [[nodiscard]] bool looksLikeBuffer(const std::string& name, const TensorView& tensor) const
    {
        return !m_reading.out.findParam(name) && !m_frozen.contains(name) && !isFloatingPoint(tensor.dtype);
    }

    void readFrozenShapes()
    {
        m_recordsFrozen = lookup(m_graph, m_reading.modelRoot, "frozen_param_shapes") != kNoNode;
        const auto items = mappingItems(m_graph, lookup(m_graph, m_reading.modelRoot, "frozen_param_shapes"));
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(m_graph, items[i]);
            auto shape = asShape(m_graph, items[i + 1]);
            if (name && shape)
                m_frozen.emplace(std::string(*name), std::move(*shape));
        }
    }

    void readSharedNames()
    {
        const auto items = mappingItems(m_graph, lookup(m_graph, m_reading.modelRoot, "shared_params"));
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto alias = asString(m_graph, items[i]);
            const auto owner = asString(m_graph, items[i + 1]);
            if (alias && owner)
                m_shared.emplace(std::string(*alias), std::string(*owner));
        }
    }

    /// Names that the module may list in another form.
    void collectRecordedNames()
    {
        const auto add = [&](const std::string& name) {
            for (const std::string& listed : {withoutWrappers(name), withoutAdapterName(name)}) {
                if (listed == name)
                    continue;
                const auto [known, isNew] = m_recorded.emplace(listed, name);
                if (!isNew && known->second != name)
                    known->second.clear(); // two adapters: it could be either
            }
        };
        for (const Parameter& param : m_reading.out.params)
            add(param.name);
        for (const auto& [name, shape] : m_frozen)
            add(name);
        for (const auto& [alias, owner] : m_shared)
            add(alias);
        for (const std::string& name : m_buffers)
            add(name);
    }

    [[nodiscard]] bool isRecorded(const std::string& name) const
    {
        return m_reading.out.paramByName.contains(name) || m_frozen.contains(name) || m_shared.contains(name)
            || m_buffers.contains(name);
    }

    /// The name under which shapes, ties and buffers are recorded: modules that wrap others, and PEFT, change
    /// names in state dicts.
    [[nodiscard]] std::string recordedName(const std::string& listed) const
    {
        if (isRecorded(listed))
            return listed;
        std::string plain = withoutWrappers(listed);
        if (const auto known = m_recorded.find(plain); known != m_recorded.end() && !known->second.empty())
            return known->second;
        return isRecorded(plain) ? plain : listed;
    }

    /// Whether it is carried like a buffer although no list of buffers names it: the extra state of a module
    /// (torch/nn/modules/module.py, get_extra_state), and in ZeRO-3 every tensor that is not a placeholder:
    /// the data of quantised weights.
    [[nodiscard]] bool isCarried(
        const std::string& name, const TensorView& tensor, bool weightsAreWhole) const
    {
        if (isRecorded(name))
            return false;
        const bool extra = name == kExtraState || name.ends_with("." + std::string(kExtraState));
        return extra || (!weightsAreWhole && tensor.sizes != Shape{0} && tensor.sizes != Shape{1});
    }

    void readEntry(const std::string& listed, NodeId node, bool weightsAreWhole)
    {
        const std::string name = recordedName(listed);
        readTensor(name, listed, node, weightsAreWhole);
        const auto param = m_reading.out.paramByName.find(name);
        if (name != listed && param != m_reading.out.paramByName.end())
            m_reading.out.paramByName.emplace(listed, param->second);
    }

    void readTensor(const std::string& name, const std::string& listed, NodeId node, bool weightsAreWhole)
    {
        if (!looksLikeTensor(m_graph, node))
            return; // extra state of a module: kept in the file, not a parameter
        const auto tensor = asTensor(m_graph, node);
        if (!tensor) {
            m_reading.add(code::kTensorInvalid, Severity::Error,
                inFile("the tensor's description", " does not hold together"), ParamAddress{name, "weight"},
                {describe(tensor.error())});
            return;
        }
        const bool isBuffer = m_buffers.contains(name) || isCarried(name, *tensor, weightsAreWhole)
            || (!m_namesBuffers && looksLikeBuffer(name, *tensor));
        const bool real = weightsAreWhole && !(m_reading.placeholders && tensor->sizes == Shape{0});
        // Tensors without elements share an address (0), so the file records them as tied.
        const bool isEmpty = real && tensor->elements() == 0;
        if (const auto alias = m_shared.find(name);
            alias != m_shared.end() && !isBuffer && !isEmpty && !(real && isLeftOut(alias->second))) {
            addAlias(name, alias->second, real ? &tensor->sizes : nullptr);
            return;
        }
        auto known = m_reading.out.findParam(name);
        if (!known && !isBuffer && !real && !m_frozen.contains(name)) {
            m_reading.add(code::kAliasUnrecorded, Severity::Warning,
                "the module lists this name, but no shard holds it: probably a tie that was not recorded",
                ParamAddress{name, "weight"},
                {m_recordsFrozen ? "a module object registered under two names leaves no record of the tie"
                                 : "releases before 0.9.2 record no ties, and leave frozen parameters out"});
            return;
        }
        if (!known && !isBuffer && real) {
            if (const auto owner = sameExtent(*tensor)) {
                addAlias(name, m_reading.out.params[index(*owner)].name, &tensor->sizes);
                return;
            }
        }
        if (!known) {
            Shape shape = tensor->sizes;
            if (const auto frozen = m_frozen.find(name); frozen != m_frozen.end())
                shape = frozen->second;
            known = addParameter(m_reading, isBuffer ? listed : name, std::move(shape),
                isBuffer ? ParamRole::Buffer : ParamRole::Frozen);
        }
        const Parameter& param = m_reading.out.params[index(*known)];
        if (real || isBuffer)
            addWhole(*known, *tensor);
        else if (param.elements == 0 && param.role == ParamRole::Frozen)
            addWithoutElements(*known, tensor->dtype);
    }

    /// Whether a tied parameter's owner is in no file. exclude_frozen_parameters leaves frozen ones out by
    /// the names that torch lists, one of each tied family: the other names keep the tensor.
    [[nodiscard]] bool isLeftOut(const std::string& owner) const
    {
        return !m_reading.out.findParam(owner)
            && lookup(m_graph, lookup(m_graph, m_reading.modelRoot, "module"), owner) == kNoNode;
    }

    /// `shape` is null if the module holds placeholders (ZeRO-3). The owner's shape is used then.
    void addAlias(const std::string& name, const std::string& owner, const Shape* shape)
    {
        const auto ownerId = m_reading.out.findParam(owner);
        if (!ownerId) { // the owner comes later in the module: add a parameter with its own shape
            m_reading.add(code::kAliasUnrecorded, Severity::Warning,
                "the tied parameter's owner is not in the checkpoint", ParamAddress{name, "weight"},
                {"owner " + owner});
            return;
        }
        const Parameter& target = m_reading.out.params[index(*ownerId)];
        const ParamRole role = target.role;
        const int32_t group = target.group;
        const ParamId alias
            = addParameter(m_reading, name, shape == nullptr ? Shape(target.shape) : *shape, role);
        m_reading.out.params[index(alias)].sharedWith = *ownerId;
        m_reading.out.params[index(alias)].group = group;
    }

    void addWhole(ParamId param, const TensorView& tensor)
    {
        if (index(param) < m_reading.reshaped.size() && m_reading.reshaped[index(param)])
            return; // the file has no complete copy
        if (!addWholeTensor(m_reading, m_reading.out.templateModel, param, tensor))
            return;
        // Empty tensors share an address without being tied. If several start at one place, the first is the
        // owner.
        if (m_reading.out.params[index(param)].elements > 0 && !sameExtent(tensor))
            m_byExtent.emplace(hashOf(tensor), Extent{tensor.storage.key, tensor.storageOffset, param});
    }

    /// ZeRO-3: a parameter without elements has a placeholder like all others, but is complete.
    void addWithoutElements(ParamId param, DType dtype)
    {
        WholeTensor whole;
        whole.param = param;
        whole.dtype = dtype;
        m_reading.out.whole.push_back(std::move(whole));
    }

    /// Where a parameter's tensor is stored. Its shape is the parameter's. The key points into the graph.
    struct Extent {
        std::string_view storage;
        uint64_t offset = 0;
        ParamId param = kNoParam;
    };

    static uint64_t hashOf(const TensorView& tensor)
    {
        uint64_t hash = StringHash()(tensor.storage.key);
        const auto mix = [&](uint64_t number) { hash = (hash ^ number) * 0x9E3779B97F4A7C15u; };
        mix(tensor.storageOffset);
        for (const uint64_t size : tensor.sizes)
            mix(size);
        return hash;
    }

    [[nodiscard]] std::optional<ParamId> sameExtent(const TensorView& tensor) const
    {
        const auto [begin, end] = m_byExtent.equal_range(hashOf(tensor));
        for (auto at = begin; at != end; ++at) {
            const Extent& extent = at->second;
            if (extent.storage == tensor.storage.key && extent.offset == tensor.storageOffset
                && m_reading.out.params[index(extent.param)].shape == tensor.sizes)
                return extent.param;
        }
        return std::nullopt;
    }

    /// Adds frozen parameters that `module` does not list: excluded when saving, or left out because they
    /// have no elements.
    void addMissingFrozen()
    {
        for (const auto& [name, shape] : m_frozen) {
            if (!m_reading.out.findParam(name))
                addParameter(m_reading, name, shape, ParamRole::Frozen);
        }
    }

    Reading& m_reading;
    const PickleGraph& m_graph;
    bool m_namesBuffers = true;
    bool m_recordsFrozen = true;
    std::unordered_set<std::string> m_buffers;
    std::map<std::string, Shape> m_frozen;
    std::map<std::string, std::string> m_shared;
    std::unordered_map<std::string, std::string> m_recorded; ///< by the name in a state dict; empty: several
    std::unordered_multimap<uint64_t, Extent> m_byExtent; ///< by hashOf()
};

} // namespace

ParamId addParameter(Reading& reading, std::string name, Shape shape, ParamRole role)
{
    Checkpoint& out = reading.out;
    const auto [entry, isNew]
        = out.paramByName.emplace(name, ParamId{static_cast<uint32_t>(out.params.size())});
    if (!isNew)
        return entry->second;
    Parameter param;
    param.name = std::move(name);
    const auto elements = elementCount(shape);
    if (!elements)
        reading.add(code::kTensorInvalid, Severity::Error,
            "the shape has more elements than 64 bits can count", ParamAddress{param.name, "fp32"});
    param.elements = elements.value_or(0);
    param.shape = std::move(shape);
    param.role = role;
    out.params.push_back(std::move(param));
    return entry->second;
}

Status placeInNextUnit(
    Reading& reading, std::string name, Shape shape, FlatUnit& unit, std::vector<uint64_t>& elements)
{
    const ParamId id = addParameter(reading, std::move(name), std::move(shape), ParamRole::Trainable);
    Parameter& param = reading.out.params[index(id)];
    if (param.unit != kNoUnit)
        return fail(ErrorCode::Damaged,
            "`" + toValidUtf8(param.name) + "` is an expert's and another parameter's name",
            reading.out.tagFolder.string());
    param.group = unit.group;
    param.unit = UnitId{static_cast<uint32_t>(reading.out.units.size())};
    param.indexInUnit = static_cast<uint32_t>(unit.params.size());
    unit.params.push_back(id);
    elements.push_back(param.elements);
    return {};
}

void reserveParameters(const Reading& reading)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    if (file == nullptr)
        return;
    const PickleGraph& graph = file->pickle();
    const size_t count = mappingItems(graph, lookup(graph, reading.modelRoot, "module")).size() / 2;
    reading.out.params.reserve(count);
    reading.out.paramByName.reserve(count);
}

void readModule(Reading& reading, bool weightsAreWhole)
{
    if (reading.content(reading.out.templateModel) != nullptr)
        ModuleReader(reading).run(weightsAreWhole);
}

bool wasSavedWithZero(const Reading& reading)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    return file != nullptr
        && !sequenceItems(file->pickle(), lookup(file->pickle(), reading.modelRoot, "param_shapes")).empty();
}

std::optional<ShapeLists> readParamShapes(const Reading& reading)
{
    const TorchFile* file = reading.content(reading.out.templateModel);
    return file == nullptr ? std::nullopt : readParamShapes(file->pickle(), reading.modelRoot);
}

std::optional<ShapeLists> readParamShapes(const PickleGraph& graph, NodeId modelRoot)
{
    const NodeId list = lookup(graph, modelRoot, "param_shapes");
    if (list == kNoNode || graph.kind(list) != NodeKind::List)
        return std::nullopt;
    ShapeLists out;
    std::unordered_set<std::string_view> seen; // a parameter is in one place
    size_t count = 0;
    for (const NodeId entry : sequenceItems(graph, list))
        count += mappingItems(graph, entry).size() / 2;
    seen.reserve(count);
    for (const NodeId entry : sequenceItems(graph, list)) {
        if (!isMapping(graph, entry))
            return std::nullopt;
        auto& group = out.emplace_back();
        const auto items = mappingItems(graph, entry);
        group.reserve(items.size() / 2);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(graph, items[i]);
            auto shape = asShape(graph, items[i + 1]);
            if (!name || !shape || !elementCount(*shape) || !seen.emplace(*name).second)
                return std::nullopt;
            group.push_back({*name, std::move(*shape)});
        }
    }
    return out;
}

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
