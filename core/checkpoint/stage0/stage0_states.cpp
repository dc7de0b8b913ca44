// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/stage0/stage0_states.h"

#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/other_values.h"
#include "core/checkpoint/units/state_values.h"
#include "core/checkpoint/units/unit_states.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace shardscope {

namespace {

class Filler
{
public:
    Filler(const Reading& reading, FlatUnit& unit, const WholeSources& sources)
        : m_reading(reading)
        , m_unit(unit)
        , m_sources(sources)
        , m_file(*reading.content(reading.out.templateModel))
        , m_graph(m_file.pickle())
    {
    }

    Status run()
    {
        addState("fp32", m_sources.masterType, m_sources.masters);
        const auto first = std::find_if(m_sources.entries.begin(), m_sources.entries.end(),
            [](NodeId entry) { return entry != kNoNode; });
        const std::string group = "group " + std::to_string(m_unit.group);
        if (first == m_sources.entries.end()) {
            m_reading.add(code::kStateMissing, Severity::Info,
                "there is no optimizer state yet: the checkpoint was saved before the first step",
                m_reading.out.file(m_reading.out.templateModel).name, {group});
            return {};
        }
        const auto last = std::find_if(m_sources.entries.rbegin(), m_sources.entries.rend(),
            [](NodeId entry) { return entry != kNoNode; });
        m_unit.stateNode = m_sources.stepOfLast ? *last : *first;
        std::set<std::string> inFirst;
        Status added;
        for (const StateValue& value : stateValues(m_graph, *first)) {
            if (!inFirst.insert(value.name).second)
                setStateAside(
                    m_reading, value.name, "of " + group + " is there twice", "its names are not unique");
            else if (added)
                added = add(value, group);
        }
        for (const NodeId entry : m_sources.entries) {
            for (const StateValue& value : stateValues(m_graph, entry)) {
                if (!inFirst.contains(value.name))
                    setStateAside(m_reading, value.name, "of " + group + " is kept for some parameters only",
                        "the others have none");
            }
        }
        noteUntouched(group);
        return added;
    }

private:
    [[nodiscard]] const Parameter& param(size_t at) const
    {
        return m_reading.out.params[index(m_unit.params[at])];
    }

    void addState(std::string name, DType dtype, std::vector<StoredRun> runs)
    {
        UnitState state;
        state.name = std::move(name);
        state.dtype = dtype;
        state.perRank.resize(1);
        const auto present
            = std::find_if(runs.begin(), runs.end(), [](const StoredRun& run) { return run.isPresent(); });
        if (present != runs.end())
            state.perRank.front()
                = {present->file, StoredRun::kNoRecord, 0, m_unit.partition.payloadElements()};
        state.elements = std::make_shared<const TensorMap>(std::move(runs));
        m_unit.states.push_back(std::move(state));
    }

    Status add(const StateValue& value, const std::string& group)
    {
        if (value.name == "step")
            takeSteps(group);
        else if (!isElementwise(value.name))
            checkOther(value);
        else if (isQuantised(value.name))
            setStateAside(m_reading, value.name, "of " + group + " has bytes for some of its parameters");
        else
            return collect(value.name);
        return {};
    }

    [[nodiscard]] NodeId valueOf(size_t at, std::string_view name) const
    {
        return m_sources.entries[at] == kNoNode ? kNoNode : stateValue(m_graph, m_sources.entries[at], name);
    }

    /// Whether some parameters have codes of one byte, and others have numbers (bitsandbytes, min_8bit_size).
    [[nodiscard]] bool isQuantised(std::string_view name) const
    {
        bool codes = false;
        bool numbers = false;
        for (size_t at = 0; at < m_sources.entries.size(); ++at) {
            const auto tensor = asTensor(m_graph, valueOf(at, name));
            codes = codes || (tensor && tensor->dtype == DType::UInt8);
            numbers = numbers || (tensor && tensor->dtype != DType::UInt8);
        }
        return codes && numbers;
    }

