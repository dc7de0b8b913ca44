// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/run_digester.h"

#include "core/checkpoint/model/wrapped_names.h"

#include <algorithm>

namespace shardscope {

std::vector<Digest> RunDigester::Sums::take()
{
    std::vector<Digest> out;
    size_t at = 0;
    for (const size_t end : m_ends) {
        for (; at < end; ++at)
            m_open += m_sums[at].digest;
        out.push_back(m_open);
        m_open = {};
    }
    for (; at < m_sums.size(); ++at)
        m_open += m_sums[at].digest;
    m_sums.clear();
    m_ends.clear();
    return out;
}

void RunDigester::feed(uint64_t offset, std::span<const uint8_t> chunk, FoundTensors& out)
{
    const uint64_t end = offset + chunk.size();
    if (m_context.copies != nullptr && m_room.size() < chunk.size() / 2 + sizeof(double))
        m_room.resize(chunk.size() / 2 + sizeof(double));
    while (m_run < m_runs.size() && m_runs[m_run].offset < end) {
        const TensorRun& run = m_runs[m_run];
        const uint64_t runEnd = run.offset + run.bytes;
        const uint64_t from = std::max(run.offset, offset);
        const uint64_t to = std::min(runEnd, end);
        if (m_done == 0 && m_carry.empty())
            beginRun(run);
        add(run, chunk.subspan(from - offset, to - from));
        if (runEnd > end)
            break;
        m_sums.endRun();
        m_rounded.endRun();
        ++m_ended;
        ++m_run;
        m_done = 0;
        m_carry.clear();
    }
    sumUp(out);
}

void RunDigester::beginRun(const TensorRun& run)
{
    if (run.tensor == m_keyed)
        return;
    const auto& [files, checkpoint, table, wholeRuns, copies, options, backend, job] = m_context;
    const auto keyOf = [&](const TensorTable::Entry& entry) {
        return digestKey(stateDictName(checkpoint, entry.param), entry.state, options.version);
    };
    const TensorTable::Entry entry = table.entry(run.tensor);
    m_keyed = run.tensor;
    m_key = keyOf(entry);
    m_dtype = options.statistics && hasStatistics(entry.dtype) ? entry.dtype : DType::Unknown;
    m_roundsTo = DType::Unknown;
    if (const auto copy = copies != nullptr ? copies->copyOf(run.tensor) : std::nullopt) {
        m_copyKey = keyOf(table.entry(*copy));
        m_roundsTo = table.entry(*copy).dtype;
    }
}

void RunDigester::add(const TensorRun& run, std::span<const uint8_t> bytes)
{
    if (!m_carry.empty()) {
        const size_t missing = std::min<size_t>(run.itemBytes - m_carry.size(), bytes.size());
        m_carry.insert(m_carry.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(missing));
        bytes = bytes.subspan(missing);
        if (m_carry.size() < run.itemBytes)
            return;
        m_straddling.swap(m_carry);
        push(run, m_straddling);
        m_carry.clear();
    }
    const size_t whole = bytes.size() / run.itemBytes;
    push(run, bytes.first(whole * run.itemBytes));
    const auto rest = bytes.subspan(whole * run.itemBytes);
    m_carry.assign(rest.begin(), rest.end());
}

void RunDigester::push(const TensorRun& run, std::span<const uint8_t> bytes)
{
    m_sums.push({m_key, run.itemBytes, run.order, run.firstElement + m_done, bytes, {}});
    if (m_roundsTo != DType::Unknown)
        pushRounded(run, bytes);
    m_done += bytes.size() / run.itemBytes;
    if (m_dtype == DType::Unknown)
        return;
    m_statistics.resize(m_ended + 1);
    m_statistics.back() += m_context.backend.statistics(m_dtype, bytes, nullptr);
}

void RunDigester::pushRounded(const TensorRun& run, std::span<const uint8_t> bytes)
{
    const uint32_t item = itemSize(m_roundsTo);
    const std::span<uint8_t> room = std::span(m_room).subspan(m_used, bytes.size() / run.itemBytes * item);
    m_used += room.size();
    m_casts.push_back({DType::Float32, bytes, m_roundsTo, room});
    m_rounded.push({m_copyKey, item, run.order, run.firstElement + m_done, room, {}});
}

void RunDigester::sumUp(FoundTensors& out)
{
    m_context.backend.transform({}, m_sums.all());
    m_context.backend.transform(m_casts, m_rounded.all());
    m_casts.clear();
    m_used = 0;
    const std::vector<Digest> sums = m_sums.take();
    const std::vector<Digest> rounded = m_rounded.take();
    for (size_t i = 0; i < m_ended; ++i) {
        const TensorRun& run = m_runs[m_run - m_ended + i];
        out.digests.push_back({run.tensor, sums[i], run.bytes / run.itemBytes, rounded[i]});
    }
    if (m_context.options.statistics)
        endStatistics(m_ended, out.statistics);
    m_ended = 0;
}

/// Passes on those of the first runs, and keeps those of the run that continues.
void RunDigester::endStatistics(size_t runs, std::vector<Statistics>& out)
{
    m_statistics.resize(std::max(m_statistics.size(), runs)); // a run may have none
    const auto end = m_statistics.begin() + static_cast<ptrdiff_t>(runs);
    out.insert(out.end(), m_statistics.begin(), end);
    m_statistics.erase(m_statistics.begin(), end);
}

} // namespace shardscope
