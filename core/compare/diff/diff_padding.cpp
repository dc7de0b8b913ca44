// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/diff_places.h"
#include "core/layout/fragments.h"
#include "core/tensor/element_digest.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardscope {

namespace {

/// All stored padding of a checkpoint: whether any of it is not zero, and a digest that includes its places.
struct PaddingScan {
    bool isZero = true;
    Digest digest;
};

class Scan
{
public:
    Scan(io::FileSystem& files, const Checkpoint& checkpoint, JobContext& job)
        : m_files(files)
        , m_checkpoint(checkpoint)
        , m_job(job)
    {
    }

    Result<PaddingScan> run()
    {
        for (uint32_t i = 0; i < m_checkpoint.units.size(); ++i) {
            const FlatUnit& unit = m_checkpoint.units[i];
            for (uint32_t state = 0; unit.isFlat() && state < unit.states.size(); ++state) {
                for (uint32_t share = 0; share < unit.partition.ranks(); ++share)
                    SHARDSCOPE_CHECK(addShare(UnitId{i}, state, share));
            }
        }
        return m_out;
    }

private:
    /// The parts of a stored run that no fragment covers.
    Status addShare(UnitId id, uint32_t state, uint32_t share)
    {
        const FlatUnit& unit = m_checkpoint.units[index(id)];
        const StoredRun& run = unit.states[state].perRank[share];
        if (!run.isPresent() || paddingOf(unit, unit.states[state], share).kind != PaddingKind::Stored)
            return {};
        uint64_t at = 0;
        Status status;
        const auto padding = [&](uint64_t end) {
            if (at < end && status)
                status = add(unit, state, share, at, end);
        };
        forEachFragmentOnRank(m_checkpoint, id, state, share, [&](const Fragment& piece) {
            padding(piece.flatOffset);
            at = std::max(at, piece.flatOffset + piece.elements);
            return status.has_value();
        });
        padding(run.elements);
        return status;
    }

    Status add(const FlatUnit& unit, uint32_t state, uint32_t share, uint64_t begin, uint64_t end)
    {
        constexpr uint64_t kPiece = 256 * 1024;
        const StoredRun& run = unit.states[state].perRank[share];
        const uint32_t item = itemSize(unit.states[state].dtype);
        SHARDSCOPE_TRY(const auto file, m_files.openRead(m_checkpoint.file(run.file).path));
        const DigestKey key = digestKey(m_checkpoint.file(run.file).name, unit.states[state].name);
        for (uint64_t at = begin; at < end; at += kPiece) {
            SHARDSCOPE_CHECK(m_job.poll());
            std::vector<uint8_t> bytes((std::min(end, at + kPiece) - at) * item);
            SHARDSCOPE_CHECK(file->readAt(run.byteOffset + at * item, bytes));
            m_out.isZero = m_out.isZero
                && std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
            m_out.digest += digestElements(key, item, at, bytes);
        }
        return {};
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    JobContext& m_job;
    PaddingScan m_out;
};

} // namespace

Result<bool> paddingDiffers(
    io::FileSystem& files, const Checkpoint& left, const Checkpoint& right, JobContext& job)
{
    SHARDSCOPE_TRY(const PaddingScan one, Scan(files, left, job).run());
    SHARDSCOPE_TRY(const PaddingScan other, Scan(files, right, job).run());
    return !(one.isZero && other.isZero) && one.digest != other.digest;
}

} // namespace shardscope
