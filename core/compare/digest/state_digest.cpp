// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/state_digest.h"

#include "core/base/finding_codes.h"
#include "core/base/parallel.h"
#include "core/base/shared_work.h"
#include "core/base/text.h"
#include "core/base/wire.h"
#include "core/compare/digest/digested_scalars.h"
#include "core/compare/digest/file_scan.h"
#include "core/io/outage_watch.h"
#include "core/layout/counts.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <vector>

namespace shardscope {

void wire(auto& io, Wired<Digest> auto& digest)
{
    io(digest.low, digest.high);
    io.word(digest.version, DigestVersion::Two);
}

void wire(auto& io, Wired<StateShare> auto& share)
{
    io(share.state, share.digest, share.elements);
}

void wire(auto& io, Wired<FileScan> auto& file)
{
    io.word(file.file, kNoFile);
    io(file.bytes, file.digest, file.badRecords, file.error, file.states);
}

namespace {

/// What a process has found in its files, which completes the scans of the others: files and sums by tensor,
/// each with its number.
struct FoundScans {
    std::vector<std::pair<uint64_t, FileScan>> files;
    std::vector<std::pair<uint64_t, Digest>> tensors;
    std::vector<std::pair<uint64_t, Digest>> rounded;
    std::vector<std::pair<uint64_t, Statistics>> statistics;
};

void wire(auto& io, Wired<FoundScans> auto& found)
{
    io(found.files, found.tensors, found.rounded, found.statistics);
}

/// The sums that are not of nothing.
template <class Value>
std::vector<std::pair<uint64_t, Value>> filled(const std::vector<Value>& sums, const auto& isEmpty)
{
    std::vector<std::pair<uint64_t, Value>> out;
    for (size_t i = 0; i < sums.size(); ++i) {
        if (!isEmpty(sums[i]))
            out.emplace_back(i, sums[i]);
    }
    return out;
}

template <class Value>
void add(const std::vector<std::pair<uint64_t, Value>>& found, std::vector<Value>& sums)
{
    for (const auto& [i, value] : found) {
        if (i < sums.size())
            sums[i] += value;
    }
}

/// The numbers of the files that this process scans, of files with these sizes; all without `shared`.
std::vector<size_t> filesToScan(const std::vector<uint64_t>& sizes, const SharedWork* shared)
{
    std::vector<size_t> out(sizes.size());
    std::iota(out.begin(), out.end(), size_t{0});
    if (shared == nullptr)
        return out;
    const auto process = dividedBySize(sizes, shared->size());
    std::erase_if(out, [&](size_t i) { return process[i] != shared->rank(); });
    return out;
}

/// Completes a scan of the files `own` with what the other processes found in the others. `scanned`: how the
/// scan ended.
Status combineScans(
    SharedWork& shared, const std::vector<size_t>& own, const Status& scanned, CheckpointScan& scan)
{
    const auto isNone = [](const Digest& sum) { return sum.version == DigestVersion::None; };
    FoundScans found{{}, filled(scan.tensors, isNone), filled(scan.rounded, isNone),
        filled(scan.statistics, [](const Statistics& sum) { return sum.elements == 0; })};
    for (const size_t i : own)
        found.files.emplace_back(i, scan.files[i]);
    SHARDSCOPE_TRY(const auto all,
        shared.exchange(scanned ? Result<std::string>(toWire(found)) : forward(scanned.error())));
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        if (rank == shared.rank())
            continue;
        FoundScans other;
        if (!fromWire(all[rank], other))
            return fail(ErrorCode::Internal, "a process of the job sent what cannot be read");
        for (auto& [i, file] : other.files) {
            if (i < scan.files.size())
                scan.files[i] = std::move(file);
        }
        add(other.tensors, scan.tensors);
        add(other.rounded, scan.rounded);
        add(other.statistics, scan.statistics);
    }
    return {};
}

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
    const io::OutageWatch watch(pathsOf(*checkpoint));
    const Status scanned
        = watch.judged(parallelFor(own.size(), workers.jobs, job, [&](size_t item) -> Status {
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

std::vector<Finding> findingsOf(const Checkpoint& checkpoint, const CheckpointScan& scan)
{
    std::vector<Finding> out;
    for (const FileScan& file : scan.files) {
        const CheckpointFile& entry = checkpoint.file(file.file);
        if (file.error)
            out.push_back({code::kFileUnreadable, Severity::Error, "the file cannot be read to its end",
                entry.name, {describe(*file.error)}});
        for (const std::string& record : file.badRecords)
            out.push_back({code::kRecordCorrupt, Severity::Error,
                "the record's bytes do not match its saved CRC", FileAddress{entry.name, record}, {}});
    }
    return out;
}

} // namespace shardscope
