// SPDX-License-Identifier: Apache-2.0
#include "core/io/outage_watch.h"

#include <algorithm>
#include <mutex>
#include <string>
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

OutageWatch::OutageWatch(std::vector<Path> places)
    : OutageWatch()
{
    const std::lock_guard lock(watches().mutex);
    m_places = std::move(places);
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

void noteOutage(const Error& error, std::string_view host)
{
    const std::string begin = std::string(host) + ":";
    const auto concerns = [&](const OutageWatch& watch) {
        return host.empty() || !watch.m_places
            || std::ranges::any_of(
                *watch.m_places, [&](const Path& place) { return place.native().starts_with(begin); });
    };
    const std::lock_guard lock(watches().mutex);
    for (OutageWatch* watch : watches().all) {
        if (!watch->m_first && concerns(*watch))
            watch->m_first = error;
    }
}

} // namespace shardscope::io
