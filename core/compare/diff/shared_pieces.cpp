// SPDX-License-Identifier: Apache-2.0
#include "core/compare/diff/shared_pieces.h"

#include <cstring>
#include <type_traits>

namespace shardscope {

namespace {

/// All processes run the same program, so that a value's bytes are its spelling.
template <class Value>
void write(WireWriter& out, const Value& value)
{
    static_assert(std::is_trivially_copyable_v<Value>);
    out.text({reinterpret_cast<const char*>(&value), sizeof(value)});
}

template <class Value>
Value read(WireReader& in)
{
    static_assert(std::is_trivially_copyable_v<Value>);
    const std::string bytes = in.text();
    Value out{};
    if (bytes.size() == sizeof(out))
        std::memcpy(&out, bytes.data(), sizeof(out));
    else
        in.fail();
    return out;
}

template <class Value>
void writeList(WireWriter& out, const std::vector<Value>& values)
{
    out.number(values.size());
    for (const Value& value : values)
        write(out, value);
}

template <class Value>
std::vector<Value> readList(WireReader& in)
{
    std::vector<Value> out;
    const uint64_t count = in.count();
    for (uint64_t i = 0; i < count && in.isGood(); ++i)
        out.push_back(read<Value>(in));
    return out;
}

} // namespace

void writePiece(WireWriter& out, const DiffPiece& piece)
{
    writeList(out, piece.states);
    writeList(out, piece.missing);
    write(out, piece.weights);
    out.number(piece.steps ? 1 : 0);
    if (piece.steps)
        write(out, *piece.steps);
    write(out, piece.stale);
    write(out, piece.rounded);
}

DiffPiece readPiece(WireReader& in)
{
    DiffPiece out;
    out.states = readList<Comparison>(in);
    out.missing = readList<std::array<bool, 2>>(in);
    out.weights = read<Comparison>(in);
    if (in.number() != 0)
        out.steps = read<StepComparison>(in);
    out.stale = read<std::array<uint64_t, 2>>(in);
    out.rounded = read<std::array<bool, 2>>(in);
    return out;
}

} // namespace shardscope
