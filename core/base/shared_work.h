// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/peers.h"

#include <string>
#include <vector>

namespace shardscope {

/// Processes that all run the same command and share its passes over values: each does a part, and gets what
/// the others found.
///
/// All call exchange() in the same order and end() last; one that fails in between calls end() at once, and
/// the others learn it at their next call. Not thread-safe.
class SharedWork
{
public:
    explicit SharedWork(Peers& peers)
        : m_peers(peers)
    {
    }

    [[nodiscard]] Peers& peers() const { return m_peers; }
    [[nodiscard]] uint32_t rank() const { return m_peers.rank(); }
    [[nodiscard]] uint32_t size() const { return m_peers.size(); }
    /// The texts of all processes, in their order. The first error of any process is that of all.
    Result<std::vector<std::string>> exchange(const Result<std::string>& own);
    /// The first error of any process, or success if all ended without one.
    Status end(const Status& own);

private:
    enum class Kind : uint8_t { Found, Failed, Ended };
    Result<std::vector<std::string>> pass(Kind kind, const std::string& text, const Status& own);

    Peers& m_peers;
    bool m_isOver = false; ///< no process waits for another call
};

/// Divides items of these sizes so that each process has about the same sum: for each item the process that
/// does it. Deterministic.
std::vector<uint32_t> dividedBySize(const std::vector<uint64_t>& sizes, uint32_t processes);

} // namespace shardscope
