// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/model/file_names.h"
#include "core/layout/address.h"
#include "core/plan/repair/amended.h"
#include "core/plan/repair/repair_reopen.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

/// If only one rank holds a unit (as for experts), no other file records its states. Then uses the states of
/// its group's other ranks, or of all units.
void addStatesOfOthers(const Checkpoint& of, FlatUnit& unit)
{
    const auto isKnown = [](const FlatUnit& other) {
        return other.isFlat()
            && std::any_of(other.states.begin(), other.states.end(), [](const UnitState& state) {
                   return std::any_of(state.perRank.begin(), state.perRank.end(),
                       [](const StoredRun& run) { return run.isPresent(); });
               });
    };
    auto known = std::find_if(of.units.begin(), of.units.end(),
        [&](const FlatUnit& other) { return other.group == unit.group && isKnown(other); });
    if (known == of.units.end())
        known = std::find_if(of.units.begin(), of.units.end(), isKnown);
    if (isKnown(unit) || known == of.units.end())
        return;
    for (const UnitState& state : known->states) {
        const bool has = std::any_of(unit.states.begin(), unit.states.end(),
            [&](const UnitState& own) { return own.name == state.name; });
        if (has)
            continue;
        UnitState& made = unit.states.emplace_back();
        made.name = state.name;
        made.dtype = state.dtype;
        made.perRank.resize(unit.partition.ranks());
    }
    if (!unit.step) {
        unit.step = known->step;
        unit.stepForm = known->stepForm;
        unit.stepType = known->stepType;
    }
}

/// Counts the content of a rank's optimizer file as lost.
void giveUp(Amended& amended, uint32_t rank, std::string_view code)
{
    if (!amended.lostRanks.insert(rank).second)
        return;
    Checkpoint& out = *amended.checkpoint;
    if (rank < out.optimFiles.size())
        out.optimFiles[rank] = kNoFile;
    for (uint32_t u = 0; u < out.units.size(); ++u) {
        const auto share = out.units[u].isFlat() ? out.units[u].partitionRankOf(rank) : std::nullopt;
        if (share)
            addStatesOfOthers(*amended.source, out.units[u]);
        for (uint32_t state = 0; share && state < out.units[u].states.size(); ++state)
            loseShare(amended, UnitId{u}, state, *share, code);
    }
}

/// Settles every finding about a rank's lost file, or about its share.
void settleAllOf(Amended& amended, uint32_t rank)
{
    const Checkpoint& source = *amended.source;
    std::erase_if(amended.findings(), [&](const Finding& other) {
        const auto parsed = parseCheckpointFileName(other.where.file());
        const bool ofFile = parsed && parsed->role == FileRole::OptimStates && parsed->dp == rank
            && parsed->mp == source.modelRank;
        return other.severity != Severity::Info && other.code != code::kMarked
            && (ofFile || rankOfAddress(source, other.where) == rank);
    });
}

} // namespace

std::optional<uint32_t> rankOfAddress(const Checkpoint& source, const Place& where)
{
    const RankCoordinate* rank = where.rank();
    const bool isOwn = rank != nullptr && rank->tp == source.place.tp && rank->pp == source.place.pp
        && rank->dp < source.parallel.dp;
    return isOwn ? std::optional(rank->dp) : std::nullopt;
}

std::optional<FileId> fileNamed(const Checkpoint& checkpoint, const Place& where)
{
    const std::string name = where.file();
    for (uint32_t i = 0; i < checkpoint.files.size(); ++i) {
        if (checkpoint.files[i].name == name)
            return FileId{i};
    }
    return std::nullopt;
}

tl::unexpected<Error> cannotRepair(const Amended& amended, const Finding& finding, const std::string& why)
{
    return fail(ErrorCode::Unsupported,
        std::string(finding.code) + " of `" + finding.where.text() + "` is not repaired: " + why,
        amended.source->tagFolder.string());
}

Result<uint32_t> lostRankOf(const Amended& amended, const Finding& finding)
{
    if (const auto rank = rankOfAddress(*amended.source, finding.where))
        return *rank;
    const auto parsed = parseCheckpointFileName(finding.where.file());
    if (!parsed || parsed->role != FileRole::OptimStates || parsed->expert)
        return cannotRepair(amended, finding, "only optimizer files are refilled");
    if (parsed->dp >= amended.source->parallel.dp)
        return cannotRepair(amended, finding, "the rank is not below the world size");
    return parsed->dp;
}

