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
#include <cstring>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <vector>

namespace shardscope {

namespace {

void write(WireWriter& out, const Digest& digest)
{
    out.number(digest.low);
    out.number(digest.high);
    out.number(static_cast<uint64_t>(digest.version));
}

Digest readDigest(WireReader& in)
{
    const uint64_t low = in.number();
    const uint64_t high = in.number();
    return {low, high, static_cast<DigestVersion>(in.number())};
}

void write(WireWriter& out, const FileScan& file)
{
    out.number(index(file.file));
    out.number(file.bytes);
    out.text(file.digest);
    out.number(file.badRecords.size());
    for (const std::string& name : file.badRecords)
        out.text(name);
    writeStatus(out, file.error ? Status(forward(*file.error)) : Status());
    out.number(file.states.size());
    for (const StateShare& share : file.states) {
        out.text(share.state);
        write(out, share.digest);
        out.number(share.elements);
    }
}

FileScan readFile(WireReader& in)
{
    FileScan out;
    out.file = FileId{in.number32()};
    out.bytes = in.number();
    out.digest = in.text();
    const uint64_t bad = in.count();
    for (uint64_t i = 0; i < bad && in.isGood(); ++i)
        out.badRecords.push_back(in.text());
    if (const Status status = readStatus(in); !status)
        out.error = status.error();
    const uint64_t states = in.count();
    for (uint64_t i = 0; i < states && in.isGood(); ++i) {
        StateShare share;
        share.state = in.text();
        share.digest = readDigest(in);
        share.elements = in.number();
        out.states.push_back(std::move(share));
    }
    return out;
}

/// Numbers of the entries that are not zero, each with its value.
void writeSums(WireWriter& out, const std::vector<Digest>& sums)
{
    for (size_t i = 0; i < sums.size(); ++i) {
        if (sums[i].version == DigestVersion::None)
            continue;
        out.number(i + 1);
        write(out, sums[i]);
    }
    out.number(0);
}

void addSums(WireReader& in, std::vector<Digest>& sums)
{
    for (uint64_t i = in.number(); i > 0 && in.isGood(); i = in.number()) {
        const Digest digest = readDigest(in);
        if (i <= sums.size())
            sums[i - 1] += digest;
    }
}

/// All processes run the same program, so that a value's bytes are its spelling.
static_assert(std::is_trivially_copyable_v<Statistics>);

void writeStatistics(WireWriter& out, const std::vector<Statistics>& statistics)
{
    for (size_t i = 0; i < statistics.size(); ++i) {
        if (statistics[i].elements == 0)
            continue;
        out.number(i + 1);
        out.text({reinterpret_cast<const char*>(&statistics[i]), sizeof(Statistics)});
    }
    out.number(0);
}

void addStatistics(WireReader& in, std::vector<Statistics>& statistics)
{
    for (uint64_t i = in.number(); i > 0 && in.isGood(); i = in.number()) {
        const std::string bytes = in.text();
        Statistics found;
        if (i > statistics.size() || bytes.size() != sizeof(found))
            continue;
        std::memcpy(&found, bytes.data(), sizeof(found));
        statistics[i - 1] += found;
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
    WireWriter out;
    out.number(own.size());
    for (const size_t i : own) {
        out.number(i);
        write(out, scan.files[i]);
    }
    writeSums(out, scan.tensors);
    writeSums(out, scan.rounded);
    writeStatistics(out, scan.statistics);
    SHARDSCOPE_TRY(const auto all,
        shared.exchange(scanned ? Result<std::string>(out.take()) : forward(scanned.error())));
    for (uint32_t rank = 0; rank < all.size(); ++rank) {
        if (rank == shared.rank())
            continue;
        WireReader in(all[rank]);
        const uint64_t count = in.count();
        for (uint64_t i = 0; i < count && in.isGood(); ++i) {
            const uint64_t number = in.number();
            FileScan file = readFile(in);
            if (number < scan.files.size())
                scan.files[number] = std::move(file);
        }
        addSums(in, scan.tensors);
        addSums(in, scan.rounded);
        addStatistics(in, scan.statistics);
        if (!in.isGood())
            return fail(ErrorCode::Internal, "a process of the job sent what cannot be read");
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
