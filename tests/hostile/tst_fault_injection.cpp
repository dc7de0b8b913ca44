// SPDX-License-Identifier: Apache-2.0
// Every call to the file system that a real reshard or export makes, from opening the source to the last
// sync, fails once.
#include "tests/hostile/hostile_fixture.h"

#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "core/plan/repair/repair.h"
#include "core/plan/reshard/reshard.h"
#include "tests/support/faulting_file_system.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <string_view>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

/// What the job writes: a checkpoint for so many ranks, files of other tools, or a repaired copy.
struct Form {
    uint32_t ranks = 0;
    std::optional<ExportFormat> exported = {};
    /// What the source lacks: "rank-missing", or "latest-missing" where the newest tag lacks a rank, too.
    std::string_view repaired = {};
};

struct Job {
    fs::path source;
    fs::path destination;
    Form form;
};

/// Operations before the first write: every run of the command repeats them.
struct Prepared {
    WritePlanPtr plan;
    fs::path sourceRunFolder;
};

Result<Prepared> prepare(io::FileSystem& files, const Job& wanted)
{
    JobContext job;
    if (!wanted.form.repaired.empty()) {
        SHARDSCOPE_TRY(auto plan,
            planRepair(files, wanted.source, {}, {.fixes = {std::string(wanted.form.repaired)}}, job));
        return Prepared{plan, plan->repair->source->runFolder};
    }
    SHARDSCOPE_TRY(const OpenedCheckpoint opened, openCheckpoint(files, wanted.source, {}, job));
    if (wanted.form.exported) {
        SHARDSCOPE_TRY(auto plan,
            planExport(files, opened.checkpoint,
                {.format = *wanted.form.exported, .shardBytes = 4000, .folderName = "model"}, job));
        return Prepared{std::move(plan), opened.checkpoint->runFolder};
    }
    SHARDSCOPE_TRY(auto plan, planReshard(files, opened.checkpoint, {.worldSize = wanted.form.ranks}, job));
    return Prepared{std::move(plan), opened.checkpoint->runFolder};
}

Result<ExecuteReport> write(io::FileSystem& files, const Prepared& prepared, const Job& wanted)
{
    JobContext job;
    ExecuteOptions options;
    options.destination = wanted.destination;
    options.sourceRunFolder = prepared.sourceRunFolder;
    options.jobs = 1; // the same calls in the same order every time
    return execute(files, *prepared.plan, options, job);
}

Result<ExecuteReport> make(io::FileSystem& files, const Job& wanted)
{
    SHARDSCOPE_TRY(const Prepared prepared, prepare(files, wanted));
    return write(files, prepared, wanted);
}

/// Path below `folder` → bytes.
std::map<std::string, std::string> contentOf(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    if (!fs::exists(folder))
        return out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file())
            out[fs::relative(entry.path(), folder).string()] = slurp(entry.path());
    }
    return out;
}

bool isWorkFile(const std::string& path)
{
    return path.starts_with(".") && path.find(".partial-") != std::string::npos;
}

fs::path damagedCopy(const std::string& sample, const TemporaryFolder& folder, std::string_view damage)
{
    const fs::path run = copySample(sample, folder);
    const fs::path tag = run / slurp(run / "latest");
    for (const std::string prefix : {"", "bf16_"})
        fs::remove(tag / (prefix + "zero_pp_rank_1_mp_rank_00_optim_states.pt"));
    if (damage == "latest-missing")
        fs::remove(run / "latest");
    return run;
}

class Bench
{
public:
    Bench(const std::string& sample, Form form)
        : m_source(
            form.repaired.empty() ? copySample(sample, m_home) : damagedCopy(sample, m_home, form.repaired))
        , m_form(form)
        , m_before(traceOf(m_source))
    {
        const auto report = make(io::realFileSystem(), job("clean"));
        REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
        m_wanted = contentOf(m_folder / "clean");
        io::FaultingFileSystem counting(io::realFileSystem());
        REQUIRE(make(counting, job("counted")).has_value());
        m_calls = counting.callsSoFar();
        CHECK(contentOf(m_folder / "counted") == m_wanted);
        io::FaultingFileSystem preparing(io::realFileSystem());
        REQUIRE(prepare(preparing, job("counted")).has_value());
        m_callsBefore = preparing.callsSoFar();
        m_prepared = prepare(io::realFileSystem(), job("counted")).value();
        io::FaultingFileSystem writing(io::realFileSystem());
        REQUIRE(write(writing, m_prepared, job("again")).has_value());
        REQUIRE(m_callsBefore + writing.callsSoFar() == m_calls); // so that no call is left out below
    }

    [[nodiscard]] uint64_t calls() const { return m_calls; }