    /// Whether the state has one element per element of its parameter. A scalar cannot always be
    /// distinguished.
    [[nodiscard]] bool isElementwise(std::string_view name) const
    {
        bool seen = false;
        for (size_t at = 0; at < m_sources.entries.size(); ++at) {
            const NodeId value = valueOf(at, name);
            if (value == kNoNode || !looksLikeTensor(m_graph, value))
                continue;
            if (isTensorSubclass(m_graph, value))
                return false;
            const auto tensor = asTensor(m_graph, value);
            if (!tensor)
                return true; // collecting it reports the error
            if (!param(at).shape.empty())
                return tensor->sizes == param(at).shape;
            seen = true;
        }
        return seen;
    }

    Status collect(std::string name)
    {
        std::vector<StoredRun> runs(m_sources.entries.size());
        DType dtype = DType::Unknown;
        for (size_t at = 0; at < runs.size(); ++at) {
            const NodeId entry = m_sources.entries[at];
            const NodeId node = valueOf(at, name);
            if (entry == kNoNode)
                continue;
            const auto complain = [&](std::string_view code, const std::string& what,
                                      std::vector<std::string> evidence = {}) {
                m_reading.add(
                    code, Severity::Error, what, ParamAddress{param(at).name, name}, std::move(evidence));
            };
            const auto tensor = node == kNoNode
                ? Result<TensorView>(fail(ErrorCode::NotFound, "it is missing"))
                : asTensor(m_graph, node);
            const auto extent = tensor ? m_file.extentOf(*tensor) : forward(tensor.error());
            if (!tensor || !extent) {
                complain(node == kNoNode ? code::kStateMissing : code::kTensorInvalid,
                    "the state of this parameter cannot be used",
                    {describe(tensor ? extent.error() : tensor.error())});
            } else if (tensor->sizes != param(at).shape) {
                complain(code::kStateLength, "the state has another shape than its parameter",
                    {shapeText(tensor->sizes), shapeText(param(at).shape)});
            } else if (dtype != DType::Unknown && tensor->dtype != dtype) {
                complain(code::kTensorInvalid,
                    "the parameter stores this state in another dtype than the others of its group");
            } else if (!tensor->isContiguous()) {
                return fail(ErrorCode::Unsupported,
                    "state `" + name + "` of `" + toValidUtf8(param(at).name)
                        + "` is not stored in row-major order");
            } else {
                dtype = tensor->dtype;
                runs[at]
                    = {m_reading.out.templateModel, extent->record, extent->byteOffset, param(at).elements};
            }
        }
        addState(std::move(name), dtype == DType::Unknown ? DType::Float32 : dtype, std::move(runs));
        return {};
    }

    /// Factored and quantised states have tensors of other shapes: their elements belong to no single element
    /// of the parameter. Plain values that are equal for all parameters are carried like steps.
    void checkOther(const StateValue& value) const
    {
        const std::string group = "of group " + std::to_string(m_unit.group);
        const bool isTensor = looksLikeTensor(m_graph, value.node) && !isTensorSubclass(m_graph, value.node);
        const auto tensor = isTensor ? asTensor(m_graph, value.node) : tl::unexpected(Error{});
        if (isTensor && (!tensor || tensor->elements() != 1))
            return setStateAside(m_reading, value.name,
                group + " has the shape " + (tensor ? shapeText(tensor->sizes) : std::string("?"))
                    + " unlike its parameter");
        const auto expected = plainValue(m_reading, m_reading.out.templateModel, value.node);
        if (!expected)
            return setStateAside(m_reading, value.name, group + " is " + classText(m_graph, value.node),
                "this build does not read it");
        for (size_t at = 0; at < m_sources.entries.size() && m_reading.depth != OpenDepth::Structure; ++at) {
            const NodeId other = valueOf(at, value.name);
            if (m_sources.entries[at] != kNoNode && other != value.node
                && (other == kNoNode
                    || plainValue(m_reading, m_reading.out.templateModel, other) != expected))
                return setStateAside(m_reading, value.name, group + " is not the same for all parameters",
                    "every parameter has its own");
        }
    }

