// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/parallel.h"
#include "core/base/shared_work.h"
#include "core/base/wire.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardscope {

/// parallelInOrder() (ordered_results.h) by all processes: each does a part of the work, and all get all
/// results in the order of their numbers. `write(WireWriter&, const T&)` and `read(WireReader&)` pass a
/// result between processes.
template <class T, class Work, class Take, class Write, class Read>
class SharedResults
{
public:
    SharedResults(SharedWork& shared, Work work, Take take, Write write, Read read)
        : m_shared(shared)
        , m_work(std::move(work))
        , m_take(std::move(take))
        , m_write(std::move(write))
        , m_read(std::move(read))
    {
    }

    Status run(size_t count, unsigned jobs, JobContext& job)
    {
        // Results wait for those of the other processes, so they are passed on block by block.
        const size_t block = size_t{m_shared.size()} * std::max(jobs, 1U) * kAtATime;
        for (size_t begin = 0; begin < count; begin += block)
            SHARDSCOPE_CHECK(runBlock(begin, std::min(begin + block, count), jobs, job));
        return {};
    }

private:
    static constexpr size_t kAtATime = 8; ///< by one thread

    Status runBlock(size_t begin, size_t end, unsigned jobs, JobContext& job)
    {
        const size_t size = m_shared.size();
        std::vector<size_t> own;
        for (size_t i = begin; i < end; ++i) {
            if (i % size == m_shared.rank())
                own.push_back(i);
        }
        std::vector<T> made(own.size());
        const Status done = parallelFor(own.size(), jobs, job, [&](size_t i) -> Status {
            SHARDSCOPE_TRY(made[i], m_work(own[i]));
            return {};
        });
        WireWriter out;
        for (const T& each : made)
            m_write(out, each);
        SHARDSCOPE_TRY(const auto all,
            m_shared.exchange(done ? Result<std::string>(out.take()) : forward(done.error())));
        std::vector<WireReader> in(all.begin(), all.end());
        for (size_t i = begin; i < end; ++i) {
            WireReader& reader = in[i % size];
            T result = m_read(reader);
            if (!reader.isGood())
                return fail(ErrorCode::Internal, "a process of the job sent what cannot be read");
            SHARDSCOPE_CHECK(m_take(i, std::move(result)));
        }
        return {};
    }

    SharedWork& m_shared;
    Work m_work;
    Take m_take;
    Write m_write;
    Read m_read;
};

} // namespace shardscope
