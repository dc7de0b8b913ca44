// SPDX-License-Identifier: Apache-2.0
// Reads a swap folder of a run that left no checkpoint. An earlier checkpoint of the run identifies the
// files.
#include "core/base/finding_codes.h"
#include "core/checkpoint/swap/swap.h"
#include "core/checkpoint/swap/swap_windows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace shardscope {

namespace {

/// Swap files are padded to the size of one request of asynchronous I/O. This limit assumes more threads than
/// any system has (AIO_ALIGNED_BYTES, runtime/swap_tensor/utils.py).
constexpr uint64_t kMaxPaddingBytes = uint64_t{1024} * 128;

/// Min cosine between the masters of one sub-group at two steps of a run. Max cosine between those of two
/// different sub-groups.
constexpr double kMinOfSame = 0.9;
constexpr double kMaxOfOthers = 0.5;

/// A tensor in one of two checkpoints.
struct SampledRun {
    SwapWindowReader& reader;
    StoredRun run;
};

/// The cosine of the angle between a sub-group's masters in the checkpoint and in a swap file, from samples.
/// 0 if one cannot be read.
double likeness(const SampledRun& own, const SampledRun& other, const SwapSubject& subject, DType dtype)
{
    double product = 0;
    double squares[2] = {0, 0};
    for (const SwapWindow& window : swapWindowsOf(*subject.unit, subject.rank)) {
        const auto here = own.reader.read(own.run, window, dtype);
        const auto there = other.reader.read(other.run, window, dtype);
        for (size_t at = 0; at < std::min(here.size(), there.size()); at += itemSize(dtype)) {
            const double a = elementAsDouble(dtype, here.data() + at);
            const double b = elementAsDouble(dtype, there.data() + at);
            product += a * b;
            squares[0] += a * a;
            squares[1] += b * b;
        }
    }
    const double length = std::sqrt(squares[0]) * std::sqrt(squares[1]);
    return length > 0 && std::isfinite(length) ? product / length : 0;
}

bool hasSizeOf(uint64_t fileBytes, uint64_t bytes)
{
    return fileBytes >= bytes && fileBytes - bytes < kMaxPaddingBytes;
}

/// The one id with masters similar to the sub-group's. Empty if there are none or several.
std::string idByValues(
    const Reading& reading, const SwapSubject& subject, const SwapIndex& index, DType dtype)
{
    const StoredRun own = swapCopyOf(reading, subject, {"fp32", dtype, {}});
    if (!own.isPresent())
        return {};
    const uint64_t bytes = own.elements * itemSize(dtype);
    SwapWindowReader donor(reading);
    std::string best;
    for (const auto& [key, file] : index) {
        if (key.first != "fp32" || !hasSizeOf(reading.out.file(file).identity.bytes, bytes))
            continue;
        SwapWindowReader swap(reading);
        const double cosine = likeness({donor, own}, {swap, {file, 0, 0, own.elements}}, subject, dtype);
        if (cosine < kMinOfSame && cosine > kMaxOfOthers)
            return {};
        if (cosine < kMinOfSame)
            continue;
        if (!best.empty())
            return {};
        best = key.second;
    }
    return best;
}

std::string counted(size_t count, const std::string& one, const std::string& many)
{
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// Ranks of the swap folder that the checkpoint does not have.
size_t ranksBeyond(const Reading& reading, const std::vector<const SwapFolder*>& folders)
{
    return static_cast<size_t>(std::count_if(folders.begin(), folders.end(), [&](const SwapFolder* folder) {
        return folder->rank && *folder->rank >= reading.worldSize && !folder->files.empty();
    }));
}

} // namespace

MasterBytes masterBytesOf(const Reading& reading, const std::vector<const SwapFolder*>& folders)
{
    MasterBytes out;
    for (const SwapFolder* folder : folders) {
        if (!folder->rank)
            continue;
        for (const auto& [key, file] : indexSwapFolder(reading, *folder)) {
            if (key.first == "fp32")
                out[*folder->rank].push_back(reading.out.file(file).identity.bytes);
        }
    }
    for (auto& [rank, bytes] : out)
        std::sort(bytes.begin(), bytes.end());
    return out;
}

bool isSalvageable(const MasterBytes& files, const SwapSubject& subject, DType masterType)
{
    const auto own = files.find(subject.rank);
    if (own == files.end())
        return false;
    const uint64_t bytes = subject.unit->partition.partitionElements() * itemSize(masterType);
    const auto next = std::lower_bound(own->second.begin(), own->second.end(), bytes);
    return next != own->second.end() && hasSizeOf(*next, bytes);
}

void matchByValues(
    const Reading& reading, const std::vector<SwapSubject*>& subjects, const SwapIndex& index, DType dtype)
{
    std::map<std::string, std::vector<SwapSubject*>> found;
    for (SwapSubject* subject : subjects) {
        // The ids come from the process that saved the donor. Its numbers may differ.
        if (index.contains({"fp32", subject->id}))
            continue;
        subject->id.clear();
        if (reading.job.cancelled())
            return;
        found[idByValues(reading, *subject, index, dtype)].push_back(subject);
    }
    for (const auto& [id, claimants] : found) {
        if (claimants.size() == 1)
            claimants.front()->id = id;
    }
}

bool hasRanksOf(const Reading& reading, const std::vector<const SwapFolder*>& folders)
{
    const size_t beyond = ranksBeyond(reading, folders);
    if (beyond > 0)
        reading.add(code::kSwapUnmapped, Severity::Error,
            "the swap folder has " + counted(beyond, "rank", "ranks") + " that the donor, which was saved by "
                + counted(reading.worldSize, "rank", "ranks") + ", does not have",
            "zero_stage_3",
            {"a donor for the run's number of ranks is what `reshard DONOR DST --world-size N` makes"});
    return beyond == 0;
}

void reportSalvaged(const Reading& reading, const SwapMap& map)
{
    if (map.isEmpty())
        return reading.add(code::kSwapUnmapped, Severity::Error,
            "no file of the swap folder has the size of a sub-group of the donor: it is of another model, "
            "number of ranks or sub-group size",
            "zero_stage_3");
    std::set<uint32_t> swapped;
    for (const auto& [key, states] : map.all())
        swapped.insert(key.first);
    std::set<uint32_t> all;
    for (const FlatUnit& unit : reading.out.units) {
        if (unit.kind == UnitKind::SubGroup && unit.partition.partitionElements() > 0)
            all.insert(*unit.subgroup);
    }
    std::string message = "the states of " + counted(swapped.size(), "sub-group", "sub-groups")
        + " are those that a run left in its swap folder; ";
    if (const size_t rest = all.size() - swapped.size(); rest > 0)
        message += "those of " + counted(rest, "sub-group", "sub-groups") + " that it did not swap, ";
    message += "steps, options and scheduler are the donor's";
    if (const auto step = reading.out.steps.globalSteps)
        message += ", of step " + std::to_string(*step);
    reading.add(code::kMarked, Severity::Warning, std::move(message), "zero_stage_3",
        {"no file records their step, nor whether the run stopped within one"});
}

} // namespace shardscope
