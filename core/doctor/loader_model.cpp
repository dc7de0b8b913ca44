// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/loader_checks.h"

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/doctor/saved_facts.h"
#include "core/torchfile/pickle_values.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace shardscope {

namespace {

using Id = LoaderCheckId;

bool isStage0Kind(CheckpointKind kind)
{
    return kind == CheckpointKind::Fp16 || kind == CheckpointKind::Fp16Unfused
        || kind == CheckpointKind::Torch;
}

/// DeepSpeed's MoE layer keeps its experts under this name (moe/layer.py, moe/experts.py).
bool hasExperts(const Checkpoint& part)
{
    return std::any_of(part.params.begin(), part.params.end(), [](const Parameter& param) {
        return param.name.find("deepspeed_moe.experts.") != std::string::npos;
    });
}

class ModelFileChecks
{
public:
    ModelFileChecks(const Checkpoint& part, const SavedFile& model, std::vector<LoaderViolation>& out)
        : m_part(part)
        , m_model(model)
        , m_out(out)
    {
    }

    void run()
    {
        checkKeys();
        checkScheduler();
        checkFileCount();
        if (m_part.kind == CheckpointKind::Zero3)
            checkPlaceholders();
    }

private:
    void add(Id check, std::string what) { m_out.push_back({check, std::move(what), m_model.file->name}); }

    [[nodiscard]] bool has(std::string_view key) const { return m_model.at({key}) != kNoNode; }

    void checkKeys()
    {
        static constexpr std::array<std::tuple<std::string_view, Id>, 5> kKeys{{{"module", Id::ModuleKey},
            {"dp_world_size", Id::DataParallelSize}, {"global_steps", Id::GlobalSteps},
            {"skipped_steps", Id::SkippedSteps}, {"mp_world_size", Id::ModelParallelSize}}};
        for (const auto& [key, check] : kKeys) {
            if (!has(key))
                add(check, "the model file does not have the key `" + std::string(key) + "`");
        }
        if (hasExperts(m_part) && !has("num_experts"))
            add(Id::NumExperts, "the model has experts, and its file does not have the key `num_experts`");
        if (isStage0Kind(m_part.kind) && !has("optimizer"))
            add(Id::Stage0Optimizer, "the model file does not have the key `optimizer`");
    }

    void checkScheduler()
    {
        const NodeId type = m_model.at({"ds_config", "scheduler", "type"});
        if (type == kNoNode || !asString(*m_model.graph, type))
            return;
        if (!has("lr_scheduler"))
            add(Id::Scheduler,
                "the configuration has a scheduler, and the model file does not have the key `lr_scheduler`");
    }

    /// Stock counts the names that its pattern matches. Files that are left from another save, and lost ones,
    /// have findings of their own.
    void checkFileCount()
    {
        const NodeId node = m_model.at({"mp_world_size"});
        const auto recorded = node == kNoNode ? std::nullopt : asInteger(*m_model.graph, node);
        if (!recorded)
            return;
        const std::string_view prefix
            = m_part.kind == CheckpointKind::Zero3 ? "zero_pp_rank_0_mp_rank_" : "mp_rank_";
        int64_t count = 0;
        for (const CheckpointFile& file : m_part.files) {
            const bool matches = file.name.starts_with(prefix) && file.name.ends_with("_model_states.pt");
            if (!matches)
                continue;
            if (file.status == FileStatus::Missing || file.status == FileStatus::Stale)
                return;
            ++count;
        }
        const NodeId tensor = m_model.at({"checkpoint_parallel_dimensions", "tp_degree"});
        const NodeId pipe = m_model.at({"checkpoint_parallel_dimensions", "pp_degree"});
        if (tensor != kNoNode && pipe != kNoNode
            && checkedMultiply(
                   asInteger(*m_model.graph, tensor).value_or(1), asInteger(*m_model.graph, pipe).value_or(1))
                != *recorded)
            return; // bad-world-size-field
        if (count > 0 && count != *recorded)
            add(Id::ModelFileCount,
                "`mp_world_size` is " + std::to_string(*recorded) + ", and " + std::to_string(count)
                    + " files have names of model files");
    }

    /// Early releases stored all of them whole.
    void checkPlaceholders()
    {
        const NodeId module = m_model.at({"module"});
        if (module == kNoNode || !isMapping(*m_model.graph, module) || m_part.modelError)
            return;
        size_t placeholders = 0;
        std::string filled;
        for (const Parameter& param : m_part.params) {
            if (param.role != ParamRole::Trainable || param.elements == 0)
                continue;
            const NodeId node = lookup(*m_model.graph, module, param.name);
            const auto tensor
                = node == kNoNode ? std::nullopt : std::optional(asTensor(*m_model.graph, node));
            if (!tensor || !*tensor)
                continue;
            if ((*tensor)->elements() == 0)
                ++placeholders;
            else if (filled.empty())
                filled = param.name;
        }
        if (!filled.empty() && placeholders > 0)
            add(Id::ModulePlaceholders,
                "`module` has elements for `" + toValidUtf8(filled)
                    + "` where ZeRO-3 has a tensor of shape (0,)");
    }

    const Checkpoint& m_part;
    SavedFile m_model;
    std::vector<LoaderViolation>& m_out;
};

} // namespace

void checkModelFile(const Checkpoint& part, std::vector<LoaderViolation>& out)
{
    const bool isNative = hasZeroShards(part) || isStage0Kind(part.kind);
    const SavedFile model = savedModel(part);
    if (isNative && model && isMapping(*model.graph, model.graph->root()))
        ModelFileChecks(part, model, out).run();
}

} // namespace shardscope
