// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope {

/// The processes of one job, on any machines, numbered from 0. Process 0 leads: it alone talks to the user.
///
/// All processes call the same functions in the same order. Not thread-safe; used by the thread that made it.
/// An error means that the job is lost.
class Peers
{
public:
    virtual ~Peers() = default;

    [[nodiscard]] virtual uint32_t rank() const = 0;
    [[nodiscard]] virtual uint32_t size() const = 0;
    /// Process 0 gives one text for every process; each gets its own. Others pass nothing. Waits for process
    /// 0.
    virtual Result<std::string> scatter(std::vector<std::string> texts) = 0;
    /// Process 0 gets the texts of all processes, in their order; the others get nothing. Process 0 waits for
    /// all.
    virtual Result<std::vector<std::string>> gather(std::string text) = 0;
};

} // namespace shardscope