    void takeSteps(const std::string& group)
    {
        const auto file = m_reading.files.openRead(m_file.path());
        for (size_t at = 0; at < m_sources.entries.size() && file; ++at) {
            const NodeId entry = m_sources.stepOfLast ? m_unit.stateNode : m_sources.entries[at];
            const NodeId value = entry == kNoNode ? kNoNode : lookup(m_graph, entry, "step");
            const auto step = value == kNoNode ? std::nullopt : numberAt(**file, value);
            if (!step)
                continue;
            if (!m_unit.step) {
                m_unit.step = step;
                setStepForm(m_graph, value, m_unit);
            } else if (*m_unit.step != *step) {
                m_reading.add(code::kStepMismatch, Severity::Warning,
                    "the parameters of " + group
                        + " are at different steps, because some had no gradient in some steps",
                    ParamAddress{param(at).name, "fp32"},
                    {"here: " + std::to_string(*step), "first: " + std::to_string(*m_unit.step)});
                return;
            }
            if (m_reading.depth == OpenDepth::Structure || m_sources.stepOfLast)
                return;
        }
    }

    [[nodiscard]] std::optional<double> numberAt(const io::ReadFile& file, NodeId value) const
    {
        if (const auto number = asNumber(m_graph, value))
            return number;
        const auto tensor = asTensor(m_graph, value);
        if (!tensor || tensor->elements() != 1)
            return std::nullopt;
        const auto extent = m_file.extentOf(*tensor);
        std::vector<uint8_t> bytes(itemSize(tensor->dtype));
        if (!extent || !file.readAt(extent->byteOffset, bytes))
            return std::nullopt;
        return elementAsDouble(tensor->dtype, bytes.data());
    }

    void noteUntouched(const std::string& group) const
    {
        const auto none = std::count(m_sources.entries.begin(), m_sources.entries.end(), kNoNode);
        if (none > 0)
            m_reading.add(code::kStateMissing, Severity::Info,
                std::to_string(none) + " parameters of " + group
                    + " have no optimizer state: no gradient has reached them",
                m_reading.out.file(m_reading.out.templateModel).name);
    }

    const Reading& m_reading;
    FlatUnit& m_unit;
    const WholeSources& m_sources;
    const TorchFile& m_file;
    const PickleGraph& m_graph;
};

} // namespace

Status fillStage0Unit(const Reading& reading, FlatUnit& unit, const WholeSources& sources)
{
    return Filler(reading, unit, sources).run();
}

namespace {

class Groups
{
public:
    Groups(const Reading& reading, FileId file, NodeId optimizer, CheckpointKind kind)
        : m_reading(reading)
        , m_file(file)
        , m_graph(reading.content(file)->pickle())
        , m_optimizer(optimizer)
        , m_kind(kind)
    {
    }

    Result<Stage0Groups> read()
    {
        const NodeId torchState
            = hasTorchOptimizer(m_kind) ? m_optimizer : lookup(m_graph, m_optimizer, "optimizer_state_dict");
        m_out.state = lookup(m_graph, torchState, "state");
        const auto states = mappingItems(m_graph, m_out.state);
        for (size_t i = 0; i + 1 < states.size(); i += 2) {
            if (const auto number = asInteger(m_graph, states[i]))
                m_stateOf[*number] = states[i + 1];
        }
        const bool isFlat = hasFlatMasters(m_kind);
        const auto entries = readParamGroups(m_graph, torchState);
        const auto masters = sequenceItems(
            m_graph, lookup(m_graph, m_optimizer, isFlat ? "fp32_groups_flat" : "fp32_groups"));
        if (entries.empty())
            return damaged("the optimizer's state records no param groups");
        if (!hasTorchOptimizer(m_kind) && masters.size() != entries.size())
            return damaged("masters and options of the optimizer disagree about the number of param groups");
        for (size_t g = 0; g < entries.size(); ++g) {
            m_out.groups.emplace_back().entry = entries[g];
            SHARDSCOPE_CHECK(
                isFlat ? readFlat(masters[g]) : readListed(hasTorchOptimizer(m_kind) ? kNoNode : masters[g]));
        }
        return std::move(m_out);
    }

private:
    [[nodiscard]] tl::unexpected<Error> damaged(std::string what) const
    {
        return fail(ErrorCode::Damaged, std::move(what), m_reading.out.file(m_file).path.string());
    }

