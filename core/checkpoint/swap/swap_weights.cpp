// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/swap/swap.h"
#include "core/checkpoint/units/weight_samples.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

constexpr uint64_t kSample = 256; ///< elements per parameter
constexpr size_t kMaxNamed = 8;

/// The folder name for swapped weights (runtime/swap_tensor/partitioned_param_swapper.py).
std::string weightsFolder(const Checkpoint& checkpoint)
{
    if (checkpoint.precision == "bf16")
        return "bfloat16params";
    return checkpoint.precision == "fp16" ? "float16params" : "float32params";
}

DType weightsType(const Checkpoint& checkpoint)
{
    if (checkpoint.precision == "bf16")
        return DType::BFloat16;
    return checkpoint.precision == "fp16" ? DType::Float16 : DType::Float32;
}

/// The first elements of a file. Empty, so that it is not compared, if the file is missing or too short.
std::vector<uint8_t> readStart(io::FileSystem& files, const io::Path& path, uint64_t offset, uint64_t bytes)
{
    const auto file = files.openRead(path);
    if (!file || (*file)->size() < offset + bytes)
        return {};
    std::vector<uint8_t> out(bytes);
    return (*file)->readAt(offset, out) ? out : std::vector<uint8_t>();
}

/// Compares the masters of the parameter at `position` of a sub-group with its weight file.
WeightTally compareParam(const Reading& reading, const SwapSubject& subject, const SwappedState& masters,
    size_t position, const io::Path& weights)
{
    WeightTally tally;
    const FlatUnit& unit = *subject.unit;
    subject.unit->partition.forEachPiece(
        subject.rank, 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
            if (piece.isPadding() || piece.param != position)
                return true;
            const uint64_t count = std::min(piece.elements, kSample);
            const DType type = weightsType(reading.out);
            const auto own = readStart(reading.files, reading.out.file(masters.run.file).path,
                piece.flatOffset * itemSize(masters.dtype), count * itemSize(masters.dtype));
            const auto copies = readStart(reading.files, weights, 0, count * itemSize(type));
            for (uint64_t i = 0; i < count && !own.empty() && !copies.empty(); ++i) {
                const double master
                    = elementAsDouble(masters.dtype, own.data() + i * itemSize(masters.dtype));
                const double copy = elementAsDouble(type, copies.data() + i * itemSize(type));
                const auto allowed = roundingOf(type, master);
                if (!std::isfinite(master) || !std::isfinite(copy) || !allowed)
                    continue;
                ++tally.compared;
                tally.different += std::abs(master - copy) > *allowed ? 1 : 0;
            }
            return false;
        });
    return tally;
}

} // namespace

void checkSwappedWeights(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects)
{
    std::vector<std::string> evidence;
    for (const SwapSubject& subject : subjects) {
        const SwapMap::States* states = map.find(subject.subgroup, subject.rank);
        const auto numbers = swapIdNumbers(subject.id);
        if (states == nullptr || !states->front().run.isPresent() || numbers.size() != 2
            || reading.job.cancelled())
            continue;
        const io::Path rankFolder = reading.out.file(states->front().run.file).path.parent_path();
        const io::Path folder
            = rankFolder.parent_path().parent_path() / weightsFolder(reading.out) / rankFolder.filename();
        for (const bool last : {false, true}) { // the id names the first and last parameter
            const std::string name = std::to_string(numbers[last ? 1 : 0]) + "_param.tensor.swp";
            const auto info = reading.files.stat(folder / name);
            if (!info || info->type != io::FileType::Regular)
                continue;
            const size_t position = last ? subject.unit->params.size() - 1 : 0;
            const WeightTally tally
                = compareParam(reading, subject, states->front(), position, folder / name);
            if (tally.isBad() && evidence.size() < kMaxNamed)
                evidence.push_back(folder.parent_path().filename().string() + "/"
                    + rankFolder.filename().string() + "/" + name + ": " + std::to_string(tally.different)
                    + " of " + std::to_string(tally.compared) + " are not the masters of "
                    + reading.out.file(states->front().run.file).name);
        }
    }
    if (!evidence.empty())
        reading.add(code::kSwapMismatch, Severity::Error,
            "the run's swap folder holds weights and masters of different steps: the run stopped within one, "
            "or another run wrote here",
            "zero_stage_3", std::move(evidence));
}

} // namespace shardscope
