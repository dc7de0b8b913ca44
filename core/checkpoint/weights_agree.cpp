// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/reading.h"

#include "core/base/finding_codes.h"

#include <algorithm>
#include <cmath>

namespace shardscope {

namespace {

constexpr uint64_t kSample = 64; ///< elements per rank: one small read of each file
constexpr uint64_t kLeast = 8; ///< fewer say too little

/// The most by which a value may differ from its copy in `dtype`: one unit in the last place.
std::optional<double> tolerance(DType dtype, double value)
{
    switch (dtype) {
    case DType::BFloat16:
        return std::ldexp(std::abs(value), -7);
    case DType::Float16:
        return std::max(std::ldexp(std::abs(value), -10), std::ldexp(1.0, -24));
    case DType::Float32:
        return 0.0;
    default:
        return std::nullopt;
    }
}

struct Tally {
    uint64_t compared = 0;
    uint64_t different = 0;
    [[nodiscard]] bool isBad() const { return compared >= kLeast && 2 * different > compared; }
};

void noteUnreadable(const Reading& reading, const Error& error)
{
    reading.add(code::kFileUnreadable, Severity::Error, "some values of the file cannot be read",
        io::Path(error.path).filename().string(), {describe(error)});
}

/// Compares the first elements that one rank holds with the model file's.
class Sampler
{
public:
    Sampler(const Reading& reading, const io::ReadFile& model)
        : m_reading(reading)
        , m_out(reading.out)
        , m_model(model)
    {
    }

    Tally compare(const io::ReadFile& shard, uint32_t rank)
    {
        Tally tally;
        for (const FlatUnit& unit : m_out.units) {
            if (unit.kind != UnitKind::Group || unit.states.empty() || tally.compared >= kSample)
                continue;
            const UnitState& masters = unit.states.front();
            const StoredRun& run = masters.perRank[rank];
            if (!run.isPresent())
                continue;
            unit.partition.forEachPiece(rank, 0, run.elements, [&](const FlatPiece& piece) {
                if (!piece.isPadding())
                    comparePiece(shard, unit, masters.dtype, run, piece, tally);
                return tally.compared < kSample;
            });
        }
        return tally;
    }

private:
    void comparePiece(const io::ReadFile& shard, const FlatUnit& unit, DType masterType, const StoredRun& run,
        const FlatPiece& piece, Tally& tally)
    {
        const WholeTensor* whole = m_out.wholeOf(unit.params[piece.param]);
        if (whole == nullptr || !whole->contiguous || !tolerance(whole->dtype, 1)
            || !tolerance(masterType, 1))
            return;
        const uint64_t count = std::min(piece.elements, kSample - tally.compared);
        const uint64_t masterBytes = itemSize(masterType);
        const uint64_t copyBytes = itemSize(whole->dtype);
        std::vector<uint8_t> masters(count * masterBytes);
        std::vector<uint8_t> copies(count * copyBytes);
        const bool read = noted(shard.readAt(run.byteOffset + piece.flatOffset * masterBytes, masters))
            && noted(m_model.readAt(whole->run.byteOffset + piece.paramOffset * copyBytes, copies));
        if (!read)
            return;
        for (uint64_t i = 0; i < count; ++i) {
            const double master = elementAsDouble(masterType, masters.data() + i * masterBytes);
            const double copy = elementAsDouble(whole->dtype, copies.data() + i * copyBytes);
            if (!std::isfinite(master) || !std::isfinite(copy))
                continue;
            ++tally.compared;
            if (std::abs(master - copy) > *tolerance(whole->dtype, master))
                ++tally.different;
        }
    }

    bool noted(const Status& read)
    {
        if (!read)
            noteUnreadable(m_reading, read.error());
        return read.has_value();
    }

    const Reading& m_reading;
    const Checkpoint& m_out;
    const io::ReadFile& m_model;
};

std::string evidenceOf(const Tally& tally)
{
    return std::to_string(tally.different) + " of the first " + std::to_string(tally.compared)
        + " masters are not the values of their copies";
}

} // namespace

void checkWeightsAgree(const Reading& reading)
{
    Checkpoint& out = reading.out;
    if (!out.isReadable(out.rank0Model))
        return;
    const auto model = reading.files.openRead(out.file(out.rank0Model).path);
    if (!model)
        return noteUnreadable(reading, model.error());
    Sampler sampler(reading, **model);
    std::vector<std::pair<FileId, Tally>> bad;
    size_t good = 0;
    for (uint32_t rank = 0; rank < out.optimFiles.size(); ++rank) {
        const FileId file = out.optimFiles[rank];
        if (!out.isReadable(file) || reading.job.cancelled())
            continue;
        const auto shard = reading.files.openRead(out.file(file).path);
        if (!shard) {
            noteUnreadable(reading, shard.error());
            continue;
        }
        const Tally tally = sampler.compare(**shard, rank);
        if (tally.isBad())
            bad.emplace_back(file, tally);
        else if (tally.compared >= kLeast)
            ++good;
    }
    if (bad.empty())
        return;
    if (good == 0) {
        out.files[index(out.rank0Model)].status = FileStatus::Foreign;
        reading.add(code::kStepMismatch, Severity::Error,
            "the model file's weights are not those of the optimizer files: it is from another step or run",
            out.file(out.rank0Model).name, {evidenceOf(bad.front().second)});
        return;
    }
    for (const auto& [file, tally] : bad) {
        out.files[index(file)].status = FileStatus::Foreign;
        reading.add(code::kRankForeign, Severity::Error,
            "the rank's masters are not the model file's weights: it is from another step or run",
            out.file(file).name, {evidenceOf(tally)});
    }
}

} // namespace shardscope
