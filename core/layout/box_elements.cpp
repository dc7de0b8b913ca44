// SPDX-License-Identifier: Apache-2.0
#include "core/layout/box_elements.h"

#include "core/base/text.h"
#include "core/layout/element_reader.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace shardscope {

namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
constexpr uint64_t kGapBytes = 4096; ///< reading them costs less than another read

Status checkInside(const Parameter& param, const Box& box)
{
    bool inside = box.offsets.size() == param.shape.size() && box.sizes.size() == param.shape.size();
    for (size_t d = 0; inside && d < param.shape.size(); ++d)
        inside = box.offsets[d] <= param.shape[d] && box.sizes[d] <= param.shape[d] - box.offsets[d];
    if (inside)
        return {};
    return fail(ErrorCode::Usage, "the box is not inside the shape of `" + toValidUtf8(param.name) + "`");
}

/// Collects runs that are near each other, reads them at once, and passes on what is in the box.
class BoxReader
{
public:
    BoxReader(io::FileSystem& files, const Checkpoint& checkpoint, ParamId param, std::string_view state,
        uint64_t item, const std::function<Status(std::span<const uint8_t>)>& consumer, JobContext& job)
        : m_elements(files, checkpoint)
        , m_param(param)
        , m_state(state)
        , m_item(item)
        , m_consumer(consumer)
        , m_job(job)
    {
    }

    /// False ends the walk.
    bool add(const BoxRun& run)
    {
        const uint64_t limit = kPieceBytes / m_item;
        for (uint64_t done = 0; done < run.elements && m_status;) {
            const uint64_t first = run.element + done;
            const bool isNear = !m_runs.empty() && first >= m_end && (first - m_end) * m_item < kGapBytes
                && first - m_begin < limit;
            if (!isNear)
                flush();
            if (m_runs.empty())
                m_begin = first;
            const uint64_t count = std::min(run.elements - done, limit - (first - m_begin));
            m_runs.push_back({first, count});
            m_end = first + count;
            done += count;
        }
        return m_status.has_value();
    }

    Status finish()
    {
        flush();
        return m_status;
    }

private:
    struct Run {
        uint64_t first = 0;
        uint64_t count = 0;
    };

    void flush()
    {
        if (!m_runs.empty() && m_status)
            m_status = pass();
        m_runs.clear();
    }

    Status pass()
    {
        SHARDSCOPE_CHECK(m_job.poll());
        m_read.resize((m_end - m_begin) * m_item);
        SHARDSCOPE_CHECK(m_elements.read({m_param, m_state, m_begin, m_end}, m_read));
        uint64_t at = 0;
        for (const Run& run : m_runs) {
            std::memmove(
                m_read.data() + at, m_read.data() + (run.first - m_begin) * m_item, run.count * m_item);
            at += run.count * m_item;
        }
        m_job.advance(at);
        return m_consumer(std::span(m_read).first(at));
    }

    ElementReader m_elements;
    ParamId m_param;
    std::string_view m_state;
    uint64_t m_item;
    const std::function<Status(std::span<const uint8_t>)>& m_consumer;
    JobContext& m_job;
    std::vector<Run> m_runs; ///< near each other, in order
    uint64_t m_begin = 0; ///< elements from the first run to the last one
    uint64_t m_end = 0;
    std::vector<uint8_t> m_read;
    Status m_status;
};

} // namespace

Box wholeBox(const Shape& shape)
{
    return {Shape(shape.size(), 0), shape};
}

Status readBox(io::FileSystem& files, const Checkpoint& checkpoint, const StateBox& part,
    const std::function<Status(std::span<const uint8_t> bytes)>& consumer, JobContext& job)
{
    SHARDSCOPE_TRY(const StateSource source, findState(checkpoint, part.param, part.state));
    const Parameter& param = checkpoint.params[index(source.param)];
    SHARDSCOPE_CHECK(checkInside(param, part.box));
    BoxReader reader(files, checkpoint, source.param, part.state, itemSize(source.dtype), consumer, job);
    forEachBoxRun(param.shape, std::span(&part.box, 1), 0, param.elements,
        [&](const BoxRun& run) { return reader.add(run); });
    return reader.finish();
}

} // namespace shardscope
