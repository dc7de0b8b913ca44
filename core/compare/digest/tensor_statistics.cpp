// SPDX-License-Identifier: Apache-2.0
#include "core/compare/digest/tensor_statistics.h"

#include "core/base/ordered_results.h"
#include "core/io/outage_watch.h"
#include "core/layout/counts.h"
#include "core/layout/present_elements.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <span>

namespace shardscope {

namespace {

constexpr uint64_t kReadElements = 128 * 1024; // 1 MiB of float64; more where a backend asks for it
constexpr uint64_t kMaxItemBytes = 16; // of complex128
constexpr uint64_t kItemElements = 32 * kReadElements;
constexpr uint64_t kSampleRuns = 64;
constexpr uint64_t kRunElements = kSampleRunElements;
/// A run of a matrix stored column by column also reads all data between its elements.
constexpr uint64_t kTransposedRuns = 4;

using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

/// The ranges that lie in a run. No range lies in two runs.
Ranges within(const Ranges& sorted, std::pair<uint64_t, uint64_t> run)
{
    const auto first = std::ranges::lower_bound(sorted, run.first, {}, &Ranges::value_type::first);
    const auto last = std::ranges::lower_bound(sorted, run.second, {}, &Ranges::value_type::first);
    return {first, last};
}

/// One piece of work: elements of one tensor, in runs.
struct Item {
    size_t tensor = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool sampled = false; ///< [begin, end) is the whole tensor, and only some runs are read
    bool last = true; ///< the last piece of its tensor
};

class Pass
{
public:
    Pass(io::FileSystem& files, const Checkpoint& checkpoint, const std::vector<TensorAsked>& tensors,
        const Workers& workers, JobContext& job)
        : m_files(files)
        , m_checkpoint(checkpoint)
        , m_tensors(tensors)
        , m_workers(workers)
        , m_backend(*workers.backend)
        , m_job(job)
    {
    }

    Status prepare(bool exact)
    {
        uint64_t bytes = 0;
        for (size_t i = 0; i < m_tensors.size(); ++i) {
            const auto source = findState(m_checkpoint, m_tensors[i].param, m_tensors[i].state);
            if (!source)
                return forward(source.error());
            if (!hasStatistics(source->dtype))
                return fail(ErrorCode::Unsupported,
                    fmt::format("there are no statistics of {} values", dtypeName(source->dtype)),
                    m_checkpoint.params[index(m_tensors[i].param)].name);
            m_sources.push_back(*source);
            bytes += addItems(i, source->elements, !exact) * itemSize(source->dtype);
        }
        m_job.beginPhase("reading", m_workers.shareOf(bytes));
        return {};
    }

    [[nodiscard]] const std::vector<Item>& items() const { return m_items; }
    [[nodiscard]] const StateSource& source(size_t tensor) const { return m_sources[tensor]; }

    Result<FoundStatistics> run(const Item& item)
    {
        FoundStatistics out;
        const uint64_t most = readElements(m_sources[item.tensor].dtype);
        const Buffer buffer(*this);
        if (!item.sampled) {
            for (uint64_t at = item.begin; at < item.end; at += most)
                SHARDSCOPE_CHECK(add(out, item, at, std::min(item.end, at + most), buffer.bytes()));
            return out;
        }
        SHARDSCOPE_CHECK(addSample(out, item, buffer.bytes()));
        return out;
    }

private:
    /// Memory for one read, which the next item takes again: pinned memory of a GPU is slow to make.
    class Buffer
    {
    public:
        explicit Buffer(Pass& pass)
            : m_pass(pass)
        {
            {
                const std::lock_guard lock(pass.m_mutex);
                if (!pass.m_idle.empty()) {
                    m_memory = std::move(pass.m_idle.back());
                    pass.m_idle.pop_back();
                }
            }
            if (!m_memory)
                m_memory = pass.m_backend.hostMemory(pass.bufferBytes());
        }
        Buffer(const Buffer&) = delete;
        Buffer& operator=(const Buffer&) = delete;
        ~Buffer()
        {
            const std::lock_guard lock(m_pass.m_mutex);
            m_pass.m_idle.push_back(std::move(m_memory));
        }
        [[nodiscard]] std::span<uint8_t> bytes() const { return {m_memory.get(), m_pass.bufferBytes()}; }

    private:
        Pass& m_pass;
        HostMemory m_memory;
    };

