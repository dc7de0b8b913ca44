// SPDX-License-Identifier: Apache-2.0
// The program is killed (-9) at random moments of every verb that writes; the same command then gives the
// same bytes.
//   SHARDSCOPE_KILLS=1000       so many kills, over all sources
//   SHARDSCOPE_KILL_SEED=N      the same choices again as in the run that printed this seed
//   SHARDSCOPE_KILL_SOURCE=DIR  this checkpoint instead of the samples
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kKilled = 128 + SIGKILL;
constexpr int kCannotWrite = 5;

uint64_t killSeed()
{
    const char* text = std::getenv("SHARDSCOPE_KILL_SEED");
    return text != nullptr ? std::strtoull(text, nullptr, 10) : std::random_device{}();
}

int killCount()
{
    const char* text = std::getenv("SHARDSCOPE_KILLS");
    return text != nullptr ? std::atoi(text) : 40;
}

/// A verb with its options.
struct Work {
    Words words;
    bool alone = false; ///< the target is a folder by itself, without tag and pointer
    bool isFile = false; ///< the target is one file
    bool isThere = false; ///< the target is a folder that holds another file
    bool isPlanned = false; ///< the verb is saved as a plan first, and `run` is killed
};

Work reshardTo(int ranks)
{
    return {{"reshard", "--world-size", std::to_string(ranks)}};
}
const Work kUniversal{{"convert", "--to", "universal"}};
const Work kDistributed{{"convert", "--to", "dcp"}, true};
const Work kSafetensors{
    {"export", "--format", "safetensors", "--shard-size", "2000", "--states", "exp_avg"}, true};
const Work kTorch{{"export", "--format", "torch", "--dtype", "fp16", "--shard-size", "2000"}, true};
const Work kRepair{{"repair", "--fix", "rank-missing"}};
const Work kSkeleton{{"skeleton"}, true, true};
const Work kPlanned{.words = {"reshard", "--world-size", "3"}, .isPlanned = true};
const Work kIntoFolder{
    .words = {"export", "--format", "safetensors", "--shard-size", "2000"}, .alone = true, .isThere = true};
const Work kNpy{{"export", "--format", "npy", "--states", "fp32,exp_avg"}, true};

struct Source {
    fs::path folder;
    std::vector<Work> works;
};

/// A sample without the optimizer file of rank 1.
fs::path withoutRank(const std::string& name)
{
    static const TemporaryFolder kFolder;
    if (fs::exists(kFolder / name))
        return kFolder / name;
    const fs::path run = copySample(name, kFolder);
    const fs::path tag = run / slurp(run / "latest");
    for (const std::string prefix : {"", "bf16_"})
        fs::remove(tag / (prefix + "zero_pp_rank_1_mp_rank_00_optim_states.pt"));
    return run;
}

