// SPDX-License-Identifier: Apache-2.0
#include "core/io/open_files.h"

#include <algorithm>

#include <sys/resource.h>

namespace shardscope::io {
namespace {

constexpr rlim_t kEnough = 16384;
constexpr rlim_t kOfProcess = 64; ///< libraries, displays, logs
constexpr size_t kFewest = 16;
constexpr size_t kMost = 1024;

} // namespace

void allowManyOpenFiles()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough)
        return;
    limit.rlim_cur = std::min(limit.rlim_max, kEnough);
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

size_t filesAtATime()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return kFewest;
    const rlim_t free = limit.rlim_cur > kOfProcess ? limit.rlim_cur - kOfProcess : 0;
    return std::clamp<size_t>(free / 2, kFewest, kMost);
}

} // namespace shardscope::io
