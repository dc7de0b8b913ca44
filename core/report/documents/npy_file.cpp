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

class Writer
{
public:
    using Sink = std::function<Status(std::span<const uint8_t>)>;

    Writer(io::FileSystem& files, const Checkpoint& checkpoint, const NpyElements& elements, DType target,
        const Sink& sink, JobContext& job)
        : m_files(files)
        , m_checkpoint(checkpoint)
        , m_elements(elements)
        , m_target(target)
        , m_item(itemSize(elements.dtype))
        , m_sink(sink)
        , m_job(job)
    {
    }

    Result<uint64_t> write()
    {
        const std::string header = npyHeader(m_target, m_elements.shape);
        const uint64_t count = elementCount(m_elements.shape).value_or(0);
        m_job.beginPhase("writing", count * itemSize(m_target));
        SHARDSCOPE_CHECK(put(std::span(reinterpret_cast<const uint8_t*>(header.data()), header.size())));
        if (count > 0) {
            SHARDSCOPE_CHECK(m_elements.strides ? writeSlice() : writeRun(m_elements.first, count));
        }
        return m_written;
    }

private:
    Status put(std::span<const uint8_t> bytes)
    {
        m_written += bytes.size();
        return m_sink(bytes);
    }

    Status putElements(const std::vector<uint8_t>& bytes)
    {
        const std::vector<uint8_t> converted
            = m_target == m_elements.dtype ? std::vector<uint8_t>() : widened(m_elements.dtype, bytes);
        const std::vector<uint8_t>& out = m_target == m_elements.dtype ? bytes : converted;
        SHARDSCOPE_CHECK(put(out));
        m_job.advance(out.size());
        return {};
    }

    Status writeRun(uint64_t first, uint64_t count)
    {
        std::vector<uint8_t> piece;
        for (uint64_t done = 0; done < count; done += kPieceElements) {
            const uint64_t now = std::min(kPieceElements, count - done);
            piece.resize(now * m_item);
            SHARDSCOPE_CHECK(read(first + done, piece));
            SHARDSCOPE_CHECK(putElements(piece));
        }
        return {};
    }

    Status read(uint64_t first, std::span<uint8_t> into)
    {
        SHARDSCOPE_CHECK(m_job.poll());
        return readElements(m_files, m_checkpoint,
            {m_elements.param, m_elements.state, first, first + into.size() / m_item}, into);
    }

    /// `count` elements that are `stride` apart, into places that are `apart` elements apart.
    Status gather(uint64_t first, uint64_t stride, uint64_t count, uint8_t* into, uint64_t apart)
    {
        const uint64_t most = (kPieceElements - 1) / stride + 1;
        for (uint64_t done = 0; done < count; done += most) {
            const uint64_t now = std::min(most, count - done);
            m_window.resize(((now - 1) * stride + 1) * m_item);
            SHARDSCOPE_CHECK(read(first + done * stride, m_window));
            for (uint64_t i = 0; i < now; ++i)
                std::memcpy(
                    into + (done + i) * apart * m_item, m_window.data() + i * stride * m_item, m_item);
        }
        return {};
    }

    /// By blocks of rows, or by parts of one row if rows are long.
    Status writeSlice()
    {
        const uint64_t rows = m_elements.shape[0];
        const uint64_t columns = m_elements.shape[1];
        const uint64_t high = std::max<uint64_t>(kPieceElements / columns, 1);
        for (uint64_t row = 0; row < rows; row += high) {
            for (uint64_t column = 0; column < columns; column += kPieceElements) {
                SHARDSCOPE_CHECK(writeBlock(
                    row, std::min(high, rows - row), column, std::min(kPieceElements, columns - column)));
            }
        }
        return {};
    }

    /// What is read at once are neighbours in the tensor, in whichever direction of the slice they are.
    Status writeBlock(uint64_t row, uint64_t rows, uint64_t column, uint64_t columns)
    {
        const auto [rowStride, columnStride] = *m_elements.strides;
        const uint64_t first = m_elements.first + row * rowStride + column * columnStride;
        std::vector<uint8_t> block(rows * columns * m_item);
        const bool byRows = columnStride <= rowStride;
        for (uint64_t i = 0; i < (byRows ? rows : columns); ++i) {
            SHARDSCOPE_CHECK(byRows
                    ? gather(first + i * rowStride, columnStride, columns, &block[i * columns * m_item], 1)
                    : gather(first + i * columnStride, rowStride, rows, &block[i * m_item], columns));
        }
        return putElements(block);
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    const NpyElements& m_elements;
    DType m_target;
    uint64_t m_item;
    const Sink& m_sink;
    JobContext& m_job;
    uint64_t m_written = 0;
    std::vector<uint8_t> m_window;
};

} // namespace

Result<NpyReport> writeNpy(io::FileSystem& files, const Checkpoint& checkpoint, const NpyElements& elements,
    const std::function<Status(std::span<const uint8_t>)>& sink, JobContext& job)
{
    const DType target = fileType(elements.dtype);
    if (target == DType::Unknown)
        return fail(ErrorCode::Unsupported, "NumPy has no type for these elements");
    SHARDSCOPE_TRY(const uint64_t bytes, Writer(files, checkpoint, elements, target, sink, job).write());
    return NpyReport{{}, target, bytes};
}

Result<NpyReport> writeNpyFile(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param,
    std::string_view state, DType dtype, const io::Path& path, bool replace, JobContext& job)
{
    if (fileType(dtype) == DType::Unknown)
        return fail(ErrorCode::Unsupported, "NumPy has no type for these elements", path.string());
    SHARDSCOPE_TRY(const auto out, io::createForPublishing(files, path, replace));
    uint64_t at = 0;
    const auto report = writeNpy(
        files, checkpoint, {param, state, dtype, checkpoint.params[index(param)].shape},
        [&](std::span<const uint8_t> bytes) -> Status {
            SHARDSCOPE_CHECK(out->writeAt(at, bytes));
            at += bytes.size();
            return {};
        },
        job);
    SHARDSCOPE_CHECK(
        io::publishFile(files, *out, path, replace, report ? Status() : forward(report.error())));
    return NpyReport{path.string(), report->dtype, report->bytes};
}

} // namespace shardscope