std::vector<Source> sources()
{
    if (const char* path = std::getenv("SHARDSCOPE_KILL_SOURCE"))
        return {{path, {reshardTo(3), reshardTo(7), kSafetensors, kDistributed}}};
    return {{samplePath("zero3-w4"), {reshardTo(2), reshardTo(6), kSafetensors, kDistributed}},
        {samplePath("zero2-w2"), {reshardTo(3), reshardTo(1), kNpy, kSkeleton, kPlanned, kIntoFolder}},
        {withoutRank("zero2-w2"), {kRepair}}, {samplePath("zero1-w2"), {reshardTo(5)}},
        {samplePath("bf16opt-w2"), {reshardTo(3), kUniversal}}, {samplePath("pipeline-w4"), {reshardTo(2)}},
        {samplePath("slices-w4"), {reshardTo(6), kUniversal, kTorch}},
        {samplePath("experts-w4"), {reshardTo(6)}}, {samplePath("stage0-fp16"), {reshardTo(3)}}};
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

/// One verb that writes, run once undisturbed.
class Victim
{
public:
    Victim(const fs::path& source, Work work)
        : m_source(source)
        , m_work(std::move(work))
        , m_before(traceOf(source))
    {
        makeTarget(m_folder / "undisturbed");
        if (m_work.isPlanned) {
            Words plan = words({"plan", m_work.words.front(), m_source, m_folder / "out"});
            plan.insert(plan.end(), {"-o", m_folder / "plan.json"});
            REQUIRE(runProcess(plan).exitCode == 0);
        }
        const auto start = Clock::now();
        REQUIRE(runProcess(command(m_folder / "undisturbed", 2)).exitCode == 0);
        m_whole = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start);
        m_wanted = finished(m_folder / "undisturbed");
        REQUIRE((m_work.isFile ? m_wanted.size() == 1 : m_wanted.size() > 2));
    }

    /// Kills up to three times in a row, then lets the command finish; how many kills came in time.
    int round(std::mt19937_64& random)
    {
        const fs::path target = m_folder / "out";
        fs::remove_all(target);
        makeTarget(target);
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

    /// The same for several processes that each write a part, and for the one that finishes the job.
    int roundOfParts(std::mt19937_64& random)
    {
        constexpr size_t kParts = 3;
        const fs::path target = m_folder / "out";
        fs::remove_all(target);
        const auto part = [&](size_t i) {
            return command(
                target, jobs(random), {"--part", std::to_string(i) + "/" + std::to_string(kParts)});
        };
        int kills = 0;
        const auto killAll = [&](const std::vector<Words>& commands) {
            std::vector<std::unique_ptr<Process>> processes;
            for (const Words& words : commands)
                processes.push_back(std::make_unique<Process>(words));
            std::this_thread::sleep_for(
                std::chrono::microseconds(random() % static_cast<uint64_t>(m_whole.count())));
            for (const auto& process : processes)
                process->signal(SIGKILL);
            for (const auto& process : processes)
                kills += process->wait().exitCode == kKilled ? 1 : 0;
            checkPromise(target);
        };
        for (int times = 1 + static_cast<int>(random() % 3); times > 0; --times)
            killAll({part(0), part(1), part(2)});
        for (size_t i = kParts; i-- > 0;)
            CHECK(runProcess(part(i)).exitCode == 0);
        killAll({command(target, 1, {"--finish"})});
        const auto before = finished(target);
        const ProcessResult last = runProcess(command(target, jobs(random), {"--finish"}));
        CHECK((last.exitCode == 0 || (last.exitCode == kCannotWrite && before == m_wanted)));
        CHECK(finished(target) == m_wanted);
        return kills;
    }
    [[nodiscard]] bool hasParts() const
    {
        return !m_work.isFile && !m_work.isThere && !m_work.isPlanned && m_work.words.front() != "repair";
    }

private:
    void makeTarget(const fs::path& target) const
    {
        if (m_work.isFile || m_work.isThere)
            fs::create_directories(target);
        if (m_work.isThere)
            spill(target / "other.txt", "not of the export");
    }

    /// `begin` of a command line, with the verb's options.
    [[nodiscard]] Words words(const Words& begin) const
    {
        Words out{programPath()};
        out.insert(out.end(), begin.begin(), begin.end());
        out.insert(out.end(), m_work.words.begin() + 1, m_work.words.end());
        return out;
    }

    [[nodiscard]] Words command(const fs::path& target, int jobs, const Words& more) const
    {
        Words out = command(target, jobs);
        out.insert(out.end(), more.begin(), more.end());
        return out;
    }

    [[nodiscard]] Words command(const fs::path& target, int jobs) const
    {
        const std::string workers = std::to_string(jobs);
        if (m_work.isPlanned)
            return {programPath(), "run", m_folder / "plan.json", target, "--jobs", workers};
        if (m_work.isFile) // by one thread
            return words({m_work.words.front(), m_source, target / "written.zip"});
        return words({m_work.words.front(), m_source, target, "--jobs", workers});
    }

    static int jobs(std::mt19937_64& random) { return 1 + static_cast<int>(random() % 3); }

    /// The source is unchanged, and the output is complete or absent.
    void checkPromise(const fs::path& target) const
    {
        CHECK(traceOf(m_source) == m_before);
        auto there = finished(target);
        // `latest` and similar files follow the tag folder.
        const auto follows
            = [&](const std::string& path) { return !m_work.alone && path.find('/') == std::string::npos; };
        for (const auto& [path, bytes] : m_wanted) {
            if (follows(path))
                there.erase(path);
        }
        for (const auto& [path, bytes] : there)
            CHECK(m_wanted.at(path) == bytes);
        if (m_work.isThere) {
            // Files come one by one; the manifest, without which nothing is believed, comes last.
            CHECK(there.contains("other.txt"));
            if (!there.contains("shardscope.json"))
                return;
        }
        if (!there.empty()) {
            for (const auto& [path, bytes] : m_wanted)
                CHECK((follows(path) || there.contains(path)));
        }
    }

    TemporaryFolder m_folder;
    fs::path m_source;
    Work m_work;
    std::map<std::string, std::string> m_before;
    std::map<std::string, std::string> m_wanted;
    std::chrono::microseconds m_whole{};
};

std::vector<std::unique_ptr<Victim>> victims()
{
    std::vector<std::unique_ptr<Victim>> out;
    for (const Source& source : sources()) {
        for (const Work& work : source.works)
            out.push_back(std::make_unique<Victim>(source.folder, work));
    }
    return out;
}

void killAtRandom(
    const std::vector<std::unique_ptr<Victim>>& victims, int (Victim::*round)(std::mt19937_64& random))
{
    const uint64_t seed = killSeed();
    MESSAGE("SHARDSCOPE_KILL_SEED=" << seed);
    std::mt19937_64 random(seed);
    int kills = 0;
    for (size_t next = 0; kills < killCount(); ++next)
        kills += ((*victims[next % victims.size()]).*round)(random);
    MESSAGE(kills << " kills");
}

} // namespace

TEST_CASE("killed at random moments, the same command gives the same bytes")
{
    killAtRandom(victims(), &Victim::round);
}

TEST_CASE("killed at random moments, all processes of a job, the same commands give the same bytes")
{
    auto of = victims();
    std::erase_if(of, [](const auto& victim) { return !victim->hasParts(); });
    killAtRandom(of, &Victim::roundOfParts);
}
