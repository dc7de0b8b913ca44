// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/peers.h"
#include "core/engine/write/peer_writers.h"

#include <doctest/doctest.h>

#include <barrier>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace shardscope::test {

/// Processes of one job as threads.
class ThreadPeers final
{
public:
    explicit ThreadPeers(uint32_t count)
        : m_slots(count)
        , m_barrier(count)
    {
    }

    class One final : public Peers
    {
    public:
        One(ThreadPeers& all, uint32_t rank)
            : m_all(all)
            , m_rank(rank)
        {
        }
        [[nodiscard]] uint32_t rank() const override { return m_rank; }
        [[nodiscard]] uint32_t size() const override { return static_cast<uint32_t>(m_all.m_slots.size()); }
        Result<std::string> scatter(std::vector<std::string> texts) override
        {
            if (m_rank == 0)
                m_all.m_slots = std::move(texts);
            m_all.m_barrier.arrive_and_wait();
            std::string own = m_all.m_slots[m_rank];
            m_all.m_barrier.arrive_and_wait();
            return own;
        }
        Result<std::vector<std::string>> gather(std::string text) override
        {
            m_all.m_slots[m_rank] = std::move(text);
            m_all.m_barrier.arrive_and_wait();
            std::vector<std::string> out = m_rank == 0 ? m_all.m_slots : std::vector<std::string>();
            m_all.m_barrier.arrive_and_wait();
            return out;
        }

    private:
        ThreadPeers& m_all;
        uint32_t m_rank;
    };

private:
    std::vector<std::string> m_slots;
    std::barrier<> m_barrier;
};

/// Executes `plan` with `count` processes, which are threads, calling `lead` as process 0 with its options;
/// `others`: the files of all but that one.
template <class Lead>
auto leadPeers(
    uint32_t count, io::FileSystem& others, const WritePlan& plan, const ExecuteOptions& options, Lead lead)
{
    ThreadPeers all(count);
    std::vector<std::jthread> threads;
    for (uint32_t rank = 1; rank < count; ++rank) {
        threads.emplace_back([&, rank] {
            ThreadPeers::One own(all, rank);
            JobContext job;
            ExecuteOptions served = options;
            served.peers = &own;
            served.jobs = 2;
            const auto choose = [](uint64_t) -> Result<ComputeChoice> { return ComputeChoice{}; };
            CHECK(serveLeader(others, plan, served, choose, job));
        });
    }
    ThreadPeers::One own(all, 0);
    auto result = [&] {
        try {
            ExecuteOptions leads = options; // the others copy `options` meanwhile
            leads.peers = &own;
            return lead(leads);
        } catch (...) { // a REQUIRE that failed
            std::cout << "process 0 ended; the others wait for it, and cannot be ended" << std::endl;
            std::_Exit(1);
        }
    }();
    CHECK(dismissPeers(own));
    return result;
}

} // namespace shardscope::test
