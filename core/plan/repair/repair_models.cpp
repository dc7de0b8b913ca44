// SPDX-License-Identifier: Apache-2.0
#include "core/base/checked.h"
#include "core/base/finding_codes.h"
#include "core/base/text.h"
#include "core/checkpoint/model/experts.h"
#include "core/checkpoint/model/file_names.h"
#include "core/checkpoint/model/fused_experts.h"
#include "core/checkpoint/model/model_states.h"
#include "core/checkpoint/model/optim_states.h"
#include "core/checkpoint/model/scalar_text.h"
#include "core/doctor/saved_facts.h"
#include "core/layout/address.h"
#include "core/plan/repair/amended.h"
#include "core/plan/repair/repair_reopen.h"
#include "core/plan/target/expert_degree.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace shardscope {

namespace {

/// The counters of schedulers. DeepSpeed's own start from 0, torch's from 1 or from the first step.
constexpr std::array<const char*, 3> kCounts{"last_batch_iteration", "last_epoch", "_step_count"};

/// The engine's counters of this tag, from its optimizer files and its name.
struct Counted {
    int64_t steps = 0;
    int64_t skipped = 0;

    [[nodiscard]] int64_t taken() const { return steps - skipped; }
};

/// N of "global_stepN", the default name of tags.
std::optional<int64_t> stepsOfTag(const std::string& tag)
{
    constexpr std::string_view prefix = "global_step";
    int64_t out = 0;
    if (!tag.starts_with(prefix))
        return std::nullopt;
    const auto [end, error] = std::from_chars(tag.data() + prefix.size(), tag.data() + tag.size(), out);
    return error == std::errc() && end == tag.data() + tag.size() && out >= 0 ? std::optional(out)
                                                                              : std::nullopt;
}

std::optional<int64_t> optimizerStep(const Checkpoint& checkpoint)
{
    std::optional<double> most;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.isFlat() && unit.step)
            most = std::max(most.value_or(*unit.step), *unit.step);
    }
    return most ? wholeNumber(*most) : std::nullopt;
}

Result<Counted> countedBy(const Amended& amended, const Finding& finding)
{
    const StepCounters& other = amended.source->steps;
    const auto named = stepsOfTag(amended.source->tag);
    const auto taken = optimizerStep(*amended.source);
    const int64_t skipped = other.skippedSteps.value_or(0);
    if (named && other.globalSteps == named)
        return Counted{*named, skipped}; // the donor has the same step
    // Adam of releases before 0.14 counts one step more.
    if (named && taken && *taken <= *named + 1)
        return Counted{*named, std::max<int64_t>(*named - *taken, 0)};
    if (named && !taken)
        return Counted{*named, std::min(skipped, *named)};
    if (taken)
        return Counted{*taken + skipped, skipped};
    return cannotRepair(
        amended, finding, "neither the tag's name nor an optimizer's step records how many steps were done");
}

class OtherModel
{
public:
    OtherModel(Amended& amended, const Counted& counted)
        : m_amended(amended)
        , m_source(*amended.source)
        , m_counted(counted)
        , m_edit(amended.edit(m_source.templateModel))
        , m_root(m_edit.graph().root())
    {
    }

    void setCounters()
    {
        StepCounters& steps = m_amended.checkpoint->steps;
        const StepCounters other = m_source.steps;
        set(m_root, "global_steps", m_counted.steps);
        set(m_root, "skipped_steps", m_counted.skipped);
        steps.globalSteps = m_counted.steps;
        steps.skippedSteps = m_counted.skipped;
        const int64_t samples = other.globalSamples.value_or(0);
        const int64_t of = other.globalSteps.value_or(0);
        if (of > 0 && samples % of == 0 && samples / of <= kMaxSamples) {
            steps.globalSamples = samples / of * m_counted.steps;
            set(m_root, "global_samples", *steps.globalSamples);
        }
    }

    /// Changes counts of the other step to this one's. The rates are the optimizer's.
    void setSchedule()
    {
        const PickleGraph& graph = m_edit.graph();
        const SchedulerState scheduler = schedulerState(modelStates(graph));
        if (scheduler.node == kNoNode || !m_source.steps.globalSteps)
            return;
        const int64_t then = *m_source.steps.globalSteps - m_source.steps.skippedSteps.value_or(0);
        for (const char* key : kCounts) {
            const auto count = asInteger(graph, lookup(graph, scheduler.node, key));
            if (count && std::abs(*count - then) <= 1)
                set(scheduler.node, key, m_counted.taken() + *count - then);
        }
        const NodeId rates = scheduler.lastRates;
        const OptimStates optimizer = optimStates(m_source);
        if (rates == kNoNode || !optimizer || sequenceItems(graph, rates).size() != m_source.groups.size())
            return;
        std::vector<NodeId> made;
        for (const ParamGroup& group : m_source.groups) {
            const auto value
                = numberOf(*optimizer.file->content, readGroupOptions(*optimizer.graph, group.options).lr);
            if (!value)
                return;
            made.push_back(m_edit.builder().real(*value));
        }
        m_edit.put(scheduler.node, "_last_lr", m_edit.builder().list(made));
    }

private:
    static constexpr int64_t kMaxSamples = int64_t{1} << 31; ///< of one batch

    void set(NodeId mapping, const std::string& key, int64_t value)
    {
        if (lookup(m_edit.graph(), mapping, key) != kNoNode)
            m_edit.put(mapping, key, m_edit.builder().integer(value));
    }

    Amended& m_amended;
    const Checkpoint& m_source;
    Counted m_counted;
    PickleEdit& m_edit;
    NodeId m_root;
};

void loseWeight(Amended& amended, ParamId param)
{
    std::erase_if(amended.checkpoint->whole, [&](const WholeTensor& whole) { return whole.param == param; });
    amended.model.rebuilt = true;
}

