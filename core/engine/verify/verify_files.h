// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job_context.h"
#include "core/engine/stream/element_digests.h"
#include "core/engine/stream/interval_set.h"
#include "core/engine/stream/output_file.h"
#include "core/engine/verify/verify_output.h"

#include <array>
#include <mutex>
#include <vector>

namespace shardscope {

/// The elements of planned tensors that the output has. Thread-safe.
class FoundElements
{
public:
    explicit FoundElements(size_t tensors)
        : m_seen(tensors)
        , m_counts(tensors)
    {
    }

    void add(uint32_t tensor, uint64_t begin, uint64_t end);
    /// Different ones. Must not be called while add() runs.
    [[nodiscard]] uint64_t count(uint32_t tensor) const { return m_counts[tensor]; }

private:
    static constexpr size_t kLocks = 64;

    std::vector<IntervalSet> m_seen;
    std::vector<uint64_t> m_counts;
    std::array<std::mutex, kLocks> m_locks;
};

/// The shared data for comparing written files with their plan.
struct VerifyContext {
    io::FileSystem& files;
    const WritePlan& plan;
    const OutputModel* model = nullptr; ///< may be null
    FoundElements& found;
    JobContext& job;
};

/// Compares the structure of a written file with the plan: the archive's directory as the reader parses it,
/// with every record's name, size and CRC; and the place of every element that the model finds in it. Its
/// bytes were compared by ReadBack. VerifyFailed, with the file, if anything differs.
Status verifyStructure(
    size_t index, const io::Path& path, const WrittenFile& written, const VerifyContext& context);

/// VerifyFailed, with the tensor, if the output lacks elements that were written.
Status compareElements(
    const std::vector<PlanTensor>& tensors, const ElementDigests& written, const FoundElements& found);

} // namespace shardscope