    [[nodiscard]] size_t bufferBytes() const
    {
        return std::max<size_t>(m_backend.batchBytes(), kReadElements * kMaxItemBytes);
    }
    [[nodiscard]] uint64_t readElements(DType dtype) const
    {
        return std::max<uint64_t>(kReadElements, m_backend.batchBytes() / itemSize(dtype));
    }
    [[nodiscard]] uint64_t runsOf(size_t tensor) const
    {
        const StateSource& source = m_sources[tensor];
        const bool byColumns = source.whole == nullptr && m_checkpoint.transposedOrder(source.param);
        return byColumns ? kTransposedRuns : kSampleRuns;
    }

    /// Returns the number of elements to read.
    uint64_t addItems(size_t tensor, uint64_t elements, bool sample)
    {
        if (sample && elements > kSampleRuns * kRunElements) {
            m_items.push_back({tensor, 0, elements, true, true});
            return runsOf(tensor) * kRunElements;
        }
        uint64_t at = 0;
        do {
            const uint64_t end = std::min(elements, at + kItemElements);
            m_items.push_back({tensor, at, end, false, end == elements});
            at = end;
        } while (at < elements);
        return elements;
    }

    /// All runs of a sample are read together.
    Status addSample(FoundStatistics& out, const Item& item, std::span<uint8_t> buffer) const
    {
        SHARDSCOPE_CHECK(m_job.poll());
        const StateSource& source = m_sources[item.tensor];
        StateRuns wanted{source.param, m_tensors[item.tensor].state, {}};
        const uint64_t runs = runsOf(item.tensor);
        for (uint64_t i = 0; i < runs; ++i) {
            const uint64_t at = sampleRunBegin(item.end, runs, i);
            wanted.runs.emplace_back(at, at + kRunElements);
        }
        const size_t bytesOfRun = kRunElements * itemSize(source.dtype);
        const std::span<uint8_t> bytes = buffer.first(runs * bytesOfRun);
        const auto read = readPresentRuns(m_files, m_checkpoint, wanted, bytes);
        for (size_t i = 0; i < wanted.runs.size(); ++i)
            SHARDSCOPE_CHECK(
                add(out, source, wanted.runs[i], read, bytes.subspan(i * bytesOfRun, bytesOfRun)));
        return {};
    }

    Status add(
        FoundStatistics& out, const Item& item, uint64_t begin, uint64_t end, std::span<uint8_t> buffer) const
    {
        SHARDSCOPE_CHECK(m_job.poll());
        const StateSource& source = m_sources[item.tensor];
        const std::span<uint8_t> bytes = buffer.first((end - begin) * itemSize(source.dtype));
        return add(out, source, {begin, end},
            readPresentElements(
                m_files, m_checkpoint, {source.param, m_tensors[item.tensor].state, begin, end}, bytes),
            bytes);
    }

    /// `read`: what is missing, also elsewhere, in order.
    Status add(FoundStatistics& out, const StateSource& source, std::pair<uint64_t, uint64_t> run,
        const Result<Ranges>& read, std::span<const uint8_t> bytes) const
    {
        const auto [begin, end] = run;
        const uint64_t bytesEach = itemSize(source.dtype);
        if (!read && (read.error().code == ErrorCode::Cancelled))
            return forward(read.error());
        if (!read && !out.firstError)
            out.firstError = read.error();
        const Ranges missing = read ? within(*read, run) : Ranges{run};
        uint64_t at = begin;
        const auto present = [&](uint64_t until) {
            if (at < until)
                out.statistics += m_backend.statistics(source.dtype,
                    bytes.subspan((at - begin) * bytesEach, (until - at) * bytesEach), &out.histogram);
        };
        for (const auto& [from, to] : missing) {
            present(from);
            out.missing += to - from;
            at = to;
        }
        present(end);
        m_job.advance(bytes.size());
        return {};
    }

