// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/io/file_system.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// What stock DeepSpeed 0.19.8 checks, or reads without a check, while it loads a checkpoint. The numbers are
/// stable.
enum class LoaderCheckId : uint8_t {
    // engine.py, load_checkpoint and state_dict_factory.py: the model files
    ModelFiles = 1,
    ModelFileCount = 2,
    ModuleKey = 3,
    ModuleNames = 4,
    ModulePlaceholders = 5,
    FrozenFragments = 6,
    DataParallelSize = 7,
    GlobalSteps = 8,
    SkippedSteps = 9,
    ModelParallelSize = 10,
    Scheduler = 11,
    NumExperts = 12,
    ExpertFiles = 13,
    Stage0Optimizer = 14,
    SameRanks = 15,
    SchedulerState = 16,
    // engine.py, _load_zero_checkpoint: the optimizer files
    RankFile = 20,
    PrecisionPrefix = 21,
    OptimizerKey = 22,
    // stage_1_and_2.py and bf16_optimizer.py, _load_legacy_checkpoint
    ShardVersion = 30,
    BaseOptimizer = 31,
    BaseOptimizerGroups = 32,
    BaseOptimizerParams = 33,
    StateLength = 34,
    Masters = 35,
    AlignmentPaddings = 36,
    ElasticStep = 37,
    // stage3.py, _rigid_load_state_dict
    Scaler = 50,
    TorchOptimizer = 51,
    SubGroups = 52,
    SubGroupParams = 53,
    SubGroupLength = 54,
    SubGroupState = 55,
    // universal_checkpoint.py and the optimizers' load_universal_checkpoint
    UniversalGroups = 70,
    UniversalVersion = 71,
    UniversalParameter = 72,
    UniversalStep = 73,
};

struct LoaderCheck {
    LoaderCheckId id = LoaderCheckId::ModelFiles;
    std::string_view name = {}; ///< kebab-case
    std::string_view function = {}; ///< of DeepSpeed: "engine.py, _load_checkpoint"
    std::string_view stockSays = {}; ///< exception and message, or what it does silently
    /// The code of the finding that reports a violation in one rank's file. findLoaderViolations() reports
    /// violations in the files of all ranks.
    std::string_view code = {};
};

/// The code of findings of checks that no other diagnosis reports.
inline constexpr std::string_view kLoaderRefuses = "loader-refuses";

std::span<const LoaderCheck> loaderChecks();
const LoaderCheck& loaderCheck(LoaderCheckId id);

struct LoaderViolation {
    LoaderCheckId check = LoaderCheckId::ModelFiles;
    std::string what; ///< what is wrong, in a sentence
    Place where; ///< the file
    /// Only some engines refuse it: `what` names them.
    bool bySomeEngines = false;
};

/// Adds violations of the checks with the code kLoaderRefuses, and of other checks if all ranks have them.
/// Opens again the files that the reader did not keep (dropped_files.h). After an error, `out` has the
/// earlier violations.
Status findLoaderViolations(
    const Checkpoint& checkpoint, io::FileSystem& files, JobContext& job, std::vector<LoaderViolation>& out);

// By file, for findLoaderViolations().
void checkModelFiles(const Checkpoint& part, std::vector<LoaderViolation>& out);
/// Of a ZeRO-3 rank other than rank 0. What it finds depends on `part` and `graph`; `file` is only named.
void checkModelFile(const Checkpoint& part, const CheckpointFile& file, const PickleGraph& graph,
    std::vector<LoaderViolation>& out);
void checkOptimizerFiles(const Checkpoint& part, std::vector<LoaderViolation>& out);
void checkUniversalOptimizer(const Checkpoint& checkpoint, std::vector<LoaderViolation>& out);

} // namespace shardscope
