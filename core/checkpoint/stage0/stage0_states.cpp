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

    void run()
    {
        addState("fp32", m_sources.masterType, m_sources.masters);
        const auto first = std::find_if(m_sources.entries.begin(), m_sources.entries.end(),
            [](NodeId entry) { return entry != kNoNode; });
        const std::string group = "group " + std::to_string(m_unit.group);
        if (first == m_sources.entries.end()) {
            m_reading.add(code::kStateMissing, Severity::Info,
                "there is no optimizer state yet: the checkpoint was saved before the first step",
                m_reading.out.file(m_reading.out.templateModel).name, {group});
            return;
        }
        const auto last = std::find_if(m_sources.entries.rbegin(), m_sources.entries.rend(),
            [](NodeId entry) { return entry != kNoNode; });
        m_unit.stateNode = m_sources.stepOfLast ? *last : *first;
        std::set<std::string> inFirst;
        for (const StateValue& value : stateValues(m_graph, *first)) {
            if (!inFirst.insert(value.name).second)
                setStateAside(
                    m_reading, value.name, "of " + group + " is there twice", "its names are not unique");
            else if (!m_reading.out.modelError)
                add(value, group);
        }
        for (const NodeId entry : m_sources.entries) {
            for (const StateValue& value : stateValues(m_graph, entry)) {
                if (!inFirst.contains(value.name))
                    setStateAside(m_reading, value.name, "of " + group + " is kept for some parameters only",
                        "the others have none");
            }
        }
        noteUntouched(group);
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

    void add(const StateValue& value, const std::string& group)
    {
        if (value.name == "step")
            takeSteps(group);
        else if (!isElementwise(value.name))
            checkOther(value);
        else if (isQuantised(value.name))
            setStateAside(m_reading, value.name, "of " + group + " has bytes for some of its parameters");
        else
            collect(value.name);
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

    void collect(std::string name)
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
                m_reading.refuse("state `" + name + "` of `" + toValidUtf8(param(at).name)
                    + "` is not stored in row-major order");
                return;
            } else {
                dtype = tensor->dtype;
                runs[at]
                    = {m_reading.out.templateModel, extent->record, extent->byteOffset, param(at).elements};
            }
        }
        addState(std::move(name), dtype == DType::Unknown ? DType::Float32 : dtype, std::move(runs));
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

void fillStage0Unit(const Reading& reading, FlatUnit& unit, const WholeSources& sources)
{
    Filler(reading, unit, sources).run();
}

} // namespace shardscope
