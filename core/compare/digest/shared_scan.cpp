// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/shared_scan.h"

#include "core/base/wire.h"

#include <cstring>
#include <numeric>
#include <type_traits>

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

} // namespace

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

} // namespace shardscope