    Status readFlat(NodeId masters)
    {
        Stage0Group& group = m_out.groups.back();
        group.flat = masters;
        const auto run = flatRun(m_reading, m_file, masters, group.masterType);
        if (!run)
            return damaged("the masters of a param group cannot be used");
        group.flatRun = *run;
        return {};
    }

    Status readListed(NodeId masters)
    {
        Stage0Group& group = m_out.groups.back();
        const auto tensors = sequenceItems(m_graph, masters);
        group.masters.assign(tensors.begin(), tensors.end());
        const size_t count = group.entry.stateKeys.size();
        if (masters != kNoNode && group.masters.size() != count)
            return damaged("masters and options of a param group disagree about the number of parameters");
        group.shapes.resize(count);
        group.masterBytes.resize(count);
        for (size_t i = 0; i < count; ++i) {
            const auto state = m_stateOf.find(group.entry.stateKeys[i]);
            group.states.push_back(state == m_stateOf.end() ? kNoNode : state->second);
            if (masters == kNoNode)
                group.shapes[i] = shapeOfStates(group.states.back());
            else
                SHARDSCOPE_CHECK(readMaster(group, i));
        }
        return {};
    }

    Status readMaster(Stage0Group& group, size_t i) const
    {
        const auto tensor = asTensor(m_graph, group.masters[i]);
        const auto extent = tensor ? m_reading.content(m_file)->extentOf(*tensor) : forward(tensor.error());
        if (!tensor || !extent)
            return damaged("a master cannot be used: " + describe(tensor ? extent.error() : tensor.error()));
        if (!tensor->isContiguous())
            return fail(ErrorCode::Unsupported, "a master is not stored in row-major order",
                m_reading.out.file(m_file).path.string());
        if (i == 0)
            group.masterType = tensor->dtype;
        if (tensor->dtype != group.masterType)
            return damaged("the masters of a param group have different dtypes");
        group.shapes[i] = tensor->sizes;
        group.masterBytes[i] = extent->byteOffset;
        return {};
    }

    /// The shape of a parameter is the shape of most states that the optimizer keeps for it. On a tie, the
    /// largest.
    [[nodiscard]] std::optional<Shape> shapeOfStates(NodeId entry) const
    {
        std::optional<Shape> out = factoredShape(m_graph, entry);
        if (out)
            return out;
        uint64_t most = 0;
        for (const StateValue& value : stateValues(m_graph, entry)) {
            if (value.name == "step" || !looksLikeTensor(m_graph, value.node))
                continue;
            const auto tensor = asTensor(m_graph, value.node);
            if (tensor && (!out || tensor->elements().value_or(0) > most)) {
                out = tensor->sizes;
                most = tensor->elements().value_or(0);
            }
        }
        return out;
    }

    const Reading& m_reading;
    FileId m_file;
    const PickleGraph& m_graph;
    NodeId m_optimizer;
    CheckpointKind m_kind;
    Stage0Groups m_out;
    std::unordered_map<int64_t, NodeId> m_stateOf; ///< by number: one entry per parameter of the model
};

} // namespace

CheckpointKind formOfOptimizer(const PickleGraph& graph, NodeId optimizer)
{
    if (lookup(graph, optimizer, "fp32_groups_flat") != kNoNode)
        return CheckpointKind::Fp16;
    return lookup(graph, optimizer, "fp32_groups") != kNoNode ? CheckpointKind::Fp16Unfused
                                                              : CheckpointKind::Torch;
}

Result<Stage0Groups> readStage0Groups(
    const Reading& reading, FileId file, NodeId optimizer, CheckpointKind kind)
{
    return Groups(reading, file, optimizer, kind).read();
}

} // namespace shardscope
