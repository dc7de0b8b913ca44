// SPDX-License-Identifier: Apache-2.0
// The system may have no thread to give. What happens then is written once, in core/base/parallel.
#include "tests/support/places.h"
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

namespace {

namespace fs = std::filesystem;

bool startsThread(const std::string& line)
{
    static const std::regex kPattern(
        R"(std::j?thread\b(?!::hardware_concurrency)|std::async|pthread_create)");
    return std::regex_search(line, kPattern);
}

} // namespace

TEST_CASE("threads are started in one place")
{
    const fs::path root = shardscope::sourceFolder();
    size_t seen = 0;
    for (const char* const top : {"core", "app", "ui"}) {
        for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
            const std::string extension = entry.path().extension().string();
            if (extension != ".h" && extension != ".cpp" && extension != ".cu")
                continue;
            const std::string file = fs::relative(entry.path(), root).generic_string();
            const bool isThePlace = file == "core/base/parallel.h" || file == "core/base/parallel.cpp";
            std::ifstream stream(entry.path());
            size_t number = 0;
            for (std::string line; std::getline(stream, line);) {
                ++number;
                if (!startsThread(line))
                    continue;
                seen += isThePlace ? 1 : 0;
                if (!isThePlace)
                    FAIL_CHECK(file << ":" << number << ": use Thread (core/base/parallel.h)");
            }
        }
    }
    CHECK(seen > 0);
}

TEST_CASE("the check of threads sees one")
{
    CHECK(startsThread("    std::vector<std::jthread> threads;"));
    CHECK(startsThread("std::thread other(run);"));
    CHECK(!startsThread("    return std::thread::hardware_concurrency();"));
    CHECK(!startsThread("std::this_thread::sleep_for(pause);"));
}
