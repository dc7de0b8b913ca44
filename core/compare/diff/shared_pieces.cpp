// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/shared_pieces.h"

namespace shardscope {

namespace {

template <class Value>
void writeList(WireWriter& out, const std::vector<Value>& values)
{
    out.number(values.size());
    for (const Value& value : values)
        out.plain(value);
}

template <class Value>
std::vector<Value> readList(WireReader& in)
{
    std::vector<Value> out;
    const uint64_t count = in.count();
    for (uint64_t i = 0; i < count && in.isGood(); ++i)
        out.push_back(in.plain<Value>());
    return out;
}

} // namespace

void writePiece(WireWriter& out, const DiffPiece& piece)
{
    writeList(out, piece.states);
    writeList(out, piece.missing);
    out.plain(piece.weights);
    out.number(piece.steps ? 1 : 0);
    if (piece.steps)
        out.plain(*piece.steps);
    out.plain(piece.stale);
    out.plain(piece.rounded);
}

DiffPiece readPiece(WireReader& in)
{
    DiffPiece out;
    out.states = readList<Comparison>(in);
    out.missing = readList<std::array<bool, 2>>(in);
    out.weights = in.plain<Comparison>();
    if (in.number() != 0)
        out.steps = in.plain<StepComparison>();
    out.stale = in.plain<std::array<uint64_t, 2>>();
    out.rounded = in.plain<std::array<bool, 2>>();
    return out;
}

} // namespace shardscope
