// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/wire.h"
#include "core/compare/diff/diff_piece.h"

namespace shardscope {

/// A piece between processes that share a comparison.
void writePiece(WireWriter& out, const DiffPiece& piece);
DiffPiece readPiece(WireReader& in);

} // namespace shardscope
