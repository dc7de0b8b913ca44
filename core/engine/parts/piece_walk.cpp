// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/piece_walk.h"

#include "core/engine/parts/piece_check.h"
#include "core/engine/parts/recorded_sums.h"

namespace shardscope {

Result<PieceRecord> PieceWalk::run(const FilePiece& piece, const OutputFile& recipe, RecordCrcs& crcs,
    ChunkBuffers& buffers, const ChunkSink::Consumer& consumer) const
{
    const uint64_t bytes = piece.range.end - piece.range.begin;
    PieceDigests digests(piece.range.begin);
    ChunkSink sink(buffers, buffers.count() > 1 && bytes > buffers.bytes(),
        [&](uint64_t offset, std::span<const uint8_t> chunk) -> Status {
            SHARDSCOPE_CHECK(halt.poll());
            {
                const StageTimer timer(times, Stage::Checksums);
                digests.update(chunk);
            }
            const StageTimer timer(times, Stage::Writing);
            return consumer(piece.range.begin + offset, chunk);
        });
    RecordedElements elements(keys);
    RecordedSources records(plan.sources);
    const WalkContext context{plan, sources, records, elements, backend, times, halt};
    SHARDSCOPE_TRY(WalkedWindow walked,
        OutputWalk(context, recipe, sink).runWindow(plan.files[piece.file].bytes, piece.range, crcs));
    return PieceRecord{piece, digests.finish(), std::move(walked.late), std::move(walked.parts),
        elements.take(), records.takeParts(), records.takeTouched(), 0};
}

} // namespace shardscope
