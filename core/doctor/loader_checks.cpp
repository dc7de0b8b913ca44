// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/loader_checks.h"

#include "core/base/checked.h"
#include "core/base/text.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/doctor/dropped_files.h"
#include "core/doctor/saved_facts.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "core/torchfile/torch_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <unordered_set>

namespace shardscope {

namespace {

using Id = LoaderCheckId;

constexpr std::string_view kEngine = "engine.py, _load_checkpoint";
constexpr std::string_view kZeroFiles = "engine.py, _load_zero_checkpoint";
constexpr std::string_view kZero12 = "stage_1_and_2.py, _load_legacy_checkpoint";
constexpr std::string_view kZero3 = "stage3.py, _rigid_load_state_dict";

constexpr std::array kChecks{
    LoaderCheck{Id::ModelFiles, "model-files", kEngine, "AssertionError", "model-states-missing"},
    LoaderCheck{Id::ModelFileCount, "model-file-count", "state_dict_factory.py, check_ckpt_list",
        "AssertionError: checkpoint count is different from saved mp_world_size", kLoaderRefuses},
    LoaderCheck{Id::ModuleKey, "module-key", kEngine, "KeyError: 'module'", kLoaderRefuses},
    LoaderCheck{Id::ModuleNames, "module-names", "engine.py, load_module_state_dict",
        "RuntimeError: Missing key(s) in state_dict", "model-changed"},
    LoaderCheck{Id::ModulePlaceholders, "module-placeholders", "engine.py, load_module_state_dict",
        "RuntimeError: size mismatch", kLoaderRefuses},
    LoaderCheck{Id::FrozenFragments, "frozen-fragments", "engine.py, load_module_state_dict", "KeyError",
        "frozen-lost"},
    LoaderCheck{Id::DataParallelSize, "dp-world-size", kEngine, "KeyError: 'dp_world_size'", kLoaderRefuses},
    LoaderCheck{Id::GlobalSteps, "global-steps", kEngine, "KeyError: 'global_steps'", kLoaderRefuses},
    LoaderCheck{Id::SkippedSteps, "skipped-steps", kEngine, "KeyError: 'skipped_steps'", kLoaderRefuses},
    LoaderCheck{Id::ModelParallelSize, "mp-world-size", kEngine, "KeyError: 'mp_world_size'", kLoaderRefuses},
    LoaderCheck{Id::Scheduler, "lr-scheduler", kEngine, "KeyError: 'lr_scheduler'", kLoaderRefuses},
    LoaderCheck{Id::SchedulerState, "lr-scheduler-state", kEngine,
        "TypeError: 'NoneType' object is not subscriptable", kLoaderRefuses},
    LoaderCheck{Id::NumExperts, "num-experts", "engine.py, load_moe_state_dict", "KeyError: 'num_experts'",
        kLoaderRefuses},
    LoaderCheck{Id::ExpertFiles, "expert-files", "engine.py, load_moe_state_dict", "FileNotFoundError",
        "moe-incomplete"},
    LoaderCheck{Id::Stage0Optimizer, "stage-0-optimizer", kEngine, "KeyError: 'optimizer'", kLoaderRefuses},
    LoaderCheck{Id::SameRanks, "same-ranks", kZeroFiles, "ZeRORuntimeException", "world-size-mismatch"},
    LoaderCheck{Id::RankFile, "rank-file", kZeroFiles, "FileNotFoundError", "rank-missing"},
    LoaderCheck{Id::PrecisionPrefix, "precision-prefix", kZeroFiles, "FileNotFoundError", "precision-prefix"},
    LoaderCheck{
        Id::OptimizerKey, "optimizer-key", kZeroFiles, "KeyError: 'optimizer_state_dict'", "rank-foreign"},
    LoaderCheck{Id::ShardVersion, "shard-version", kZero12,
        "AssertionError: Empty ds_version in checkpoint, not clear how to proceed; or InvalidVersion",
        kLoaderRefuses},
    LoaderCheck{
        Id::BaseOptimizer, "base-optimizer", kZero12, "KeyError: 'base_optimizer_state'", kLoaderRefuses},
    LoaderCheck{Id::BaseOptimizerGroups, "base-optimizer-groups", kZero12,
        "ValueError: loaded state dict has a different number of parameter groups", kLoaderRefuses},
    LoaderCheck{Id::BaseOptimizerParams, "base-optimizer-params", kZero12,
        "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's "
        "group",
        kLoaderRefuses},
    LoaderCheck{Id::StateLength, "state-length", kZero12, "RuntimeError at the first step", "state-length"},
    LoaderCheck{Id::Masters, "masters", kZero12, "RuntimeError: size mismatch", "state-length"},
    LoaderCheck{Id::AlignmentPaddings, "alignment-paddings", kZero12,
        "RuntimeError: The ZeRO checkpoint parameter-alignment layout does not match the current "
        "zero_optimization.parameter_alignment setting",
        kLoaderRefuses},
    LoaderCheck{Id::ElasticStep, "elastic-step", kZero12,
        "AssertionError or KeyError: 'base_optimizer_state_step'", "cannot-load-own-save"},
    LoaderCheck{Id::Scaler, "scaler", kZero3, "KeyError: 'loss_scaler', 'dynamic_loss_scale' or 'overflow'",
        kLoaderRefuses},
    LoaderCheck{
        Id::TorchOptimizer, "torch-optimizer", kZero3, "KeyError: 'optimizer_state_dict'", kLoaderRefuses},
    LoaderCheck{Id::SubGroups, "sub-groups", kZero3,
        "nothing: the sub-groups beyond keep their random values", kLoaderRefuses},
    LoaderCheck{Id::SubGroupParams, "sub-group-params", kZero3,
        "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's "
        "group",
        kLoaderRefuses},
    LoaderCheck{Id::SubGroupLength, "sub-group-length", kZero3,
        "RuntimeError about the size; one element is spread over the whole sub-group", "state-length"},
    LoaderCheck{
        Id::SubGroupState, "sub-group-state", kZero3, "nothing: the moments start again", "state-missing"},
    LoaderCheck{Id::UniversalGroups, "universal-groups", "zero_optimizer load_universal_checkpoint",
        "KeyError: 'param_groups'", kLoaderRefuses},
    LoaderCheck{Id::UniversalVersion, "universal-version", "stage_1_and_2.py, _load_global_state",
        "AssertionError: Empty ds_version in checkpoint, not clear how to proceed; or InvalidVersion",
        kLoaderRefuses},
    LoaderCheck{Id::UniversalParameter, "universal-parameter",
        "universal_checkpoint.py, load_hp_checkpoint_state", "AssertionError or FileNotFoundError",
        "state-missing"},
    LoaderCheck{Id::UniversalStep, "universal-step",
        "stage3.py, load_hp_checkpoint_state_from_checkpoint_dir_stage3", "KeyError: 'step' or 0",
        kLoaderRefuses},
};

} // namespace

std::span<const LoaderCheck> loaderChecks()
{
    return kChecks;
}

const LoaderCheck& loaderCheck(LoaderCheckId id)
{
    const auto* const found = std::find_if(
        kChecks.begin(), kChecks.end(), [&](const LoaderCheck& check) { return check.id == id; });
    return found == kChecks.end() ? kChecks.front() : *found;
}

Status findLoaderViolations(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, std::vector<LoaderViolation>& out)
{
    if (isUniversal(checkpoint.kind)) {
        checkUniversalOptimizer(checkpoint, out);
        return {};
    }
    const auto check = [&](const Checkpoint& part) {
        checkModelFiles(part, out);
        checkOptimizerFiles(part, out);
    };
    if (checkpoint.parts.empty())
        check(checkpoint);
    for (const auto& part : checkpoint.parts)
        check(*part);
    std::vector<LoaderViolation> ofFile;
    return forEachDroppedFile(checkpoint, files, job, [&](const DroppedFile& dropped) {
        if (!dropped.repeatsPickle) {
            ofFile.clear();
            checkModelFile(dropped.part, dropped.file, dropped.content.pickle(), ofFile);
        }
        for (LoaderViolation violation : ofFile) {
            violation.where = dropped.file.name;
            out.push_back(std::move(violation));
        }
    });
}

namespace {

using Id = LoaderCheckId;

/// DeepSpeed's MoE layer uses this name for its experts (moe/layer.py, moe/experts.py); AutoEP lists its
/// layers.
bool hasExperts(const Checkpoint& part)
{
    return !FusedExperts::of(part).isEmpty()
        || std::any_of(part.params.begin(), part.params.end(), [](const Parameter& param) {
               return param.name.find("deepspeed_moe.experts.") != std::string::npos;
           });
}

bool isUsable(const ModelStates& file)
{
    return file && isMapping(*file.graph, file.graph->root());
}

class ModelFileChecks
{
public:
    ModelFileChecks(const Checkpoint& part, const ModelStates& model, std::vector<LoaderViolation>& out)
        : m_part(part)
        , m_model(model)
        , m_out(out)
    {
    }

