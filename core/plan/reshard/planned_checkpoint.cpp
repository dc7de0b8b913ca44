// SPDX-License-Identifier: Apache-2.0
#include "core/plan/reshard/planned_checkpoint.h"

#include "core/checkpoint/model/file_names.h"
#include "core/plan/emit/zenflow_form.h"
#include "core/plan/target/reshard_target.h"

#include <memory>
#include <utility>
#include <vector>

namespace shardscope {

namespace {

/// The files of a role of one model-parallel rank, by data-parallel rank.
std::vector<FileId> filesOf(const Checkpoint& target, FileRole role, uint32_t modelRank)
{
    std::vector<FileId> out(target.parallel.dp, kNoFile);
    for (uint32_t i = 0; i < target.files.size(); ++i) {
        const auto parsed = parseCheckpointFileName(target.files[i].name);
        if (parsed && parsed->role == role && parsed->mp == modelRank && parsed->dp < out.size())
            out[parsed->dp] = FileId{i};
    }
    return out;
}

/// The options of the param groups, such as their weight decay, are found in the source's pickle: the planned
/// file that will hold them has its content.
void keepOptions(Checkpoint& target, const Checkpoint& source)
{
    target.templateOptim = kNoFile;
    if (source.templateOptim == kNoFile || target.optimFiles.empty() || target.optimFiles.front() == kNoFile)
        return;
    target.templateOptim = target.optimFiles.front();
    target.files[index(target.templateOptim)].content = source.file(source.templateOptim).content;
}

void addPlannedFiles(Checkpoint& target, const Checkpoint& source, const WritePlan& plan)
{
    target.files.clear();
    for (const PlannedFile& planned : plan.files) {
        CheckpointFile file;
        file.name = planned.path;
        file.identity.bytes = planned.bytes;
        if (const auto parsed = parseCheckpointFileName(planned.path)) {
            file.role = parsed->role;
            file.rank = RankCoordinate{parsed->dp, 0, 0};
        }
        target.files.push_back(std::move(file));
    }
    target.parts.clear();
    for (const auto& from : source.parts) {
        auto part = std::make_shared<Checkpoint>();
        part->modelRank = from->modelRank;
        part->place = from->place;
        part->parallel = target.parallel;
        part->files = target.files; // a part numbers files as the whole does
        part->optimFiles = filesOf(target, FileRole::OptimStates, from->modelRank);
        part->groups = from->groups;
        for (ParamGroup& group : part->groups)
            group.units.clear();
        keepOptions(*part, *from);
        target.parts.push_back(std::move(part));
    }
    target.optimFiles = filesOf(target, FileRole::OptimStates, 0);
    // The first of a universal folder's many files represents all; without ZeRO there is one.
    if ((isUniversal(plan.reshard->kind) || isStage0(plan.reshard->kind)) && !target.files.empty())
        target.optimFiles.assign(1, FileId{0});
}

FileId optimFileOf(const Checkpoint& target, const FlatUnit& unit, uint32_t rank)
{
    const auto& files = target.partOf(unit).optimFiles;
    const uint32_t holder = unit.dpRankOf(rank);
    return holder < files.size() ? files[holder] : kNoFile;
}

uint64_t elementsOn(const FlatUnit& unit, const UnitState& state, uint32_t rank)
{
    return state.lean ? unit.partition.leanElementsOn(rank) : unit.partition.partitionElements();
}

/// The plan's units say what each rank holds; the map also needs a file for it.
void addPlannedUnits(Checkpoint& target, const WritePlan& plan)
{
    target.units = plan.reshard->targetUnits();
    for (ParamGroup& group : target.groups)
        group.units.clear();
    for (size_t i = 0; i < target.units.size(); ++i) {
        FlatUnit& unit = target.units[i];
        const UnitId id{static_cast<uint32_t>(i)};
        for (size_t at = 0; at < unit.params.size(); ++at) {
            Parameter& param = target.params[index(unit.params[at])];
            param.unit = id;
            param.indexInUnit = static_cast<uint32_t>(at);
        }
        for (ParamGroup& group : target.groups)
            if (unit.kind != UnitKind::Frozen && static_cast<int32_t>(group.index) == unit.group)
                group.units.push_back(id);
        // Slices of frozen parameters are in the model files of their ranks.
        const auto models = unit.kind == UnitKind::Frozen
            ? filesOf(target, FileRole::ModelStates, target.partOf(unit).modelRank)
            : std::vector<FileId>{};
        for (UnitState& state : unit.states) {
            state.perRank.assign(unit.partition.ranks(), {});
            for (uint32_t rank = 0; rank < unit.partition.ranks(); ++rank)
                state.perRank[rank] = {rank < models.size() ? models[rank] : optimFileOf(target, unit, rank),
                    StoredRun::kNoRecord, 0, elementsOn(unit, state, rank)};
        }
    }
}

/// The units of the plan's target on so many ranks, as far as rankLoad() needs them.
std::optional<Checkpoint> layOutLike(const ReshardFacts& facts, uint32_t worldSize)
{
    const Checkpoint& source = *facts.laidOut;
    const uint32_t modelRanks = source.parallel.tp * source.parallel.pp;
    const bool changesExperts = facts.options.ep && *facts.options.ep != source.parallel.ep;
    if (worldSize == 0 || worldSize % modelRanks != 0)
        return std::nullopt;
    Checkpoint target;
    const std::vector<CheckpointPtr> whole{facts.laidOut};
    const std::vector<CheckpointPtr>& parts = source.parts.empty() ? whole : source.parts;
    for (uint32_t part = 0; part < parts.size(); ++part) {
        const uint32_t ranks = worldSize / modelRanks;
        const auto layout = changesExperts
            ? layOutExperts(*parts[part], facts.kind, ranks, *facts.options.ep)
            : layOutTarget(*parts[part], facts.kind, ranks, facts.subGroupSize.value_or(0));
        if (!layout)
            return std::nullopt;
        for (const auto& unit : layout->units) {
            FlatUnit& added = target.units.emplace_back(*unit);
            added.part = part;
            for (UnitState& state : added.states) {
                state.perRank.clear();
                for (uint32_t rank = 0; rank < added.partition.ranks(); ++rank)
                    state.perRank.push_back(
                        {FileId{0}, StoredRun::kNoRecord, 0, elementsOn(added, state, rank)});
            }
        }
    }
    return target;
}

} // namespace

std::vector<std::optional<RankLoad>> plannedLoads(
    const WritePlan& plan, std::span<const uint32_t> worldSizes, JobContext& job)
{
    std::vector<std::optional<RankLoad>> out(worldSizes.size());
    if (isUniversal(plan.reshard->kind))
        return out;
    for (size_t i = 0; i < worldSizes.size() && !job.cancelled(); ++i)
        if (const auto target = layOutLike(*plan.reshard, worldSizes[i]))
            out[i] = rankLoad(*target);
    return out;
}

CheckpointPtr plannedCheckpoint(const WritePlan& plan)
{
    const CheckpointPtr laidOut = plan.reshard->laidOut;
    const Checkpoint& source = *laidOut;
    auto target = std::make_shared<Checkpoint>(source);
    target->merged.reset(); // its parameters are whole
    target->parallel.dp = plan.reshard->worldSize / (source.parallel.tp * source.parallel.pp);
    target->kind = plan.reshard->kind;
    target->zenflow = keepsColumns(source, plan.reshard->kind, plan.reshard->options);
    target->findings.clear();
    target->modelFiles.clear();
    target->whole.clear();
    target->templateModel = kNoFile;
    addPlannedFiles(*target, source, plan);
    keepOptions(*target, source);
    addPlannedUnits(*target, plan);
    return target;
}

} // namespace shardscope
