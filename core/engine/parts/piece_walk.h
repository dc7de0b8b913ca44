// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece.h"
#include "core/engine/stream/chunk_sink.h"

namespace shardscope {

/// What generating pieces of a plan's files needs.
struct PieceWalk {
    const WritePlan& plan;
    SourcePool& sources;
    const TensorKeys& keys; ///< of plan.tensors
    const ComputeBackend& backend;
    StageTimes& times;
    const Halt& halt;

    /// Generates the bytes of a piece and passes them on in order; `offset` is in the file. `recipe` is that
    /// of the piece's file, `crcs` has what is known about its records. A second thread consumes the bytes if
    /// there are several buffers. Damaged, SourceChanged, and errors of the consumer.
    Result<PieceRecord> run(const FilePiece& piece, const OutputFile& recipe, RecordCrcs& crcs,
        ChunkBuffers& buffers, const ChunkSink::Consumer& consumer) const;
};

} // namespace shardscope
