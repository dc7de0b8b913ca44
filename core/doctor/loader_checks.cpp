// SPDX-License-Identifier: Apache-2.0
#include "core/doctor/loader_checks.h"

#include "core/doctor/dropped_files.h"
#include "core/doctor/saved_facts.h"
#include "core/torchfile/torch_file.h"

#include <algorithm>
#include <array>
#include <iterator>

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

} // namespace shardscope
