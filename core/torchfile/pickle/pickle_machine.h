// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/base/job_context.h"
#include "core/torchfile/pickle/pickle_graph.h"

namespace shardscope {

/// Bounds of one parse; reaching one is LimitExceeded and names the limit.
struct PickleLimits {
    uint64_t streamBytes = uint64_t{256} << 20;
    uint64_t opcodes = uint64_t{64} << 20;
    uint64_t nodes = uint64_t{32} << 20;
    uint64_t arenaBytes = uint64_t{2} << 30;
    uint32_t stackDepth = 1u << 21;
    uint32_t markDepth = 1u << 20;
    uint64_t stringBytes = uint64_t{64} << 20;
    uint64_t integerBytes = uint64_t{1} << 20;
    uint32_t globalNameBytes = 1024;
};

/// A parsed pickle, what was odd about it, and how many bytes it took (legacy files stack several).
struct PickleParse {
    PickleGraph graph;
    std::vector<Finding> findings;
    uint64_t consumedBytes = 0;
};

/// Parses one pickle of protocol 0 to 5 into a graph and executes nothing: there is no table from names to
/// functions.
///
/// Damaged: unknown opcode, underflow, truncation, wrong operand kinds, each with byte offset and opcode in
/// the message. LimitExceeded: a bound was reached. Dangerous names (os.system, builtins.eval, …) become
/// findings (pickle-dangerous), never errors: they are only data here.
Result<PickleParse> parsePickle(
    std::shared_ptr<const std::string> stream, const PickleLimits& limits, JobContext& job);

/// Whether a refused pickle names code that would run in Python before the place where it breaks off, as one
/// made to attack may do on purpose. `refused` is parsePickle()'s.
[[nodiscard]] bool namesDangerousCode(const Error& refused);

} // namespace shardscope
