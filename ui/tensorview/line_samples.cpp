// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/line_samples.h"

#include "core/base/current_stop.h"
#include "core/layout/present_elements.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope::ui {

namespace {

constexpr uint64_t kWholeBytes = uint64_t{64} << 20;
constexpr uint64_t kStepBytes = uint64_t{1} << 20;
constexpr uint64_t kSampleBytes = uint64_t{32} << 10;
constexpr uint64_t kSampleFarBytes = 64;
constexpr size_t kRunsAtOnce = 256; ///< 8 MiB

void add(LineColumn& column, uint64_t element, double value)
{
    if (!std::isfinite(value)) {
        if (column.odd() == 0)
            column.oddAt = element;
        ++(std::isnan(value) ? column.nans : value > 0 ? column.positive : column.negative);
        return;
    }
    const bool isFirst = column.read == column.missing + column.odd();
    if (isFirst || value < column.low) {
        column.low = value;
        column.lowAt = element;
    }
    if (isFirst || value > column.high) {
        column.high = value;
        column.highAt = element;
    }
}

/// Reads elements [begin, end), which may be of several columns.
class Reader
{
public:
    Reader(io::FileSystem& files, const TensorSource& source, LineSamples& out, const std::stop_token& token)
        : m_files(files)
        , m_source(source)
        , m_out(out)
        , m_token(token)
    {
    }

    void read(uint64_t begin, uint64_t end)
    {
        const uint64_t item = m_source.itemBytes();
        const uint64_t step = std::max<uint64_t>(kStepBytes / item, 1);
        for (uint64_t at = begin; at < end && !m_token.stop_requested(); at += step)
            readStep(at, std::min(at + step, end), item);
    }

    /// Runs of elements, all of them together.
    void read(std::vector<std::pair<uint64_t, uint64_t>> runs)
    {
        const StateRuns wanted{m_source.param, m_source.state, std::move(runs)};
        const uint64_t item = m_source.itemBytes();
        uint64_t elements = 0;
        for (const auto& [begin, end] : wanted.runs)
            elements += end - begin;
        m_bytes.resize(elements * item);
        const auto missing = readPresentRuns(m_files, *m_source.checkpoint, wanted, m_bytes);
        const uint8_t* at = m_bytes.data();
        for (const auto& [begin, end] : wanted.runs) {
            take(begin, end, missing ? &*missing : nullptr, at);
            at += (end - begin) * item;
        }
    }

private:
    void readStep(uint64_t begin, uint64_t end, uint64_t item)
    {
        m_bytes.resize((end - begin) * item);
        const auto missing = readPresentElements(
            m_files, *m_source.checkpoint, {m_source.param, m_source.state, begin, end}, m_bytes);
        take(begin, end, missing ? &*missing : nullptr, m_bytes.data());
    }

    /// `missing`: ranges in order; null: nothing could be read.
    void take(uint64_t begin, uint64_t end, const std::vector<std::pair<uint64_t, uint64_t>>* missing,
        const uint8_t* bytes)
    {
        const uint64_t item = m_source.itemBytes();
        size_t gap = 0;
        size_t at = m_out.columnOf(begin);
        for (uint64_t element = begin; element < end; ++element) {
            while (element >= m_out.columns[at].end)
                ++at;
            while (missing != nullptr && gap < missing->size() && element >= (*missing)[gap].second)
                ++gap;
            LineColumn& column = m_out.columns[at];
            if (missing == nullptr || (gap < missing->size() && element >= (*missing)[gap].first))
                ++column.missing;
            else
                add(column, element, elementAsDouble(m_source.dtype, bytes + (element - begin) * item));
            ++column.read;
        }
    }

    io::FileSystem& m_files;
    const TensorSource& m_source;
    LineSamples& m_out;
    const std::stop_token& m_token;
    std::vector<uint8_t> m_bytes;
};

void sumUp(LineSamples& out)
{
    for (const LineColumn& column : out.columns) {
        out.nans += column.nans;
        out.infinities += column.positive + column.negative;
        out.missing += column.missing;
        if (!column.hasValues())
            continue;
        out.low = out.anyFinite ? std::min(out.low, column.low) : column.low;
        out.high = out.anyFinite ? std::max(out.high, column.high) : column.high;
        out.anyFinite = true;
    }
}

} // namespace

size_t LineSamples::columnOf(uint64_t element) const
{
    const auto after = std::upper_bound(columns.begin(), columns.end(), element,
        [](uint64_t value, const LineColumn& column) { return value < column.first; });
    return after == columns.begin() ? 0 : static_cast<size_t>(after - columns.begin()) - 1;
}

LineSamples readLine(io::FileSystem& files, const TensorSource& source, uint64_t begin, uint64_t end,
    uint64_t columns, const std::stop_token& token)
{
    const StopScope scope(token);
    LineSamples out;
    out.begin = begin;
    out.end = end;
    const uint64_t elements = end - begin;
    const uint64_t count = std::min(columns, elements);
    const auto edge = [&](uint64_t i) { // without overflow for any number of elements
        return begin + elements / count * i + elements % count * i / count;
    };
    for (uint64_t i = 0; i < count; ++i) {
        LineColumn column;
        column.first = edge(i);
        column.end = edge(i + 1);
        out.columns.push_back(column);
    }
    Reader reader(files, source, out, token);
    const bool isFar = source.isFar();
    out.sampled = elements * source.itemBytes() > (isFar ? TensorSource::kWholeFarBytes : kWholeBytes);
    if (!out.sampled) {
        reader.read(begin, end);
    } else {
        const uint64_t most
            = std::max<uint64_t>((isFar ? kSampleFarBytes : kSampleBytes) / source.itemBytes(), 1);
        std::vector<std::pair<uint64_t, uint64_t>> runs;
        for (size_t i = 0; i < out.columns.size() && !token.stop_requested(); ++i) {
            const LineColumn& column = out.columns[i];
            const uint64_t taken = std::min(most, column.end - column.first);
            const uint64_t first = column.first + (column.end - column.first - taken) / 2;
            runs.emplace_back(first, first + taken);
            if (runs.size() == kRunsAtOnce || i + 1 == out.columns.size())
                reader.read(std::exchange(runs, {}));
        }
    }
    if (token.stop_requested())
        return {};
    sumUp(out);
    return out;
}

} // namespace shardscope::ui
