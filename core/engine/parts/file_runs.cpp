// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parts/file_runs.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

namespace shardscope {

uint64_t newRun()
{
    std::random_device random;
    return (uint64_t{random()} << 32) | random();
}

io::FileIdentity withoutDevice(io::FileIdentity identity)
{
    identity.device = 0;
    return identity;
}

Result<io::FileIdentity> identityAt(io::FileSystem& files, const io::Path& path)
{
    const auto info = files.stat(path);
    if (!info && info.error().code == ErrorCode::NotFound)
        return io::FileIdentity();
    if (!info)
        return forward(info.error());
    return withoutDevice(info->identity);
}

bool waitForLaterTime(int64_t changedNs)
{
    using namespace std::chrono;
    constexpr int64_t kMillisecond = 1'000'000;
    const nanoseconds tick = changedNs % kMillisecond == 0 ? seconds(2) : nanoseconds(milliseconds(20));
    const nanoseconds now = system_clock::now().time_since_epoch();
    const nanoseconds wait = nanoseconds(changedNs) + tick - now;
    if (wait > seconds(2))
        return false; // the clock of the file server is ahead
    if (wait > nanoseconds(0))
        std::this_thread::sleep_for(wait);
    return true;
}

bool isAsLeft(std::vector<FileRun> runs, const io::FileIdentity& now)
{
    const auto begin = [](const FileRun& run) { return run.before.inode == 0 ? 0 : run.before.changedNs; };
    std::ranges::sort(runs, {}, begin);
    if (runs.empty() || runs.front().before.inode != 0)
        return false;
    io::FileIdentity last = runs.front().after;
    for (size_t i = 1; i < runs.size(); ++i) {
        const auto& [file, run, before, after] = runs[i];
        if (before.inode != now.inode || after.inode != now.inode || before.changedNs > last.changedNs
            || (before.changedNs == last.changedNs && before != last))
            return false;
        if (after.changedNs >= last.changedNs)
            last = after;
    }
    return last == now;
}

} // namespace shardscope