/// Whether it is a reader's finding about an expert's weights that no file holds.
bool isOfExpert(const Finding* finding)
{
    const ParamAddress* named = finding->where.param();
    return finding->code == code::kModelStatesMissing && named != nullptr && parseExpertName(named->name);
}

} // namespace

bool hasMaster(const Checkpoint& checkpoint, ParamId param)
{
    const ParamId owner = checkpoint.params[index(param)].sharedWith;
    const ParamId id = owner == kNoParam ? param : owner;
    const FlatUnit* unit = checkpoint.unitOf(id);
    return checkpoint.params[index(id)].role == ParamRole::Trainable && unit != nullptr && unit->isFlat()
        && unit->group >= 0;
}

Status loseWeightOf(Amended& amended, const Finding& finding, ParamId param)
{
    const Checkpoint& source = *amended.source;
    const bool keepsMasters = partitionsGroups(source.kind);
    if (!keepsMasters || amended.isSplit() || isOfZenflow(source))
        return cannotRepair(
            amended, finding, "only trained parameters are rebuilt, from the masters next to them");
    if (!hasMaster(source, param))
        return cannotRepair(amended, finding,
            "nothing but the model file holds `" + toValidUtf8(source.params[index(param)].name)
                + "`, which is not trained");
    loseWeight(amended, param);
    return {};
}

Status loseWeightsIn(Amended& amended, const Finding& finding, FileId file, const std::set<uint32_t>& records)
{
    const Checkpoint& source = *amended.source;
    for (const uint32_t record : records) {
        bool found = false;
        for (const WholeTensor& whole : source.whole) {
            if (whole.run.file != file || whole.run.record != record)
                continue;
            SHARDSCOPE_CHECK(loseWeightOf(amended, finding, whole.param));
            found = true;
        }
        if (!found)
            return cannotRepair(amended, finding, "the record holds no parameter");
    }
    return {};
}

Status makeExpertFiles(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    if (amended.isSplit() || !FusedExperts::of(source).isEmpty())
        return cannotRepair(amended, *findings.front(),
            "files of experts are rebuilt without tensor slices, pipeline stages and AutoEP");
    for (const Finding* finding : findings) {
        const auto lost = parseCheckpointFileName(finding->where.file());
        if (!lost || lost->role != FileRole::ExpertStates || !lost->layer || !lost->expert)
            return cannotRepair(amended, *finding, "it is not the file of an expert's weights");
        const auto like = std::find_if(source.files.begin(), source.files.end(), [&](const auto& file) {
            const auto parsed = parseCheckpointFileName(file.name);
            return parsed && parsed->role == FileRole::ExpertStates && parsed->layer == lost->layer
                && parsed->mp == lost->mp && parsed->expert && file.status == FileStatus::Ok && file.content;
        });
        if (like == source.files.end())
            return cannotRepair(amended, *finding, "no remaining file of this layer records its form");
        amended.model.experts.push_back({finding->where.file(), *lost->expert,
            FileId{static_cast<uint32_t>(like - source.files.begin())}});
        amended.repair(*finding, "built from the expert's masters, in the form of `" + like->name + "`");
    }
    std::erase_if(amended.findings(), [](const Finding& other) { return isOfExpert(&other); });
    return {};
}

Status takeOtherModel(Amended& amended, const std::vector<const Finding*>& findings)
{
    const Checkpoint& source = *amended.source;
    const Finding& first = *findings.front();
    if (!amended.model.experts.empty() && std::all_of(findings.begin(), findings.end(), isOfExpert))
        return {}; // their files are built
    const bool areRanks = std::all_of(findings.begin(), findings.end(), [](const Finding* finding) {
        const auto parsed = parseCheckpointFileName(finding->where.file());
        return parsed && parsed->role == FileRole::ModelStates;
    });
    if (!areRanks || amended.isSplit() || hasExperts(source))
        return cannotRepair(amended, first,
            "model files of tensor slices and pipeline stages are not rebuilt, those of experts as "
            "`moe-incomplete`");
    if (!hasRankFiles(source.kind))
        return cannotRepair(amended, first, "no other file holds the trained parameters");
    if (!hasOtherModel(source)) { // with ZeRO-3 the other ranks' files hold all of its content
        for (const Finding* finding : findings) {
            amended.repair(*finding, "rewritten from the other ranks' files");
            amended.remadeModels.insert(finding->where.file());
            std::erase_if(amended.findings(), [&](const Finding& other) {
                return other.severity != Severity::Info && other.where.file() == finding->where.file();
            });
        }
        return {};
    }
    if (isOfZenflow(source))
        return cannotRepair(amended, first,
            "ZenFlow changes weights between updates of their masters, and only this file records that");
    SHARDSCOPE_TRY(const Counted counted, countedBy(amended, first));
    OtherModel model(amended, counted);
    model.setCounters();
    model.setSchedule();
    for (uint32_t i = 0; i < source.params.size(); ++i) {
        if (source.wholeOf(ParamId{i}) != nullptr && hasMaster(source, ParamId{i}))
            loseWeight(amended, ParamId{i});
    }
    const std::string from = source.file(source.templateModel).path.parent_path().filename().string();
    for (const Finding* finding : findings) {
        amended.repair(*finding, "built from that of `" + toValidUtf8(from) + "` and the masters",
            source.steps.globalSteps ? "global_steps " + std::to_string(*source.steps.globalSteps)
                                     : std::string(),
            "global_steps " + std::to_string(counted.steps));
        amended.mark(finding->code, finding->where.file(),
            "buffers, frozen parameters and the run's other values are those of `" + toValidUtf8(from) + "`");
    }
    return {};
}

} // namespace shardscope
