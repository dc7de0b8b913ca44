// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/bench_figures.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <thread>

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace shardscope::bench {

Summary summarise(std::vector<double> figures)
{
    std::sort(figures.begin(), figures.end());
    const size_t middle = figures.size() / 2;
    const double median
        = figures.size() % 2 != 0 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2;
    return {median, figures.front(), figures.back()};
}

std::string machineState()
{
    double load = 0;
    if (::getloadavg(&load, 1) != 1)
        load = -1;
    struct sysinfo info {
    };
    ::sysinfo(&info);
    const double memory = static_cast<double>(info.totalram) * info.mem_unit / (1024.0 * 1024 * 1024);
    return fmt::format("{:%F %T}, {} processors, {:.0f} GiB of memory, load {:.1f}",
        fmt::localtime(std::time(nullptr)), std::thread::hardware_concurrency(), memory, load);
}

uint64_t bytesBelow(const io::Path& folder)
{
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            bytes += entry.file_size();
    }
    return bytes;
}

void forgetContents(const io::Path& folder)
{
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const int file = entry.is_regular_file() ? ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC) : -1;
        if (file < 0)
            continue;
        ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        ::close(file);
    }
}

} // namespace shardscope::bench
