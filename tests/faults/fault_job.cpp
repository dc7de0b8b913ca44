// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/fault_job.h"

#include "tests/hostile/run_here.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>

#include <unistd.h>

namespace shardscope::test {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kMostSeconds = 120; ///< for one command; nothing here takes a second

bool isWorkFile(const std::string& path)
{
    return path.starts_with(".") && path.find(".partial-") != std::string::npos;
}

/// SIGALRM ends the program where a command hangs.
ProcessResult runInTime(const Words& words)
{
    ::alarm(kMostSeconds);
    ProcessResult out = runHere(words);
    ::alarm(0);
    return out;
}

/// Without the times that a check took.
std::string timeless(const std::string& answer)
{
    static const std::regex kTimes(R"re("seconds":\{[^}]*\})re");
    return std::regex_replace(answer, kTimes, "");
}

} // namespace

FaultBench::FaultBench()
    : m_source(copySample("zero2-w2", m_folder))
    , m_damaged(copySample("zero2-w2", m_home))
{
    const fs::path tag = m_damaged / slurp(m_damaged / "latest");
    fs::remove(tag / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    m_before = traceOf(m_source);
    m_damagedBefore = traceOf(m_damaged);
}

std::vector<FaultJob> FaultBench::writers(const std::string& jobs) const
{
    const std::string out = at("out");
    const Words reshard{"reshard", m_source, out, "-w", "3", "--jobs", jobs, "--json"};
    const auto with = [](Words words, std::initializer_list<std::string> more) {
        words.insert(words.end(), more);
        return words;
    };
    const std::vector<Words> parts{
        with(reshard, {"--part", "0/2"}), with(reshard, {"--part", "1/2"}), with(reshard, {"--finish"})};
    return {{"reshard", {reshard}, 0, out}, {"part", parts, 1, out}, {"finish", parts, 2, out},
        {"export",
            {{"export", m_source, out, "--format", "safetensors", "--shard-size", "4000", "--jobs", jobs,
                "--json"}},
            0, out},
        {"convert to universal", {{"convert", m_source, out, "--to", "universal", "--jobs", jobs, "--json"}},
            0, out},
        {"convert to dcp", {{"convert", m_source, out, "--to", "dcp", "--jobs", jobs, "--json"}}, 0, out},
        {"repair",
            {{"repair", m_damaged, out, "--fix", "rank-missing", "--moments", "zeros", "--jobs", jobs,
                "--json"}},
            0, out},
        {"ensure", {{"ensure", m_source, "-w", "3", "--into", out, "--jobs", jobs, "--json"}}, 0, out},
        {"ensure again",
            {{"ensure", m_source, "-w", "3", "--into", out, "--jobs", jobs, "--json"},
                {"ensure", m_source, "-w", "3", "--into", out, "--jobs", jobs, "--json"}},
            1, out}};
}

std::vector<FaultJob> FaultBench::readers(const std::string& jobs) const
{
    const auto job = [](Words words) {
        const std::string name = words.front();
        words.emplace_back("--json");
        return FaultJob{name, {std::move(words)}};
    };
    return {job({"tags", m_source, "--newest-complete"}), job({"tags", m_source}),
        job({"verify", m_source, "--jobs", jobs}), job({"check", m_source, "--jobs", jobs}),
        job({"check", m_damaged, "--jobs", jobs}), job({"diff", m_source, m_damaged, "--jobs", jobs}),
        job({"fingerprint", m_source, "--jobs", jobs}),
        job({"stats", m_source, kKnownParameter, "--jobs", jobs}), job({"inspect", m_source}),
        job({"inspect", m_damaged}), job({"files", m_source}), job({"params", m_source}),
        job({"show", m_source, kKnownParameter}), job({"clean", m_folder.path()})};
}

bool FaultBench::sourcesAreUnchanged() const
{
    return traceOf(m_source) == m_before && traceOf(m_damaged) == m_damagedBefore;
}

std::map<std::string, std::string> targetOf(const FaultJob& job)
{
    std::map<std::string, std::string> out;
    if (job.target.empty() || !fs::exists(job.target))
        return out;
    for (const auto& entry : fs::recursive_directory_iterator(job.target)) {
        const std::string path = fs::relative(entry.path(), job.target).string();
        if (entry.is_regular_file() && !isWorkFile(path))
            out[path] = slurp(entry.path());
    }
    return out;
}

void prepare(const FaultJob& job)
{
    if (!job.target.empty())
        fs::remove_all(job.target);
    for (size_t i = 0; i < job.faulty; ++i) {
        const ProcessResult result = runInTime(job.commands[i]);
        CAPTURE(result.out);
        REQUIRE(result.exitCode == 0);
    }
}

FaultOutcome runFaulty(const FaultJob& job)
{
    ProcessResult result = runInTime(job.commands[job.faulty]);
    return {result.exitCode, std::move(result.out), std::move(result.err), {}};
}

FaultOutcome runClean(const FaultJob& job)
{
    prepare(job);
    FaultOutcome out = runFaulty(job);
    for (size_t i = job.faulty + 1; i < job.commands.size(); ++i) {
        const ProcessResult result = runInTime(job.commands[i]);
        CAPTURE(result.out);
        REQUIRE(result.exitCode == 0);
    }
    out.files = targetOf(job);
    return out;
}

void checkOutcome(const FaultJob& job, const FaultOutcome& clean, const FaultOutcome& faulty,
    const std::vector<int>& allowed)
{
    const auto files = targetOf(job);
    CAPTURE(faulty.out.substr(0, 1500));
    CAPTURE(faulty.err.substr(0, 1500));
    CHECK((faulty.exit == clean.exit || std::ranges::find(allowed, faulty.exit) != allowed.end()));
    if (job.target.empty()) {
        if (faulty.exit == clean.exit)
            CHECK(timeless(faulty.out) == timeless(clean.out));
        return;
    }
    const bool isLast = job.faulty + 1 == job.commands.size();
    if (faulty.exit == 0 && isLast)
        CHECK(files == clean.files);
    for (const auto& [path, bytes] : files) {
        CAPTURE(path);
        REQUIRE(clean.files.contains(path));
        CHECK(bytes == clean.files.at(path));
    }
    for (size_t i = job.faulty; i < job.commands.size(); ++i) {
        const ProcessResult again = runInTime(job.commands[i]);
        CAPTURE(i);
        CAPTURE(again.out.substr(0, 1500));
        CHECK(again.exitCode == 0);
    }
    CHECK(targetOf(job) == clean.files);
}

} // namespace shardscope::test
