// SPDX-License-Identifier: Apache-2.0
#include "core/engine/stream/source_pool.h"

#include <sys/resource.h>

#include <algorithm>

namespace shardscope {

namespace {

tl::unexpected<Error> changed(const PlanSource& source)
{
    return fail(ErrorCode::SourceChanged, "the source file changed since the plan was made",
        source.path.string(), "wait until no program writes to it, then make a new plan");
}

} // namespace

bool isAsPlanned(const io::FileIdentity& found, const PlanSource& source)
{
    if (source.identity.inode != 0)
        return found == source.identity;
    return found.bytes == source.identity.bytes && found.modifiedNs == source.identity.modifiedNs;
}

SourcePool::SourcePool(
    io::FileSystem& files, const std::vector<PlanSource>& sources, size_t limit, size_t blockBytes)
    : m_files(files)
    , m_sources(sources)
    , m_limit(std::max<size_t>(limit, 1))
    , m_blocks(std::make_shared<io::BlockBuffers>(blockBytes))
{
}

Result<std::shared_ptr<const io::ReadFile>> SourcePool::open(uint32_t source)
{
    {
        const std::lock_guard lock(m_mutex);
        if (const auto found = m_open.find(source); found != m_open.end()) {
            m_recent.splice(m_recent.begin(), m_recent, found->second);
            return found->second->second;
        }
    }
    SHARDSCOPE_TRY(auto opened, m_files.openRead(m_sources[source].path));
    if (!isAsPlanned(opened->identity(), m_sources[source]))
        return changed(m_sources[source]);
    if (io::suitsDirectReading(*opened))
        opened = io::readPastPageCache(std::move(opened), m_blocks);
    const std::shared_ptr<const io::ReadFile> file = std::move(opened);
    const std::lock_guard lock(m_mutex);
    if (!m_open.contains(source)) {
        if (m_recent.size() >= m_limit) {
            m_open.erase(m_recent.back().first);
            m_recent.pop_back();
        }
        m_recent.emplace_front(source, file);
        m_open.emplace(source, m_recent.begin());
    }
    return file;
}

Status SourcePool::checkUnchanged()
{
    std::vector<io::Path> paths;
    for (const PlanSource& source : m_sources)
        paths.push_back(source.path);
    const auto infos = m_files.statAll(paths);
    for (size_t i = 0; i < infos.size(); ++i) {
        const auto& info = infos[i];
        if (!info && info.error().code != ErrorCode::NotFound)
            return forward(info.error());
        if (!info || !isAsPlanned(info->identity, m_sources[i]))
            return changed(m_sources[i]);
    }
    return {};
}

size_t SourcePool::limitFor(size_t workers)
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return 256;
    // Every worker has one source and one output open, the latter also for reading back; files that wait for
    // that are open, and the rest of the process needs some, too. For direct I/O a file is open twice.
    const size_t needed = 6 * workers + 64;
    const size_t all = limit.rlim_cur;
    return std::clamp<size_t>(all > needed ? (all - needed) / 3 : 1, 1, 256);
}

} // namespace shardscope
