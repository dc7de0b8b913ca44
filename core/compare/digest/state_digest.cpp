// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/state_digest.h"

#include "core/base/parallel.h"
#include "core/compare/digest/digested_scalars.h"
#include "core/compare/digest/file_scan.h"
#include "core/compare/digest/shared_scan.h"
#include "core/io/outage_watch.h"

#include <algorithm>
#include <mutex>

namespace shardscope {

namespace {

/// Sums the parts of every state in one file, without tensors outside the fingerprint.
std::vector<StateShare> sharesOf(
    const TensorTable& table, const CheckpointFile& file, const std::vector<TensorDigest>& digests)
{
    std::vector<StateShare> out;
    for (const TensorDigest& digest : digests) {
        const TensorTable::Entry entry = table.entry(digest.tensor);
        if (entry.inFingerprint && (!table.isWhole(digest.tensor) || isOfFirstRank(file)))
            addShare(out, {std::string(entry.state), digest.digest, digest.elements});
    }
    return out;
}

void addTensors(CheckpointScan& scan, const FoundTensors& found)
{
    for (const TensorDigest& digest : found.digests) {
        scan.tensors[digest.tensor] += digest.digest;
        if (!scan.rounded.empty())
            scan.rounded[digest.tensor] += digest.rounded;
    }
    for (size_t i = 0; i < found.statistics.size(); ++i)
        scan.statistics[found.digests[i].tensor] += found.statistics[i];
}

} // namespace

bool isOfFirstRank(const CheckpointFile& file)
{
    return !file.rank || file.rank->dp == 0;
}

void addShare(std::vector<StateShare>& shares, const StateShare& share)
{
    const auto found = std::find_if(
        shares.begin(), shares.end(), [&](const StateShare& known) { return known.state == share.state; });
    if (found == shares.end()) {
        shares.push_back(share);
        return;
    }
    found->digest += share.digest;
    found->elements += share.elements;
}

Result<CheckpointScan> scanCheckpoint(io::FileSystem& files, const CheckpointPtr& checkpoint,
    const Workers& workers, const ScanOptions& options, JobContext& job)
{
    const TensorTable table(checkpoint);
    const WholeRuns wholeRuns(*checkpoint, table);
    CheckpointScan out;
    out.tensors.resize(table.size());
    out.statistics.resize(options.statistics ? table.size() : 0);
    out.rounded.resize(options.roundedMasters ? table.size() : 0);
    std::optional<CopiesOfMasters> copies;
    if (options.roundedMasters)
        copies.emplace(*checkpoint, table);
    std::vector<FileId> ids;
    for (uint32_t i = 0; i < checkpoint->files.size(); ++i) {
        const CheckpointFile& file = checkpoint->files[i];
        const bool states = file.role == FileRole::ModelStates || file.role == FileRole::OptimStates
            || file.role == FileRole::LayerStates || file.role == FileRole::ExpertStates
            || file.role == FileRole::Swap;
        if (states && file.status != FileStatus::Missing && file.status != FileStatus::Stale)
            ids.push_back(FileId{i});
    }
    out.files.resize(ids.size());
    std::mutex mutex;
    const ScanContext context{
        files, *checkpoint, table, wholeRuns, copies ? &*copies : nullptr, options, *workers.backend, job};
    std::vector<uint64_t> sizes;
    for (const FileId id : ids)
        sizes.push_back(checkpoint->file(id).identity.bytes);
    const std::vector<size_t> own = filesToScan(sizes, workers.shared);
    const io::OutageWatch watch;
    const Status scanned = watch.judged(parallelFor(
        own.size(), workers.jobs == 0 ? defaultJobs() : workers.jobs, job, [&](size_t item) -> Status {
            const size_t i = own[item];
            FoundTensors found;
            out.files[i] = scanFile(context, ids[i], found);
            SHARDSCOPE_CHECK(job.poll());
            out.files[i].states = sharesOf(table, checkpoint->file(ids[i]), found.digests);
            const std::lock_guard lock(mutex);
            addTensors(out, found);
            return {};
        }));
    if (workers.shared != nullptr)
        SHARDSCOPE_CHECK(combineScans(*workers.shared, own, scanned, out));
    SHARDSCOPE_CHECK(scanned);
    return out;
}

namespace {

Digest sumOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors,
    const std::vector<DigestedScalar>& scalars)
{
    const TensorTable table(checkpoint);
    Digest sum;
    for (uint32_t i = 0; i < table.size() && i < tensors.size(); ++i) {
        if (table.entry(i).inFingerprint)
            sum += tensors[i];
    }
    for (const DigestedScalar& scalar : scalars)
        sum += scalar.digest;
    return sum;
}

} // namespace

Digest fingerprintOf(
    const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors, DigestVersion version)
{
    return sumOf(checkpoint, tensors, digestedScalars(*checkpoint, version));
}

Digest fingerprintOf(const CheckpointPtr& checkpoint, const std::vector<Digest>& tensors,
    const ScalerTexts& scaler, DigestVersion version)
{
    return sumOf(checkpoint, tensors, digestedScalars(*checkpoint, scaler, version));
}

} // namespace shardscope
