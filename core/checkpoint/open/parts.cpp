// SPDX-License-Identifier: Apache-2.0
// Counts tensor slices and pipeline stages, and builds the one model of all.
#include "core/checkpoint/open/parts.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/folder/file_table.h"
#include "core/checkpoint/folder/model_header.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/layer_names.h"
#include "core/checkpoint/model/merged_parts.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/checkpoint/units/module_reader.h"

#include <algorithm>
#include <map>

namespace shardscope {

namespace {

/// Puts the parts of one reading together.
class Merging
{
public:
    explicit Merging(Reading& reading)
        : m_reading(reading)
        , m_out(reading.out)
    {
    }

    void merge()
    {
        takeFacts(reference());
        for (const auto& part : m_out.parts) {
            const Checkpoint& from = *part;
            if (from.modelError && !m_out.modelError)
                m_out.modelError = from.modelError;
            m_out.whyNot = m_out.whyNot.empty() ? from.whyNot : m_out.whyNot;
            m_out.findings.insert(m_out.findings.end(), from.findings.begin(), from.findings.end());
            m_out.parallel.dp = std::max(m_out.parallel.dp, from.parallel.dp);
            m_out.parallel.ep = std::max(m_out.parallel.ep, from.parallel.ep);
            compare(from);
        }
        noteTiedWithoutCopy();
        addModelsOfParts(m_out);
        sortWholeTensors(m_reading);
    }

private:
    void takeFacts(const Checkpoint& first)
    {
        m_out.kind = first.kind;
        m_out.replacedKind = first.replacedKind;
        m_out.zeroStage = first.zeroStage;
        m_out.precision = first.precision;
        m_out.optimizer = first.optimizer;
        m_out.deepspeedVersion = first.deepspeedVersion;
        m_out.steps = first.steps;
        m_out.subGroupSize = first.subGroupSize;
        m_out.roundRobin = first.roundRobin;
        m_out.lossScale = first.lossScale;
        m_out.clientStateKeys = first.clientStateKeys;
        m_out.templateModel = first.templateModel;
        m_out.templateOptim = first.templateOptim;
        m_out.optimWrapper = first.optimWrapper;
        m_out.optimFiles = first.optimFiles;
        m_out.modelFiles = first.modelFiles;
        m_out.evidence = first.evidence;
    }

    /// A tied module is saved with the layer that uses it first. If every use has a function of its own
    /// (TiedLayerSpec's forward_fn), no layer file holds it (pipe/module.py).
    void noteTiedWithoutCopy() const
    {
        if (hasTorchOptimizer(m_out.kind)) // the copies are the masters
            return;
        std::map<std::string_view, bool> copied;
        for (const auto& part : m_out.parts) {
            for (uint32_t i = 0; i < part->params.size() && !part->modelError; ++i) {
                const std::string_view key = tiedKeyOf(part->params[i].name);
                if (!key.empty())
                    copied[key] = copied[key] || part->wholeOf(ParamId{i}) != nullptr;
            }
        }
        for (const auto& [key, isCopied] : copied) {
            if (!isCopied && m_reading.depth == OpenDepth::Full)
                m_reading.add(code::kModelStatesMissing, Severity::Info,
                    "no layer file holds the weights of the tied module `" + toValidUtf8(std::string(key))
                        + "`",
                    {},
                    {"stock DeepSpeed saves none where each use of it has a forward_fn",
                        "else the file of its first layer is missing, and loading stops"});
        }
    }

    /// The first part that has all files needed to identify it.
    [[nodiscard]] const Checkpoint& reference() const
    {
        const auto found = std::find_if(m_out.parts.begin(), m_out.parts.end(),
            [](const auto& part) { return hasModelFile(*part) && !isUnknown(part->kind); });
        return found == m_out.parts.end() ? *m_out.parts.front() : **found;
    }

    [[nodiscard]] static bool hasModelFile(const Checkpoint& part)
    {
        return part.templateModel != kNoFile && part.isReadable(part.templateModel);
    }

    /// Compares what all ranks have in common at one step of a run. Missing files are reported elsewhere.
    void compare(const Checkpoint& part)
    {
        const Checkpoint& first = reference();
        const auto differs = [&](std::string_view code, const std::string& what, const std::string& here,
                                 const std::string& there) {
            if (here == there)
                return;
            const FileId file = part.templateModel != kNoFile ? part.templateModel : part.templateOptim;
            m_reading.add(code, Severity::Error,
                "the files of model-parallel rank " + std::to_string(part.modelRank)
                    + " do not belong to the others: " + what + " differs",
                file == kNoFile ? std::string() : m_out.file(file).name,
                {"here: " + here, "rank " + std::to_string(first.modelRank) + ": " + there});
        };
        const auto text = [](const std::optional<int64_t>& number) {
            return number ? std::to_string(*number) : std::string("none");
        };
        if (isUnknown(part.kind) || isUnknown(first.kind))
            return;
        differs(code::kRankForeign, "the kind", std::string(kindName(part.kind)),
            std::string(kindName(first.kind)));
        if (hasModelFile(part) && hasModelFile(first)) {
            differs(code::kStepMismatch, "`global_steps`", text(part.steps.globalSteps),
                text(first.steps.globalSteps));
            differs(code::kStepMismatch, "`skipped_steps`", text(part.steps.skippedSteps),
                text(first.steps.skippedSteps));
        }
        differs(code::kRankForeign, "`dp_world_size`", std::to_string(part.parallel.dp),
            std::to_string(first.parallel.dp));
        differs(code::kRankForeign, "`ds_version`", part.deepspeedVersion, first.deepspeedVersion);
    }

    Reading& m_reading;
    Checkpoint& m_out;
};

} // namespace

void mergeParts(Reading& reading)
{
    Merging(reading).merge();
}

} // namespace shardscope
