// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/consistency.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/checkpoint/units/odd_states.h"
#include "core/checkpoint/units/other_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>

namespace shardscope {

namespace {

/// The number of ranks that the file's run partitioned parameters over, without experts.
std::optional<int64_t> partitionCount(const PickleGraph& graph)
{
    // If experts fold over tensor slices, more ranks may share an expert than there are data-parallel ranks.
    if (const NodeId folding = lookup(graph, graph.root(), kFolding); folding != kNoNode)
        return asInteger(graph, lookup(graph, folding, "zero_partition_count"));
    const NodeId node = lookup(graph, wrapperOf(graph), "partition_count");
    if (node == kNoNode)
        return std::nullopt;
    if (const auto number = asInteger(graph, node))
        return number;
    std::optional<int64_t> most;
    for (const NodeId item : sequenceItems(graph, node))
        most = std::max(most.value_or(0), asInteger(graph, item).value_or(0));
    return most;
}

/// The torch optimizer's dict, or the list of elastic checkpoints. ZeRO-1/2: in "base_optimizer_state".
/// ZeRO-3: in a second "optimizer_state_dict".
NodeId torchStateOf(const PickleGraph& graph)
{
    const NodeId wrapper = wrapperOf(graph);
    const NodeId base = lookup(graph, wrapper, "base_optimizer_state");
    return base != kNoNode ? base : lookup(graph, wrapper, "optimizer_state_dict");
}

/// What all ranks must agree on, as text. Step tensors are read, because a rank from another step differs
/// only there.
struct RankFacts {
    std::string steps;
    std::map<std::string, std::string> options; ///< the same of those that all ranks of a run have in common
    std::string scaler;
    std::map<std::string, std::string> others; ///< further options, by "`NAME` of groupG"
};

/// Options that a run sets for all ranks: those of the optimizers of torch, Apex, DeepSpeed and bitsandbytes,
/// and of schedulers.
constexpr std::array<std::string_view, 42> kCommonOptions{"lr", "initial_lr", "betas", "eps", "weight_decay",
    "momentum", "dampening", "nesterov", "maximize", "foreach", "capturable", "differentiable", "fused",
    "bias_correction", "amsgrad", "adam_w_mode", "lr_decay", "initial_accumulator_value", "alpha", "centered",
    "decoupled_weight_decay", "step", "max_lr", "min_lr", "max_momentum", "base_momentum", "max_coeff",
    "min_coeff", "use_muon", "name", "params", "param_names", "lambd", "t0", "etas", "step_sizes", "rho",
    "momentum_decay", "max_grad_norm", "grad_averaging", "ns_steps", "moe"};
/// Estimates that Prodigy and D-Adaptation make from the gradients of a rank's own partition (prodigyopt,
/// prodigy.py; dadaptation).
constexpr std::array<std::string_view, 14> kEstimates{"d", "d0", "d_max", "d_numerator", "d_denom", "d_prev",
    "d_hat", "dlr", "k", "numerator_weighted", "gsq_weighted", "sksq_weighted", "sk_l1", "g0_norm"};

template <size_t Count>
bool contains(const std::array<std::string_view, Count>& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr char kUnread = '?'; ///< a step that cannot be read; other findings report why

std::string stepText(const Reading& reading, const TorchFile& file, NodeId node)
{
    const PickleGraph& graph = file.pickle();
    if (const auto number = asNumber(graph, node))
        return shortRealText(*number);
    const auto tensor = asTensor(graph, node);
    if (!tensor || tensor->elements() != 1)
        return {kUnread};
    const auto extent = file.extentOf(*tensor);
    if (!extent || reading.job.cancelled())
        return {kUnread};
    const auto bytes = readScalar(reading, file, *extent);
    return bytes.empty() ? std::string{kUnread} : shortRealText(elementAsDouble(tensor->dtype, bytes.data()));
}

void addOptions(const Reading& reading, FileId id, NodeId options, const std::string& group, RankFacts& facts)
{
    const TorchFile& file = *reading.content(id);
    const auto items = mappingItems(file.pickle(), options);
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(file.pickle(), items[i]);
        const std::string name(key ? *key : std::string_view("?"));
        const NodeId value = items[i + 1];
        const auto plain = plainValue(reading, id, value);
        const ScalarSpelling spelling = plain ? ScalarSpelling{*plain, {}} : spellShortly(file, value);
        if (!spelling.lacks.empty() && reading.out.optimFiles.size() > 1)
            setStateAside(reading, name, "of " + group + " is an option with " + std::string(spelling.lacks),
                "ranks may differ in it");
        (contains(kCommonOptions, name) ? facts.options : facts.others)["`" + name + "` of " + group]
            = spelling.text;
    }
}

RankFacts factsOf(const Reading& reading, FileId id)
{
    const TorchFile& file = *reading.content(id);
    const PickleGraph& graph = file.pickle();
    RankFacts facts;
    const NodeId torchState = torchStateOf(graph);
    const auto states = mappingItems(graph, lookup(graph, torchState, "state"));
    for (size_t i = 0; i + 1 < states.size(); i += 2) {
        const NodeId step = lookup(graph, states[i + 1], "step");
        if (step != kNoNode)
            facts.steps += stepText(reading, file, step) + " ";
    }
    for (const NodeId entry : sequenceItems(graph, torchState)) { // elastic_checkpoint
        if (const NodeId step = lookup(graph, entry, "step"); step != kNoNode)
            facts.steps += stepText(reading, file, step) + " ";
    }
    size_t number = 0;
    for (const GroupEntry& group : readParamGroups(graph, torchState))
        addOptions(reading, id, group.options, "group" + std::to_string(number++), facts);
    const NodeId scaler = lookup(graph, wrapperOf(graph), "loss_scaler");
    if (scaler != kNoNode)
        facts.scaler = spellShortly(file, scaler).text;
    return facts;
}

using Ranks = std::vector<std::pair<FileId, RankFacts>>;

/// How far a rank's step is from the model file's counter. 0 if either is not known.
double stepsOff(const Reading& reading, const RankFacts& facts)
{
    const StepCounters& steps = reading.out.steps;
    char* end = nullptr;
    const double step = std::strtod(facts.steps.c_str(), &end);
    if (end == facts.steps.c_str() || !steps.globalSteps || !reading.modelsFrom.empty())
        return 0;
    return std::abs(step - static_cast<double>(*steps.globalSteps - steps.skippedSteps.value_or(0)));
}

/// In a damaged file only the readable steps are compared. The others are replaced by those of `usual`.
void takeUnread(std::string& steps, const std::string& usual)
{
    std::istringstream here(steps);
    std::istringstream there(usual);
    std::string out;
    for (std::string step; here >> step;) {
        std::string other;
        there >> other;
        out += (step == std::string{kUnread} ? other : step) + " ";
    }
    steps = std::move(out);
}

/// The value of most ranks. On a tie: the value of ranks at the model file's step, then the first one found.
template <class Value>
Value majority(const Reading& reading, const Ranks& ranks, Value RankFacts::*field)
{
    std::map<Value, size_t> counts;
    size_t most = 0;
    for (const auto& [file, facts] : ranks)
        most = std::max(most, ++counts[facts.*field]);
    const RankFacts* best = nullptr;
    for (const auto& [file, facts] : ranks) {
        if (counts[facts.*field] == most
            && (best == nullptr || stepsOff(reading, facts) < stepsOff(reading, *best)))
            best = &facts;
    }
    return best == nullptr ? Value() : best->*field;
}

/// Whether a file of this name belongs to the model slice that is read. Without slices and stages the number
/// may be that of a sequence-parallel rank, in a file that was renamed for another release.
bool isOfSlice(const Reading& reading, const CheckpointFileName& name)
{
    if (reading.modelRanks > 1 || name.mp == 0)
        return name.mp == reading.out.modelRank;
    for (uint32_t ranks = name.mp + 1; ranks <= reading.worldSize; ++ranks) {
        if (reading.worldSize % ranks == 0 && name.dp % ranks == name.mp)
            return true;
    }
    return false;
}

/// Options of which every rank has its own value: not damage, but a rewrite gives all ranks those of the
/// first.
void checkOtherOptions(const Reading& reading, const Ranks& ranks)
{
    std::vector<std::string> names;
    std::vector<std::string> evidence;
    bool estimates = true;
    for (const auto& [name, value] :
        ranks.empty() ? std::map<std::string, std::string>() : ranks.front().second.others) {
        for (const auto& [id, facts] : ranks) {
            const auto other = facts.others.find(name);
            const std::string text = other == facts.others.end() ? "missing" : other->second;
            if (text == value)
                continue;
            estimates = estimates && contains(kEstimates, name.substr(1, name.find('`', 1) - 1));
            names.push_back(name);
            evidence.push_back(name + ": " + value.substr(0, 60) + " in `"
                + reading.out.file(ranks.front().first).name + "`, " + text.substr(0, 60) + " in `"
                + reading.out.file(id).name + "`");
            break;
        }
    }
    if (names.empty())
        return;
    std::string text;
    for (const std::string& name : names)
        text += (text.empty() ? "" : ", ") + name;
    reading.add(code::kOptionMismatch, estimates ? Severity::Info : Severity::Warning,
        estimates ? "every rank has its own estimates of the optimizer: " + text
                  : "every rank has its own value of " + text,
        {}, std::move(evidence));
}

std::vector<std::string> differences(const std::string& here, const std::string& usual)
{
    return {"here: " + here.substr(0, 200), "elsewhere: " + usual.substr(0, 200)};
}

/// Of options, those that differ.
std::vector<std::string> differences(
    const std::map<std::string, std::string>& here, const std::map<std::string, std::string>& usual)
{
    constexpr size_t kMost = 8;
    std::map<std::string, std::pair<std::string, std::string>> both;
    for (const auto& [name, text] : here)
        both[name] = {text, "missing"};
    for (const auto& [name, text] : usual)
        both.try_emplace(name, "missing", "").first->second.second = text;
    std::erase_if(both, [](const auto& each) { return each.second.first == each.second.second; });
    std::vector<std::string> out;
    for (const auto& [name, texts] : both) {
        if (out.size() == kMost) {
            out.push_back("and " + std::to_string(both.size() - kMost) + " more options");
            break;
        }
        out.push_back(name + ": " + texts.first.substr(0, 60) + " here, " + texts.second.substr(0, 60)
            + " in the other ranks");
    }
    return out;
}

/// Reports the ranks whose value is not that of most.
template <class Value>
void compareRanks(const Reading& reading, const Ranks& ranks, Value RankFacts::*field, std::string_view code,
    const char* message)
{
    const Value usual = majority(reading, ranks, field);
    for (const auto& [id, facts] : ranks) {
        if (facts.*field == usual)
            continue;
        CheckpointFile& file = reading.out.files[index(id)];
        file.status = FileStatus::Foreign;
        reading.add(code, Severity::Error, message, file.name, differences(facts.*field, usual));
    }
}

} // namespace

bool markRenamed(const Reading& reading, FileId id)
{
    CheckpointFile& file = reading.out.files[index(id)];
    const auto named = parseCheckpointFileName(file.name);
    const auto saved = parseCheckpointFileName(file.content->zip().prefix() + ".pt");
    if (!named || !saved
        || (named->role == saved->role && named->dp == saved->dp
            && (named->mp == saved->mp || isOfSlice(reading, *saved))))
        return false;
    file.status = FileStatus::Foreign;
    reading.add(code::kRankForeign, Severity::Error, "the file was saved under another name and renamed",
        file.name, {"it was saved as " + file.content->zip().prefix() + ".pt"});
    return true;
}

void markForeignRanks(const Reading& reading)
{
    for (const FileId id : reading.out.optimFiles) {
        const TorchFile* content = reading.content(id);
        if (content == nullptr)
            continue;
        CheckpointFile& file = reading.out.files[index(id)];
        if (wrapperOf(content->pickle()) == kNoNode) {
            file.status = FileStatus::Damaged;
            reading.add(
                code::kRankForeign, Severity::Error, "the file holds no `optimizer_state_dict`", file.name);
            file.content.reset();
            continue;
        }
        if (markRenamed(reading, id))
            continue;
        const auto count = partitionCount(content->pickle());
        if (count && *count != int64_t{reading.worldSize}) {
            file.status = FileStatus::Foreign;
            reading.add(code::kRankForeign, Severity::Error,
                "the file was saved by a run of another world size", file.name,
                {"its partition_count is " + std::to_string(*count),
                    "the checkpoint has " + std::to_string(reading.worldSize) + " ranks"});
        }
    }
}

void checkRanksAgree(const Reading& reading)
{
    Ranks ranks;
    for (const FileId id : reading.out.optimFiles) {
        if (reading.content(id) != nullptr && reading.out.file(id).status != FileStatus::Foreign)
            ranks.emplace_back(id, factsOf(reading, id));
    }
    const auto isUnread
        = [](const auto& rank) { return rank.second.steps.find(kUnread) != std::string::npos; };
    Ranks read;
    std::remove_copy_if(ranks.begin(), ranks.end(), std::back_inserter(read), isUnread);
    const std::string usualSteps = majority(reading, read, &RankFacts::steps);
    for (auto& rank : ranks) {
        if (isUnread(rank) && !read.empty())
            takeUnread(rank.second.steps, usualSteps);
    }
    checkOtherOptions(reading, ranks);
    compareRanks(reading, ranks, &RankFacts::steps, code::kStepMismatch,
        "the rank was saved at another step than the others");
    compareRanks(reading, ranks, &RankFacts::options, code::kOptionMismatch,
        "the rank's param group options differ from the others'");
    compareRanks(reading, ranks, &RankFacts::scaler, code::kOptionMismatch,
        "the rank's loss scaler differs from the others'");
}

void checkModelFile(const Reading& reading, FileId id)
{
    if (markRenamed(reading, id))
        return;
    const PickleGraph& first = reading.content(reading.out.templateModel)->pickle();
    const PickleGraph& other = reading.content(id)->pickle();
    for (const std::string_view key : {"dp_world_size", "global_steps", "skipped_steps", "ds_version"}) {
        const std::string here = scalarText(other, lookup(other, other.root(), key));
        const std::string there = scalarText(first, lookup(first, reading.modelRoot, key));
        if (here == there)
            continue;
        CheckpointFile& file = reading.out.files[index(id)];
        file.status = FileStatus::Foreign;
        reading.add(key == "dp_world_size" || key == "ds_version" ? code::kRankForeign : code::kStepMismatch,
            Severity::Error,
            "the model file does not belong to the others: `" + std::string(key) + "` differs", file.name,
            {"here: " + here, "rank 0: " + there});
    }
}

} // namespace shardscope
