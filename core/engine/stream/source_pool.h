// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/io/file_system.h"
#include "core/io/uncached_file.h"
#include "core/plan/model/write_plan.h"

#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope {

/// Whether a file is the version that was planned. A plan of another machine (without an inode) is compared
/// by size and time of modification only.
bool isAsPlanned(const io::FileIdentity& found, const PlanSource& source);

/// The open source files of a job, within the descriptor limit; those that were not used for longest are
/// closed. Files that are not in the page cache are read by direct I/O. Thread-safe.
class SourcePool
{
public:
    /// `blockBytes`: of the buffers for direct I/O, one for each thread that reads at a time.
    SourcePool(
        io::FileSystem& files, const std::vector<PlanSource>& sources, size_t limit, size_t blockBytes);

    /// The file, open for reading. SourceChanged if it changed since the plan was made.
    Result<std::shared_ptr<const io::ReadFile>> open(uint32_t source);
    /// SourceChanged if any source changed since the plan was made.
    Status checkUnchanged();

    /// The maximum number of open source files besides the files of `workers`: a part of the process's limit.
    static size_t limitFor(size_t workers);

private:
    using Entry = std::pair<uint32_t, std::shared_ptr<const io::ReadFile>>;

    io::FileSystem& m_files;
    const std::vector<PlanSource>& m_sources;
    size_t m_limit;
    std::shared_ptr<io::BlockBuffers> m_blocks;
    std::mutex m_mutex;
    std::list<Entry> m_recent; ///< most recently used first
    std::unordered_map<uint32_t, std::list<Entry>::iterator> m_open;
};

} // namespace shardscope