    /// Checks of each model file: in ZeRO-3 every rank reads its own.
    void runForEachFile()
    {
        checkKeys();
        checkScheduler();
        checkFrozenFragments();
        if (partitionsParameters(m_part.kind))
            checkPlaceholders();
    }

    void runForAllFiles()
    {
        checkFileCount();
        if (hasRankFiles(m_part.kind))
            checkPrecisionPrefix();
    }

private:
    void add(Id check, std::string what) { m_out.push_back({check, std::move(what), m_model.file->name}); }

    void checkKeys()
    {
        const std::array<std::tuple<std::string_view, NodeId, Id>, 5> keys{
            {{"module", m_model.module, Id::ModuleKey},
                {"dp_world_size", m_model.dpWorldSize, Id::DataParallelSize},
                {"global_steps", m_model.globalSteps, Id::GlobalSteps},
                {"skipped_steps", m_model.skippedSteps, Id::SkippedSteps},
                {"mp_world_size", m_model.mpWorldSize, Id::ModelParallelSize}}};
        for (const auto& [key, value, check] : keys) {
            if (value == kNoNode)
                add(check, "the model file does not have the key `" + std::string(key) + "`");
        }
        if (hasExperts(m_part) && m_model.numExperts == kNoNode)
            add(Id::NumExperts, "the model has experts, but its file does not have the key `num_experts`");
        if (isStage0(m_part.kind) && m_model.optimizer == kNoNode)
            add(Id::Stage0Optimizer, "the model file does not have the key `optimizer`");
    }

