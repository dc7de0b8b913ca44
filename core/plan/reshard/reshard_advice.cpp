// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/reshard_advice.h"

#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/muon.h"
#include "core/plan/target/reshard_target.h"
#include "core/plan/target/stage0_form.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>

namespace shardscope {

namespace {

std::optional<uint64_t> configCount(const Checkpoint& source, std::string_view key)
{
    const auto number = readableModel(source).configInteger({key});
    if (!number || *number <= 0)
        return std::nullopt;
    return static_cast<uint64_t>(*number);
}

std::string configText(const Checkpoint& source, std::initializer_list<std::string_view> path)
{
    const ModelStates model = readableModel(source);
    const NodeId node = model.configValue(path);
    return node == kNoNode ? std::string("not set") : nodeText(*model.graph, node);
}

void add(std::vector<Finding>& out, std::string_view code, Severity severity, std::string message,
    Place where = {})
{
    out.push_back({code, severity, std::move(message), std::move(where), {}});
}

void addExpertDegrees(
    const Checkpoint& source, uint32_t expertRanks, std::vector<std::pair<std::string, std::string>>& out)
{
    const FusedExperts fused = FusedExperts::of(source);
    if (!fused.isEmpty())
        out.emplace_back("expert_parallel.autoep_size",
            std::to_string(expertRanks == 0 ? source.parallel.ep : expertRanks));
    if (fused.slices() > 1)
        out.emplace_back("tensor_parallel.autotp_size", std::to_string(fused.slices()));
}

} // namespace

std::optional<uint64_t> globalBatch(const Checkpoint& source)
{
    if (const auto batch = configCount(source, "train_batch_size"))
        return batch;
    const auto micro = configCount(source, "train_micro_batch_size_per_gpu");
    if (!micro)
        return std::nullopt;
    uint64_t ranks = source.parallel.dp;
    if (isConverted(source.kind)) { // of the run that it was made from
        const ModelStates model = modelStates(source);
        const auto saved = asInteger(*model.graph, model.dpWorldSize);
        if (!saved || *saved <= 0)
            return std::nullopt;
        ranks = static_cast<uint64_t>(*saved);
    }
    const auto perRank
        = checkedMultiply(*micro, configCount(source, "gradient_accumulation_steps").value_or(uint64_t{1}));
    return perRank ? checkedMultiply(*perRank, ranks) : std::nullopt;
}

std::vector<BatchPair> batchPairs(const Checkpoint& source, uint32_t ranks)
{
    std::vector<BatchPair> out;
    const auto global = globalBatch(source);
    if (!global || *global % ranks != 0)
        return out;
    const uint64_t perRank = *global / ranks;
    for (uint64_t micro = 1; micro * micro <= perRank; ++micro) {
        if (perRank % micro != 0)
            continue;
        out.push_back({micro, perRank / micro});
        if (micro != perRank / micro)
            out.push_back({perRank / micro, micro});
    }
    std::sort(
        out.begin(), out.end(), [](const auto& a, const auto& b) { return a.microBatch < b.microBatch; });
    return out;
}

std::vector<std::pair<std::string, std::string>> mustStayEqual(
    const Checkpoint& source, CheckpointKind target, uint64_t subGroupSize, uint32_t expertRanks)
{
    std::vector<std::pair<std::string, std::string>> out;
    out.emplace_back("bf16.enabled", source.precision == "bf16" ? "true" : "false");
    out.emplace_back("fp16.enabled", source.precision == "fp16" ? "true" : "false");
    out.emplace_back("optimizer.type", configText(source, {"optimizer", "type"}));
    out.emplace_back("param_groups", std::to_string(source.groups.size()) + ", in the same order");
    if (isUniversal(target))
        return out;
    if (partitionsParameters(target)) {
        out.emplace_back("zero_optimization.stage", "3");
        out.emplace_back("zero_optimization.sub_group_size", std::to_string(subGroupSize));
        addExpertDegrees(source, expertRanks, out);
        return out;
    }
    if (isStage0(target)) {
        out.emplace_back("zero_optimization.stage", "0");
        return out;
    }
    out.emplace_back("zero_optimization.stage", "1 or 2");
    if (const UnitState* momentum = muonMomentumOf(source); momentum != nullptr && isZero12(target))
        out.emplace_back("zero_optimization.offload_optimizer",
            isHeldWhole(source, *momentum, target)
                ? "none: Muon's momentum is written for a run without CPU offload"
                : "cpu: Muon's momentum is written for a run with CPU offload");
    addExpertDegrees(source, expertRanks, out);
    out.emplace_back("zero_optimization.round_robin_gradients",
        targetRoundRobin(source, target)
            ? std::string("True")
            : configText(source, {"zero_optimization", "round_robin_gradients"}));
    out.emplace_back("zero_optimization.parameter_alignment",
        configText(source, {"zero_optimization", "parameter_alignment"}));
    return out;
}

namespace {

void addClientStateWarnings(const Checkpoint& source, std::vector<Finding>& out)
{
    const auto isPerRank = [](const std::string& key) {
        return key.find("rng") != std::string::npos || key.find("random") != std::string::npos
            || key.find("sampler") != std::string::npos;
    };
    for (const std::string& key : source.clientStateKeys) {
        if (isPerRank(key))
            add(out, code::kClientStatePerRank, Severity::Warning,
                "client state `" + toValidUtf8(key)
                    + "` looks like one rank's own state (random numbers, sampler); it is carried unchanged "
                      "to every rank");
    }
}

/// For ZeRO-3.
void addSubGroupWarnings(const ReshardOptions& options, uint64_t subGroupSize, std::vector<Finding>& out)
{
    add(out, code::kSubGroupSize, Severity::Info,
        "the resumed run must use sub_group_size " + std::to_string(subGroupSize)
            + ": with another one stock DeepSpeed refuses, or silently does not load the last sub-groups");
    add(out, code::kStockLoaderTrap, Severity::Info,
        "load_module_only=True alone restores no weight under ZeRO-3; set load_optimizer_states=False, too");
    if (!options.writePointer)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "load_optimizer_states=False reads the tag that `latest` names, not the requested tag, and "
            "`latest` is not written");
}

} // namespace

