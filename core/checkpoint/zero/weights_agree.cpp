// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/zero/weights_agree.h"

#include "core/base/finding_codes.h"
#include "core/checkpoint/folder/reading_state.h"
#include "core/checkpoint/units/weight_samples.h"
#include "core/checkpoint/zero/zenflow.h"
#include "core/io/open_files.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kSample = 64; ///< elements per rank: one small read of each file

/// Compares the first elements of one rank with the model file's.
WeightTally compareRank(
    const Checkpoint& checkpoint, WeightSamples& samples, const io::ReadFile& shard, uint32_t rank)
{
    WeightTally tally;
    for (const FlatUnit& unit : checkpoint.units) {
        if (unit.kind != UnitKind::Group || unit.states.empty() || tally.compared >= kSample)
            continue;
        const auto share = unit.partitionRankOf(rank);
        const UnitState& masters = unit.states.front();
        if (!share || !masters.perRank[*share].isPresent())
            continue;
        const StoredRun& run = masters.perRank[*share];
        unit.partition.forEachPiece(*share, 0, run.elements, [&](const FlatPiece& piece) {
            if (!piece.isPadding())
                samples.compare(shard, run.byteOffset + piece.flatOffset * itemSize(masters.dtype),
                    masters.dtype, unit.params[piece.param], piece.paramOffset,
                    std::min(piece.elements, kSample - tally.compared), tally);
            return tally.compared < kSample;
        });
    }
    return tally;
}

/// Compares the ranks from `begin` to `end`, in few rounds.
std::vector<std::pair<FileId, WeightTally>> talliesOf(
    const Reading& reading, WeightSamples& samples, uint32_t begin, uint32_t end)
{
    const Checkpoint& checkpoint = reading.out;
    std::vector<uint32_t> ranks;
    std::vector<io::Path> paths;
    for (uint32_t rank = begin; rank < end; ++rank) {
        const FileId file = checkpoint.optimFiles[rank];
        if (!checkpoint.isReadable(file))
            continue;
        ranks.push_back(rank);
        paths.push_back(checkpoint.file(file).path);
    }
    std::vector<std::unique_ptr<io::HeldFile>> shards;
    std::vector<uint32_t> opened;
    std::vector<io::FileSystem::Opened> files = reading.files.openReadAll(paths);
    for (size_t i = 0; i < files.size(); ++i) {
        if (!files[i]) {
            samples.noteUnreadable(files[i].error());
            continue;
        }
        shards.push_back(std::make_unique<io::HeldFile>(std::move(*files[i])));
        opened.push_back(ranks[i]);
    }
    samples.plan();
    for (size_t i = 0; i < shards.size(); ++i)
        compareRank(checkpoint, samples, *shards[i], opened[i]);
    samples.fetch(shards);
    std::vector<std::pair<FileId, WeightTally>> out;
    for (size_t i = 0; i < shards.size(); ++i)
        out.emplace_back(
            checkpoint.optimFiles[opened[i]], compareRank(checkpoint, samples, *shards[i], opened[i]));
    return out;
}

std::string evidenceOf(const WeightTally& tally)
{
    return std::to_string(tally.different) + " of the first " + std::to_string(tally.compared)
        + " masters are not the values of their copies";
}

} // namespace

void checkWeightsAgree(const Reading& reading)
{
    Checkpoint& out = reading.out;
    if (!out.isReadable(out.templateModel) || reading.hasNoValues())
        return;
    if (!reading.modelsFrom.empty()) // they are of another step
        return;
    if (showsZenFlow(reading)) // copies change between updates of masters; decideZenFlow() has checked
        return;
    WeightSamples samples(reading);
    std::vector<std::pair<FileId, WeightTally>> bad;
    size_t good = 0;
    const auto ranks = static_cast<uint32_t>(out.optimFiles.size());
    const auto together = static_cast<uint32_t>(io::filesAtATime());
    for (uint32_t begin = 0; begin < ranks && !reading.job.cancelled(); begin += together) {
        for (const auto& [file, tally] :
            talliesOf(reading, samples, begin, std::min(begin + together, ranks))) {
            if (tally.isBad())
                bad.emplace_back(file, tally);
            else if (tally.compared >= WeightTally::kMin)
                ++good;
        }
    }
    // A wrong order looks like foreign ranks. Under round robin it may show only after a rank's first
    // elements.
    const bool mayBeReordered = !hasBf16Optimizer(out.kind) && (out.roundRobin || !bad.empty());
    if (mayBeReordered && checkOrderAgrees(reading, samples))
        return;
    if (bad.empty())
        return;
    if (good == 0) {
        out.files[index(out.templateModel)].status = FileStatus::Foreign;
        reading.add(code::kStepMismatch, Severity::Error,
            "the model file's weights do not match the optimizer files: it is from another step or run",
            out.file(out.templateModel).name, {evidenceOf(bad.front().second)});
        return;
    }
    for (const auto& [file, tally] : bad) {
        out.files[index(file)].status = FileStatus::Foreign;
        reading.add(code::kRankForeign, Severity::Error,
            "the rank's masters do not match the model file's weights: it is from another step or run",
            out.file(file).name, {evidenceOf(tally)});
    }
}

} // namespace shardscope