    void checkScheduler()
    {
        if (!asString(*m_model.graph, m_model.configValue({"scheduler", "type"})))
            return;
        if (m_model.scheduler == kNoNode)
            add(Id::Scheduler,
                "the configuration has a scheduler, but the model file does not have the key `lr_scheduler`");
        else if (m_model.graph->kind(m_model.scheduler) == NodeKind::None)
            add(Id::SchedulerState, "the configuration has a scheduler, but `lr_scheduler` is None");
    }

    /// Stock copies a fragment into each frozen parameter of the model, if the key is not None.
    void checkFrozenFragments()
    {
        const PickleGraph& graph = *m_model.graph;
        const NodeId fragments = m_model.frozenParamFragments;
        const NodeId shapes = m_model.frozenParamShapes;
        if (!isMapping(graph, fragments) || !isMapping(graph, shapes))
            return;
        std::unordered_set<std::string_view> saved;
        const auto stored = mappingItems(graph, fragments);
        for (size_t i = 0; i + 1 < stored.size(); i += 2)
            saved.insert(asString(graph, stored[i]).value_or(std::string_view{}));
        const auto listed = mappingItems(graph, shapes);
        for (size_t i = 0; i + 1 < listed.size(); i += 2) {
            const auto name = asString(graph, listed[i]);
            if (name && !saved.contains(*name) && !isLost(*name))
                return add(Id::FrozenFragments,
                    "`frozen_param_fragments` does not have the key `" + toValidUtf8(*name)
                        + "`, which `frozen_param_shapes` names");
        }
    }

    /// Stock takes the prefix from the precision of the new run, here of the same configuration.
    void checkPrecisionPrefix()
    {
        const auto isEnabled = [&](std::string_view section) {
            return asBool(*m_model.graph, m_model.configValue({section, "enabled"})) == true;
        };
        const bool isBf16 = isEnabled("bf16") || isEnabled("bfloat16");
        if (isBf16 == isEnabled("fp16"))
            return; // fp32, or no configuration
        for (const FileId id : m_part.optimFiles) {
            const auto name = id == kNoFile ? std::nullopt : parseCheckpointFileName(m_part.file(id).name);
            if (!name || name->bf16Prefix == isBf16)
                continue;
            return add(Id::PrecisionPrefix,
                std::string("the configuration says ") + (isBf16 ? "bf16" : "fp16")
                    + ", but the names of the optimizer files "
                    + (isBf16 ? "do not begin with `bf16_`" : "begin with `bf16_`"));
        }
    }

