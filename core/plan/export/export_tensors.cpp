// SPDX-License-Identifier: Apache-2.0
#include "core/plan/export/export_tensors.h"

#include "core/base/nearest_word.h"
#include "core/base/text.h"
#include "core/layout/fragments.h"
#include "core/plan/model/model_types.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

constexpr std::string_view kMaster = "fp32";
constexpr std::string_view kWeight = "weight";

std::string shown(const Checkpoint& source, ParamId param)
{
    return "`" + toValidUtf8(source.params[index(param)].name) + "`";
}

/// A state with known places. A whole tensor may be known without its bytes.
std::optional<StateSource> presentState(const Checkpoint& source, ParamId param, std::string_view state)
{
    const auto found = findState(source, param, state);
    if (!found || (found->whole != nullptr && !found->whole->run.isPresent() && found->elements > 0))
        return std::nullopt;
    return *found;
}

class Chooser
{
public:
    Chooser(const Checkpoint& source, const ExportOptions& options)
        : m_source(source)
        , m_options(options)
        , m_moduleTypes(moduleTypes(source))
    {
    }

    Result<ExportTensor> weight(const ExportName& entry) const
    {
        auto from = presentState(m_source, entry.param, kMaster);
        const bool master = from.has_value();
        if (!from)
            from = presentState(m_source, entry.param, kWeight);
        if (!from)
            return fail(ErrorCode::Refused, "no file holds the weight of " + shown(m_source, entry.param),
                m_source.tagFolder.string(), "omit it with --only");
        const DType own = modelType(entry.param, from->dtype);
        const bool casts = m_options.dtype && isFloatingPoint(own);
        ExportTensor out
            = tensor(entry, *from, std::string(master ? kMaster : kWeight), std::string(kWeight));
        out.dtype = casts ? *m_options.dtype : own;
        if (!canConvert(from->dtype, out.dtype))
            return fail(ErrorCode::Unsupported,
                "this build does not cast " + shown(m_source, entry.param) + " from "
                    + std::string(dtypeName(from->dtype)) + " to " + std::string(dtypeName(out.dtype)),
                m_source.tagFolder.string(), "choose another --dtype, or omit it with --only");
        return out;
    }

    [[nodiscard]] std::optional<ExportTensor> state(const ExportName& entry, const std::string& name) const
    {
        const auto from = presentState(m_source, entry.param, name);
        return from ? std::optional(tensor(entry, *from, name, name)) : std::nullopt;
    }

private:
    [[nodiscard]] ExportTensor tensor(
        const ExportName& entry, const StateSource& from, std::string read, std::string state) const
    {
        const Parameter& param = m_source.params[index(entry.param)];
        return {from.param, std::move(read), entry.name, std::move(state), from.dtype, param.shape,
            param.elements, param.role == ParamRole::Buffer};
    }

    /// The dtype of the model's own copy. ZeRO-3 keeps no copy, but lists it; older releases record only the
    /// precision.
    [[nodiscard]] DType modelType(ParamId param, DType stored) const
    {
        if (const auto copy = findState(m_source, param, kWeight))
            return copy->dtype;
        const Parameter& of = m_source.params[index(param)];
        if (const auto listed = m_moduleTypes.find(of.name); listed != m_moduleTypes.end())
            return listed->second;
        if (of.role != ParamRole::Trainable || !isFloatingPoint(stored))
            return stored;
        return m_source.precision == "bf16" ? DType::BFloat16
            : m_source.precision == "fp16"  ? DType::Float16
                                            : stored;
    }

    const Checkpoint& m_source;
    const ExportOptions& m_options;
    std::map<std::string_view, DType> m_moduleTypes;
};

/// The name becomes that of a file.
Status checkState(const Checkpoint& source, const std::string& state)
{
    if (state == kWeight)
        return fail(
            ErrorCode::Usage, "an export always writes the weights", {}, "omit `weight` from --states");
    const auto names = source.stateNames();
    if (std::find(names.begin(), names.end(), state) == names.end()) {
        std::string list;
        for (const std::string& name : names)
            list += (list.empty() ? "`" : ", `") + toValidUtf8(name) + "`";
        return fail(ErrorCode::Usage, "the checkpoint has no state `" + toValidUtf8(state) + "`",
            source.tagFolder.string(), nearestHint(state, names, "it has " + list));
    }
    if (state.front() == '.' || state.find('/') != std::string::npos || !isValidUtf8(state)
        || state.size() > 100 || state == "model" || state == "pytorch_model"
        || state == "adapter_model") // these are the names for weights
        return fail(ErrorCode::Unsupported, "`" + toValidUtf8(state) + "` cannot be the name of a file",
            source.tagFolder.string());
    return {};
}

} // namespace

Result<std::vector<ExportTensor>> exportTensors(
    const Checkpoint& source, const ExportOptions& options, const std::vector<ExportName>& names)
{
    if (names.empty())
        return fail(ErrorCode::Refused, "the checkpoint has no parameters", source.tagFolder.string());
    const Chooser chooser(source, options);
    std::vector<ExportTensor> out;
    out.reserve(names.size() * (1 + options.states.size()));
    for (const ExportName& entry : names) {
        SHARDSCOPE_TRY(ExportTensor tensor, chooser.weight(entry));
        out.push_back(std::move(tensor));
    }
    for (size_t i = 0; i < options.states.size(); ++i) {
        const std::string& state = options.states[i];
        const auto end = options.states.begin() + static_cast<std::ptrdiff_t>(i);
        if (state.empty() || std::find(options.states.begin(), end, state) != end)
            return fail(ErrorCode::Usage, "--states names `" + toValidUtf8(state) + "` twice, or nothing");
        SHARDSCOPE_CHECK(checkState(source, state));
        const size_t before = out.size();
        for (const ExportName& entry : names) {
            if (auto tensor = chooser.state(entry, state))
                out.push_back(std::move(*tensor));
        }
        if (out.size() == before)
            return fail(ErrorCode::Usage,
                "none of the exported parameters has the state `" + toValidUtf8(state) + "`",
                source.tagFolder.string(), "omit it from --states");
    }
    return out;
}

} // namespace shardscope