    io::FileSystem& m_files;
    const Checkpoint& m_checkpoint;
    const std::vector<TensorAsked>& m_tensors;
    const Workers& m_workers;
    const ComputeBackend& m_backend;
    JobContext& m_job;
    std::vector<StateSource> m_sources;
    std::vector<Item> m_items;
    std::mutex m_mutex;
    std::vector<HostMemory> m_idle; ///< guarded by m_mutex
};

} // namespace

uint64_t sampleRunBegin(uint64_t elements, uint64_t runs, uint64_t run)
{
    if (runs < 2)
        return (elements - kRunElements) / 2;
    // Avoids the product of size and number, which can overflow.
    const uint64_t room = elements - kRunElements;
    return room / (runs - 1) * run + room % (runs - 1) * run / (runs - 1);
}

std::vector<TensorAsked> allTensors(const Checkpoint& checkpoint)
{
    std::vector<TensorAsked> out;
    for (uint32_t i = 0; i < checkpoint.params.size(); ++i) {
        if (checkpoint.params[i].sharedWith != kNoParam)
            continue;
        for (std::string& state : statesOf(checkpoint, ParamId{i}))
            out.push_back({ParamId{i}, std::move(state)});
    }
    return out;
}

Status computeStatistics(io::FileSystem& files, const StatisticsRequest& request, const Workers& workers,
    JobContext& job, const std::function<Status(TensorStatistics)>& take)
{
    Pass pass(files, request.checkpoint, request.tensors, workers, job);
    SHARDSCOPE_CHECK(pass.prepare(request.exact));
    const auto& items = pass.items();
    TensorStatistics current;
    const io::OutageWatch watch(pathsOf(request.checkpoint));
    const auto find = [&](size_t i) { return watch.judged(pass.run(items[i])); };
    const auto add = [&](size_t i, FoundStatistics found) -> Status {
        const Item& item = items[i];
        current.found += found.statistics;
        current.histogram += found.histogram;
        current.missing += found.missing;
        if (!current.unreadable)
            current.unreadable = std::move(found.firstError);
        if (!item.last)
            return {};
        current.tensor = request.tensors[item.tensor];
        current.dtype = pass.source(item.tensor).dtype;
        current.elements = pass.source(item.tensor).elements;
        current.exact = !item.sampled;
        SHARDSCOPE_CHECK(take(std::move(current)));
        current = {};
        return {};
    };
    SHARDSCOPE_CHECK(
        parallelInOrder<FoundStatistics>({items.size(), workers.jobs, workers.shared}, job, find, add));
    return job.poll(); // a read of the last ones may have been given up
}

namespace {

/// What is sent of a tensor: which one it is, and what was found.
struct Sent {
    std::string param;
    std::string state;
    std::string dtype;
    uint64_t elements = 0;
    bool exact = true;
    FoundStatistics found;
};

void wire(auto& io, Wired<Sent> auto& sent)
{
    io(sent.param, sent.state, sent.dtype, sent.elements, sent.exact, sent.found);
}

} // namespace

std::string wireText(const Checkpoint& checkpoint, const std::vector<TensorStatistics>& tensors)
{
    WireWriter out;
    out(tensors.size());
    for (const TensorStatistics& tensor : tensors)
        out(Sent{checkpoint.params[index(tensor.tensor.param)].name, tensor.tensor.state,
            std::string(dtypeName(tensor.dtype)), tensor.elements, tensor.exact,
            {tensor.found, tensor.histogram, tensor.missing, tensor.unreadable}});
    return out.take();
}

Result<std::vector<TensorStatistics>> statisticsFromWire(
    const Checkpoint& checkpoint, const std::vector<TensorAsked>& tensors, std::string_view text)
{
    WireReader in(text);
    in.require(in.number() == tensors.size());
    std::vector<TensorStatistics> out;
    for (size_t i = 0; i < tensors.size() && in.isGood(); ++i) {
        const auto source = findState(checkpoint, tensors[i].param, tensors[i].state);
        Sent sent;
        in(sent);
        auto& [counts, histogram, missing, firstError] = sent.found;
        in.require(source && sent.param == checkpoint.params[index(tensors[i].param)].name
            && sent.state == tensors[i].state && sent.dtype == dtypeName(source->dtype)
            && sent.elements == source->elements && counts.elements <= sent.elements
            && missing <= sent.elements && counts.zeros <= counts.elements && counts.nans <= counts.elements
            && counts.infinities <= counts.elements - counts.nans
            && (!sent.exact || counts.elements == sent.elements - missing));
        if (in.isGood())
            out.push_back({tensors[i], source->dtype, sent.elements, missing, std::move(firstError),
                sent.exact, counts, std::move(histogram)});
    }
    if (!in.isGood() || in.rest() != 0)
        return fail(ErrorCode::Hostile, "the statistics of another process are not of these tensors");
    return out;
}

} // namespace shardscope
