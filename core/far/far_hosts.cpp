// SPDX-License-Identifier: Apache-2.0
// All hosts of the process, and how they are reached.
#include "core/far/far_host.h"
#include "core/far/far_path.h"
#include "core/objects/object_files.h"

#include <map>

namespace shardscope::far {

namespace {

struct Hosts {
    std::mutex mutex;
    std::map<std::string, FarHost> byName;
    FarSettings settings;
};

Hosts& hosts()
{
    static Hosts all;
    return all;
}

} // namespace

FarHost& farHost(const std::string& name)
{
    Hosts& all = hosts();
    const std::lock_guard lock(all.mutex);
    return all.byName.try_emplace(name, name).first->second;
}

void connectAgainTo(std::span<const io::Path> paths)
{
    for (const io::Path& path : paths) {
        if (const auto far = farPathOf(path))
            farHost(far->host).connectAgain();
    }
}

std::vector<std::pair<std::string, FarTraffic>> farTraffic()
{
    Hosts& all = hosts();
    const std::lock_guard lock(all.mutex);
    std::vector<std::pair<std::string, FarTraffic>> out;
    for (const auto& [name, host] : all.byName)
        out.emplace_back(name, host.traffic());
    return out;
}

void setFarSettings(FarSettings settings)
{
    Hosts& all = hosts();
    const std::lock_guard lock(all.mutex);
    objects::objectsAndOwnFiles().setStop(settings.stop);
    all.settings = std::move(settings);
}

FarSettings farSettings()
{
    Hosts& all = hosts();
    const std::lock_guard lock(all.mutex);
    return all.settings;
}

} // namespace shardscope::far
