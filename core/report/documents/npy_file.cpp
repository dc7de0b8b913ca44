// SPDX-License-Identifier: Apache-2.0
#include "core/report/documents/npy_file.h"

#include "core/io/published_file.h"
#include "core/layout/fragments.h"
#include "core/torchfile/formats/npy_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace shardscope {

namespace {

constexpr uint64_t kPieceElements = uint64_t{1} << 19;

/// The type in the file: the tensor's own if NumPy has it, else the smallest type that holds every value.
DType fileType(DType dtype)
{
    if (!npyType(dtype).empty())
        return dtype;
    if (dtype == DType::Complex32)
        return DType::Complex64;
    return isFloatingPoint(dtype) ? DType::Float32 : DType::Unknown;
}

void putFloat(std::vector<uint8_t>& out, double value)
{
    const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
    for (int shift = 0; shift < 32; shift += 8)
        out.push_back(static_cast<uint8_t>(bits >> shift));
}

std::vector<uint8_t> widened(DType from, std::span<const uint8_t> bytes)
{
    const bool complex = from == DType::Complex32;
    const DType part = complex ? DType::Float16 : from;
    const uint32_t item = itemSize(part);
    std::vector<uint8_t> out;
    out.reserve(bytes.size() / item * 4);
    for (size_t at = 0; at + item <= bytes.size(); at += item)
        putFloat(out, elementAsDouble(part, bytes.data() + at));
    return out;
}

struct Piecewise {
    io::FileSystem& files;
    const Checkpoint& checkpoint;
    ParamId param;
    std::string_view state;
    DType dtype;
};

Result<uint64_t> writeAll(io::WriteFile& out, const Piecewise& source, DType target, JobContext& job)
{
    const Parameter& parameter = source.checkpoint.params[index(source.param)];
    const std::string header = npyHeader(target, parameter.shape);
    SHARDSCOPE_CHECK(
        out.writeAt(0, std::span(reinterpret_cast<const uint8_t*>(header.data()), header.size())));
    uint64_t at = header.size();
    std::vector<uint8_t> piece;
    job.beginPhase("writing", parameter.elements * itemSize(target));
    for (uint64_t begin = 0; begin < parameter.elements; begin += kPieceElements) {
        SHARDSCOPE_CHECK(job.poll());
        const uint64_t end = std::min(begin + kPieceElements, parameter.elements);
        piece.resize((end - begin) * itemSize(source.dtype));
        SHARDSCOPE_CHECK(
            readElements(source.files, source.checkpoint, {source.param, source.state, begin, end}, piece));
        const std::vector<uint8_t> bytes = target == source.dtype ? piece : widened(source.dtype, piece);
        SHARDSCOPE_CHECK(out.writeAt(at, bytes));
        at += bytes.size();
        job.advance(bytes.size());
    }
    return at;
}

} // namespace

Result<NpyReport> writeNpyFile(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param,
    std::string_view state, DType dtype, const io::Path& path, bool replace, JobContext& job)
{
    const DType target = fileType(dtype);
    if (target == DType::Unknown)
        return fail(ErrorCode::Unsupported, "NumPy has no type for these elements", path.string());
    SHARDSCOPE_TRY(const auto out, io::createForPublishing(files, path, replace));
    const auto bytes = writeAll(*out, {files, checkpoint, param, state, dtype}, target, job);
    SHARDSCOPE_CHECK(io::publishFile(files, *out, path, replace, bytes ? Status() : forward(bytes.error())));
    return NpyReport{path.string(), target, *bytes};
}

} // namespace shardscope