void loseShare(Amended& amended, UnitId id, uint32_t state, uint32_t share, std::string_view code)
{
    FlatUnit& unit = amended.checkpoint->units[index(id)];
    UnitState& of = unit.states[state];
    if (share < of.perRank.size())
        of.perRank[share] = {};
    LostPart part;
    FlatAddress where = flatAddressOf(*amended.source, unit, share, 0, of.name);
    if (unit.partition.partitionElements() > 1)
        where.end = unit.partition.partitionElements();
    part.where = std::move(where);
    const bool isKnown = std::any_of(amended.lost.begin(), amended.lost.end(),
        [&](const LostPart& known) { return known.where == part.where; });
    if (isKnown)
        return;
    part.code = code;
    part.state = of.name;
    unit.partition.forEachPiece(share, 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
        if (!piece.isPadding() && (part.params.empty() || part.params.back() != unit.params[piece.param]))
            part.params.push_back(unit.params[piece.param]);
        return true;
    });
    part.of = amended.rankName(amended.source->rankOf(unit, share).dp);
    amended.lost.push_back(std::move(part));
}

Status giveUpShard(Amended& amended, const Finding& finding)
{
    SHARDSCOPE_TRY(const uint32_t rank, lostRankOf(amended, finding));
    giveUp(amended, rank, finding.code);
    amended.repair(finding, "the shard of " + amended.rankName(rank) + " is rebuilt");
    settleAllOf(amended, rank);
    return {};
}

Status giveUpShards(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        const auto other = amended.open.exchanged.find(finding->where.file());
        if (finding->code == code::kRankForeign && other != amended.open.exchanged.end())
            amended.repair(
                *finding, "renamed: the file with this name is the source's `" + other->second + "`");
        else
            SHARDSCOPE_CHECK(giveUpShard(amended, *finding));
    }
    return {};
}

Status takeRecovered(Amended& amended, const std::vector<const Finding*>& findings)
{
    std::vector<const Finding*> models;
    for (const Finding* finding : findings) {
        const auto id = fileNamed(*amended.source, finding->where);
        const CheckpointFile* file = id ? &amended.source->file(*id) : nullptr;
        const bool other = hasOtherModel(*amended.source);
        if (file != nullptr && isWholeAgain(*file) && !(other && file->role == FileRole::ModelStates))
            amended.repair(*finding,
                "its directory is rebuilt from the headers of its "
                    + std::to_string(file->content->zip().recordCount()) + " records, which are all there");
        else if (const auto parsed = parseCheckpointFileName(finding->where.file());
                 parsed && parsed->role == FileRole::ModelStates)
            models.push_back(finding);
        else
            SHARDSCOPE_CHECK(giveUpShard(amended, *finding));
    }
    return models.empty() ? Status() : takeOtherModel(amended, models);
}

Status takeMajority(Amended& amended, const std::vector<const Finding*>& findings)
{
    for (const Finding* finding : findings) {
        SHARDSCOPE_TRY(const uint32_t rank, lostRankOf(amended, *finding));
        if (amended.lostRanks.contains(rank)) {
            amended.settle(*finding);
            continue;
        }
        const bool steps = finding->code == code::kStepMismatch;
        if (steps && !mastersFitCopies(amended, rank).value_or(false)) {
            SHARDSCOPE_CHECK(giveUpShard(amended, *finding));
            continue;
        }
        const auto& evidence = finding->evidence;
        amended.repair(*finding,
            steps ? "its masters are those of the 16-bit copies, so its step is set to that of the others"
                  : "set to what the other ranks have",
            evidence.empty() ? std::string() : evidence.front(),
            evidence.size() < 2 ? std::string() : evidence[1]);
        // Files of all ranks follow the form of the first one.
        Checkpoint& out = *amended.checkpoint;
        if (rank < out.optimFiles.size() && out.optimFiles[rank] != kNoFile)
            out.files[index(out.optimFiles[rank])].status = FileStatus::Ok;
        if (out.optimFiles[rank] == out.templateOptim)
            return fail(ErrorCode::Unsupported,
                "the first rank's file is the one that differs, and it is the template for all others",
                out.tagFolder.string());
    }
    return {};
}

} // namespace shardscope
