// SPDX-License-Identifier: Apache-2.0
#include "core/io/outage_watch.h"

#include <mutex>
#include <vector>

namespace shardscope::io {

namespace {

struct Watches {
    std::mutex mutex;
    std::vector<OutageWatch*> all;
};

Watches& watches()
{
    static Watches instance;
    return instance;
}

} // namespace

OutageWatch::OutageWatch()
{
    const std::lock_guard lock(watches().mutex);
    watches().all.push_back(this);
}

OutageWatch::~OutageWatch()
{
    const std::lock_guard lock(watches().mutex);
    std::erase(watches().all, this);
}

Status OutageWatch::status() const
{
    const std::lock_guard lock(watches().mutex);
    if (m_first)
        return forward(*m_first);
    return {};
}

void noteOutage(const Error& error)
{
    const std::lock_guard lock(watches().mutex);
    for (OutageWatch* watch : watches().all) {
        if (!watch->m_first)
            watch->m_first = error;
    }
}

} // namespace shardscope::io