std::vector<Finding> reshardWarnings(const Checkpoint& source, CheckpointKind target,
    const ReshardOptions& options, uint64_t subGroupSize, uint32_t ranks)
{
    std::vector<Finding> out;
    addClientStateWarnings(source, out);
    addUniversalWarnings(source, target, out);
    addStage0Warnings(source, target, out);
    const bool appliesRoundRobin = isZero12(target);
    if (appliesRoundRobin && !targetRoundRobin(source, target)
        && readableModel(source).configValue({"zero_optimization"}) == kNoNode)
        add(out, code::kParamOrder, Severity::Warning,
            "the checkpoint does not record its configuration; the order of its parameters shows no "
            "round_robin_gradients, and the resumed run must have it off");
    if (partitionsParameters(target))
        addSubGroupWarnings(options, subGroupSize, out);
    const bool swapped
        = std::any_of(source.files.begin(), source.files.end(), [](const CheckpointFile& file) {
              return file.role == FileRole::Swap && file.status == FileStatus::Ok;
          });
    if (swapped) // runtime/engine.py, load_checkpoint: with NVMe it looks for offloaded_tensors alone
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "the resumed run must not offload its optimizer to NVMe, or stock DeepSpeed does not read the "
            "optimizer files: offload to the CPU, or not at all");
    const std::string& tag = options.tagOut.empty() ? source.tag : options.tagOut;
    if (tag.find_first_of("[]*?") != std::string::npos)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "stock DeepSpeed finds model files with a glob and will not find them under a tag with [ ] * or "
            "?",
            tag);
    const auto global = globalBatch(source);
    if (isUniversal(target))
        return out;
    if (global && *global % ranks != 0)
        add(out, code::kStockLoaderTrap, Severity::Warning,
            "the global batch of " + std::to_string(*global) + " is not divisible by " + std::to_string(ranks)
                + " data-parallel ranks; the resumed run trains with another batch");
    add(out, code::kStockLoaderTrap, Severity::Info,
        "stock DeepSpeed does not compare names and shapes of shards: the resumed run must list its "
        "parameters in the same order and groups");
    return out;
}

} // namespace shardscope