    /// Stock counts the names that its pattern matches. Other findings report stale and missing files.
    void checkFileCount()
    {
        const auto recorded = asInteger(*m_model.graph, m_model.mpWorldSize);
        if (!recorded)
            return;
        const std::string_view prefix
            = partitionsParameters(m_part.kind) ? "zero_pp_rank_0_mp_rank_" : "mp_rank_";
        int64_t count = 0;
        for (const CheckpointFile& file : m_part.files) {
            const bool matches = file.name.starts_with(prefix) && file.name.ends_with("_model_states.pt");
            if (!matches)
                continue;
            if (file.status == FileStatus::Missing || file.status == FileStatus::Stale)
                return;
            ++count;
        }
        const auto tp = asInteger(*m_model.graph, m_model.tpDegree);
        const auto pp = asInteger(*m_model.graph, m_model.ppDegree);
        if (tp && pp && checkedMultiply(*tp, *pp) != *recorded)
            return; // bad-world-size-field
        if (count > 0 && count != *recorded)
            add(Id::ModelFileCount,
                "`mp_world_size` is " + std::to_string(*recorded) + ", but " + std::to_string(count)
                    + " files have names of model files");
    }

    /// Early releases stored complete tensors for all.
    void checkPlaceholders()
    {
        if (!m_model.hasModule() || m_part.modelError)
            return;
        size_t placeholders = 0;
        std::string filled;
        const auto items = mappingItems(*m_model.graph, m_model.module);
        for (size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto name = asString(*m_model.graph, items[i]);
            const auto id = name ? m_part.findParam(*name) : std::nullopt;
            if (!id || !isPlaceholderOf(m_part.params[index(*id)]))
                continue;
            const auto tensor = asTensor(*m_model.graph, items[i + 1]);
            if (!tensor)
                continue;
            if (tensor->elements() == 0)
                ++placeholders;
            else if (filled.empty())
                filled = *name;
        }
        if (!filled.empty() && placeholders > 0)
            add(Id::ModulePlaceholders,
                "`module` has elements for `" + toValidUtf8(filled)
                    + "` where ZeRO-3 has a tensor of shape (0,)");
    }

    /// Parameters that no file has are reported as frozen-lost.
    [[nodiscard]] bool isLost(std::string_view name) const
    {
        const auto id = m_part.findParam(name);
        return id && m_part.params[index(*id)].elements > 0 && !isStoredAnywhere(m_part, *id);
    }

    static bool isPlaceholderOf(const Parameter& param)
    {
        return param.role == ParamRole::Trainable && param.elements > 0;
    }

    const Checkpoint& m_part;
    ModelStates m_model;
    std::vector<LoaderViolation>& m_out;
};

} // namespace

void checkModelFiles(const Checkpoint& part, std::vector<LoaderViolation>& out)
{
    if (!hasRankFiles(part.kind) && !isStage0(part.kind))
        return;
    if (const ModelStates model = modelStates(part); isUsable(model)) {
        ModelFileChecks checks(part, model, out);
        checks.runForEachFile();
        checks.runForAllFiles();
    }
    if (!partitionsParameters(part.kind))
        return;
    for (const FileId id : part.modelFiles) {
        if (id == kNoFile || id == part.templateModel || part.file(id).status == FileStatus::Stale)
            continue;
        if (const ModelStates model = modelStates(part.file(id)); isUsable(model))
            ModelFileChecks(part, model, out).runForEachFile();
    }
}

void checkModelFile(const Checkpoint& part, const CheckpointFile& file, const PickleGraph& graph,
    std::vector<LoaderViolation>& out)
{
    ModelStates model = modelStates(graph);
    model.file = &file;
    if (isUsable(model))
        ModelFileChecks(part, model, out).runForEachFile();
}

} // namespace shardscope
