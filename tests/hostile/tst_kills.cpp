// SPDX-License-Identifier: Apache-2.0
// The program is killed (-9) at random moments of real reshards; the same command then gives the same bytes.
//   SHARDSCOPE_KILLS=1000       so many kills, over all sources
//   SHARDSCOPE_KILL_SOURCE=DIR  this checkpoint instead of the samples
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kKilled = 128 + SIGKILL;
constexpr int kCannotWrite = 5;

int killCount()
{
    const char* text = std::getenv("SHARDSCOPE_KILLS");
    return text != nullptr ? std::atoi(text) : 40;
}

struct Source {
    fs::path folder;
    std::vector<int> ranks; ///< 0: into a universal folder
};

std::vector<Source> sources()
{
    if (const char* path = std::getenv("SHARDSCOPE_KILL_SOURCE"))
        return {{path, {3, 7}}};
    return {{samplePath("zero3-w4"), {2, 6}}, {samplePath("zero2-w2"), {3, 1}}, {samplePath("zero1-w2"), {5}},
        {samplePath("bf16opt-w2"), {3, 0}}, {samplePath("pipeline-w4"), {2}},
        {samplePath("slices-w4"), {6, 0}}, {samplePath("experts-w4"), {6}}, {samplePath("stage0-fp16"), {3}}};
}

/// Path below `folder` → bytes, without what unfinished work keeps.
std::map<std::string, std::string> finished(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    if (!fs::exists(folder))
        return out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string path = fs::relative(entry.path(), folder).string();
        if (entry.is_regular_file() && path.find(".partial-") == std::string::npos)
            out[path] = slurp(entry.path());
    }
    return out;
}

/// One reshard or conversion, done once undisturbed.
class Victim
{
public:
    Victim(const fs::path& source, int ranks)
        : m_source(source)
        , m_ranks(ranks)
        , m_before(traceOf(source))
    {
        const auto start = Clock::now();
        REQUIRE(runProcess(command(m_folder / "undisturbed", 2)).exitCode == 0);
        m_whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
        m_wanted = finished(m_folder / "undisturbed");
        REQUIRE(m_wanted.size() > 2);
    }

    /// Kills up to three times in a row, then lets the command finish; how many kills came in time.
    int round(std::mt19937_64& random)
    {
        const fs::path target = m_folder / "out";
        fs::remove_all(target);
        int kills = 0;
        for (int times = 1 + static_cast<int>(random() % 3); times > 0; --times) {
            Process process(command(target, jobs(random)));
            std::this_thread::sleep_for(
                std::chrono::microseconds(random() % static_cast<uint64_t>(m_whole.count())));
            process.signal(SIGKILL);
            kills += process.wait().exitCode == kKilled ? 1 : 0;
            checkPromise(target);
        }
        const auto before = finished(target);
        const ProcessResult last = runProcess(command(target, jobs(random)));
        if (last.exitCode == kCannotWrite) // killed after the commit: there was nothing left to do
            CHECK(before == m_wanted);
        else
            CHECK(last.exitCode == 0);
        CHECK(finished(target) == m_wanted);
        return kills;
    }

private:
    [[nodiscard]] Words command(const fs::path& target, int jobs) const
    {
        if (m_ranks == 0)
            return {SHARDSCOPE_PROGRAM, "convert", m_source, target, "--to", "universal", "--jobs",
                std::to_string(jobs)};
        return {SHARDSCOPE_PROGRAM, "reshard", m_source, target, "--world-size", std::to_string(m_ranks),
            "--jobs", std::to_string(jobs)};
    }

    static int jobs(std::mt19937_64& random) { return 1 + static_cast<int>(random() % 3); }

    /// The source is as it was, and under the final name there is all or nothing.
    void checkPromise(const fs::path& target) const
    {
        CHECK(traceOf(m_source) == m_before);
        auto there = finished(target);
        for (const auto& [path, bytes] : m_wanted) {
            if (path.find('/') == std::string::npos)
                there.erase(path); // `latest` and its like follow the tag folder
        }
        for (const auto& [path, bytes] : there)
            CHECK(m_wanted.at(path) == bytes);
        if (!there.empty()) {
            for (const auto& [path, bytes] : m_wanted)
                CHECK((path.find('/') == std::string::npos || there.contains(path)));
        }
    }

    TemporaryFolder m_folder;
    fs::path m_source;
    int m_ranks;
    std::map<std::string, std::string> m_before;
    std::map<std::string, std::string> m_wanted;
    std::chrono::microseconds m_whole{};
};

} // namespace

TEST_CASE("killed at random moments, the same command gives the same bytes")
{
    const auto seed = std::random_device{}();
    INFO("seed ", seed);
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<Victim>> victims;
    for (const Source& source : sources()) {
        for (const int ranks : source.ranks)
            victims.push_back(std::make_unique<Victim>(source.folder, ranks));
    }
    int kills = 0;
    for (size_t next = 0; kills < killCount(); ++next)
        kills += victims[next % victims.size()]->round(random);
    MESSAGE(kills << " kills");
}