    void failAt(uint64_t call, int errorNumber, bool repeat)
    {
        CAPTURE(call);
        CAPTURE(errorNumber);
        CAPTURE(repeat);
        fs::remove_all(m_folder / "out");
        // Past the preparation, which changes nothing on disk, it need not be done again to fail the same
        // call.
        const bool early = call <= m_callsBefore;
        io::FaultingFileSystem files(io::realFileSystem(),
            {.callNumber = early ? call : call - m_callsBefore,
                .errnoValue = errorNumber,
                .repeat = repeat,
                .tornWrites = true});
        const auto report = early ? make(files, job("out")) : write(files, m_prepared, job("out"));
        CHECK(files.faultWasHit());
        if (!report)
            checkError(report.error(), errorNumber);
        checkPromise(report.has_value());
        auto before = contentOf(m_folder / "out");
        std::erase_if(before, [](const auto& file) { return isWorkFile(file.first); });
        const auto again = write(io::realFileSystem(), m_prepared, job("out"));
        // A run that failed only in removing its work folder after the commit leaves nothing to do: all was
        // there before.
        if (!again && again.error().code == ErrorCode::TargetExists)
            CHECK(before == m_wanted);
        else
            REQUIRE_MESSAGE(again.has_value(), (again ? "" : describe(again.error())));
        CHECK(contentOf(m_folder / "out") == m_wanted);
    }

private:
    [[nodiscard]] Job job(const std::string& destination) const
    {
        return {m_source, m_folder / destination, m_form};
    }

    static void checkError(const Error& error, int errorNumber)
    {
        CAPTURE(describe(error));
        const int exit = exitCode(error.code);
        // A file without permission is a fact that a plan may refuse; the other errors say nothing about it.
        CHECK((exit == 3 || exit == 5 || (exit == 6 && errorNumber == EACCES)));
        CHECK(error.message.size() > 10);
        CHECK(!error.path.empty());
    }

    /// The source is unchanged; the final name has the complete result or does not exist; `latest` names no
    /// other.
    void checkPromise(bool succeeded)
    {
        CHECK(traceOf(m_source) == m_before);
        auto found = contentOf(m_folder / "out");
        std::erase_if(found, [](const auto& file) { return isWorkFile(file.first); });
        if (succeeded) {
            CHECK(found == m_wanted);
            return;
        }
        const bool committed = std::any_of(found.begin(), found.end(),
            [](const auto& file) { return file.first.find('/') != std::string::npos; });
        for (const auto& [path, bytes] : found) {
            CAPTURE(path);
            REQUIRE(m_wanted.contains(path));
            CHECK(bytes == m_wanted.at(path));
        }
        if (!committed) {
            CHECK(!found.contains("latest"));
            return;
        }
        for (const auto& [path, bytes] : m_wanted) {
            CAPTURE(path);
            CHECK((found.contains(path) || path.find('/') == std::string::npos));
        }
    }

    TemporaryFolder m_home; ///< only for the source: a repair examines the files next to it
    TemporaryFolder m_folder;
    fs::path m_source;
    Form m_form;
    std::map<std::string, std::string> m_before;
    std::map<std::string, std::string> m_wanted;
    uint64_t m_calls = 0;
    uint64_t m_callsBefore = 0; ///< of them, before the first that could write
    Prepared m_prepared;
};

/// One of `parts` shares of the calls, so that parts can run in parallel.
void failEveryCall(const std::string& sample, Form form, uint64_t part, uint64_t parts)
{
    Bench bench(sample, form);
    REQUIRE(bench.calls() > 100);
    constexpr int kErrors[] = {EIO, ENOSPC, EMFILE, ESTALE, EACCES};
    // Every call fails once, with the errors in turn; SHARDSCOPE_FAULTS=all gives every call every error, and
    // lasting ones.
    const char* const wanted = std::getenv("SHARDSCOPE_FAULTS");
    const bool all = wanted != nullptr && std::string_view(wanted) == "all";
    for (uint64_t call = 1; call <= bench.calls(); ++call) {
        if (call / 8 % parts != part)
            continue;
        for (size_t i = 0; i < std::size(kErrors); ++i) {
            if (all || i == call % std::size(kErrors))
                bench.failAt(call, kErrors[i], false);
        }
        if (all || call % 8 == 0)
            bench.failAt(call, kErrors[call / 8 % std::size(kErrors)], true);
    }
}

} // namespace

TEST_CASE("any failing call keeps the promise: ZeRO-2, two ranks to three")
{
    failEveryCall("zero2-w2", {3}, 0, 1);
}

TEST_CASE("any failing call keeps the promise: ZeRO-3, four ranks to two, first half")
{
    failEveryCall("zero3-w4", {2}, 0, 2);
}

TEST_CASE("any failing call keeps the promise: ZeRO-3, four ranks to two, second half")
{
    failEveryCall("zero3-w4", {2}, 1, 2);
}

TEST_CASE("any failing call keeps the promise: an export in several files")
{
    failEveryCall("zero3-w4", {.exported = ExportFormat::Safetensors}, 0, 1);
}

TEST_CASE("any failing call keeps the promise: a share of a conversion to a distributed checkpoint")
{
    failEveryCall("zero2-w2", {.exported = ExportFormat::Dcp}, 3, 16);
}

TEST_CASE("any failing call keeps the promise: a repair")
{
    failEveryCall("zero2-w2", {.repaired = "rank-missing"}, 0, 1);
}

TEST_CASE("any failing call keeps the promise: a repair that chooses the tag")
{
    failEveryCall("zero2-w2", {.repaired = "latest-missing"}, 0, 1);
}
