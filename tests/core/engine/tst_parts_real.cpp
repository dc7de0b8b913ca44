// SPDX-License-Identifier: Apache-2.0
// Plans from real checkpoints of every kind, written in parts, by several processes, and emitted file by
// file: the bytes of one process.
#include "core/checkpoint/open/open.h"
#include "core/engine/parts/emit.h"
#include "core/engine/write/execute.h"
#include "core/engine/write/part_run.h"
#include "core/plan/export/export.h"
#include "core/plan/reshard/reshard.h"
#include "tests/core/engine/execute_fixture.h"
#include "tests/support/places.h"
#include "tests/support/thread_peers.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";
/// Cuts inside of records of these small files.
constexpr PieceSizes kTiny{.cutBytes = 256, .pieceBytes = 1024};

CheckpointPtr open(const io::Path& path)
{
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), path, {}, job);
    REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
    return opened->checkpoint;
}

ExecuteOptions optionsOf(const io::Path& destination, const io::Path& source)
{
    ExecuteOptions out;
    out.destination = destination;
    out.sourceRunFolder = source;
    out.jobs = 2;
    out.pieces = kTiny;
    return out;
}

Result<ExecuteReport> together(const WritePlan& plan, const ExecuteOptions& asked, uint32_t count)
{
    return leadPeers(count, io::realFileSystem(), plan, asked, [&](const ExecuteOptions& options) {
        JobContext job;
        return execute(io::realFileSystem(), plan, options, job);
    });
}

void compareEmitted(
    const WritePlan& plan, const std::map<std::string, std::string>& expected, const std::string& fingerprint)
{
    JobContext job;
    std::vector<Emitted> all;
    for (uint32_t file = 0; file < plan.files.size(); ++file) {
        const std::string path = (io::Path(plan.targetName) / plan.files[file].path).lexically_normal();
        CAPTURE(path);
        std::string bytes;
        const auto emitted = emitFile(
            io::realFileSystem(), plan, file,
            [&](std::span<const uint8_t> chunk) -> Status {
                bytes.append(reinterpret_cast<const char*>(chunk.data()), chunk.size());
                return {};
            },
            {.jobs = file % 2 + 1, .memoryLimitBytes = uint64_t{64} << (10 + file % 3)}, job);
        REQUIRE_MESSAGE(emitted, describe(emitted.error()));
        REQUIRE(expected.contains(path));
        CHECK(bytes == expected.at(path));
        CHECK(emitted->bytes == bytes.size());
        all.push_back(*emitted);
    }
    all.push_back(all.front()); // by two processes
    const auto sum = combineEmitted(io::realFileSystem(), plan, all, {}, job);
    REQUIRE_MESSAGE(sum, describe(sum.error()));
    CHECK(sum->missing.empty());
    CHECK(sum->files == plan.files.size());
    CHECK(sum->fingerprint.value_or("") == fingerprint);
    std::erase_if(all, [&](const Emitted& each) { return each.file == plan.files.back().path; });
    const auto rest = combineEmitted(io::realFileSystem(), plan, all, {}, job);
    REQUIRE_MESSAGE(rest, describe(rest.error()));
    CHECK(rest->missing == std::vector{plan.files.back().path});
    CHECK(!rest->fingerprint);
}

void compare(const WritePlan& plan, const io::Path& source)
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    JobContext job;
    const auto whole = execute(io::realFileSystem(), plan, optionsOf(folder / "whole", source), job);
    REQUIRE_MESSAGE(whole, describe(whole.error()));
    const auto expected = treeOf(folder / "whole");
    compareEmitted(plan, expected, whole->fingerprint);
    for (const uint32_t count : {1u, 3u, 16u}) {
        CAPTURE(count);
        ExecuteOptions options = optionsOf(folder / ("parts" + std::to_string(count)), source);
        for (uint32_t index = count; index-- > 0;) {
            const auto part = executePart(io::realFileSystem(), plan, {index, count}, options, job);
            REQUIRE_MESSAGE(part, describe(part.error()));
        }
        options.finish = true;
        const auto report = execute(io::realFileSystem(), plan, options, job);
        REQUIRE_MESSAGE(report, describe(report.error()));
        CHECK(report->fingerprint == whole->fingerprint);
        CHECK(treeOf(options.destination) == expected);
    }
    for (const uint32_t count : {2u, 3u, 7u}) {
        CAPTURE(count);
        const ExecuteOptions options = optionsOf(folder / ("peers" + std::to_string(count)), source);
        const auto report = together(plan, options, count);
        REQUIRE_MESSAGE(report, describe(report.error()));
        CHECK(report->fingerprint == whole->fingerprint);
        CHECK(treeOf(options.destination) == expected);
    }
}

} // namespace

TEST_CASE("a reshard of every kind of source in parts has the bytes of one process")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "roundrobin-w3", "zenflow-w2",
             "pipeline-w4", "experts-w4", "slices-w4", "muon-w3", "stage0-fp16", "zero2-universal-w2"}) {
        CAPTURE(std::string(name));
        const CheckpointPtr source = open(kSamples / name);
        const uint32_t replicas = source->parallel.tp * source->parallel.pp;
        const uint32_t ranks = replicas * (std::string(name).starts_with("experts") ? 2 : 3);
        JobContext job;
        const auto plan = planReshard(io::realFileSystem(), source, {.worldSize = ranks}, job);
        REQUIRE_MESSAGE(plan, describe(plan.error()));
        compare(**plan, source->runFolder);
    }
}

TEST_CASE("a universal checkpoint in parts has the bytes of one process")
{
    for (const char* name : {"zero2-w2", "zero3-w4", "pipeline-w4"}) {
        CAPTURE(std::string(name));
        const CheckpointPtr source = open(kSamples / name);
        JobContext job;
        const auto plan = planReshard(io::realFileSystem(), source, {.form = TargetForm::Universal}, job);
        REQUIRE_MESSAGE(plan, describe(plan.error()));
        compare(**plan, source->runFolder);
    }
}

TEST_CASE("exports in parts have the bytes of one process")
{
    const std::vector<ExportOptions> exports{
        {.dtype = DType::BFloat16, .shardBytes = 2000, .states = {"exp_avg"}},
        {.format = ExportFormat::Torch, .dtype = DType::Float16},
        {.format = ExportFormat::Npy, .states = {"exp_avg"}},
        {.format = ExportFormat::Dcp},
        {.dtype = DType::Float8E4M3},
    };
    for (const char* name : {"zero2-w2", "zero3-w4", "zenflow-w2"}) {
        const CheckpointPtr source = open(kSamples / name);
        for (size_t i = 0; i < exports.size(); ++i) {
            CAPTURE(std::string(name));
            CAPTURE(i);
            ExportOptions options = exports[i];
            options.folderName = "out";
            JobContext job;
            const auto plan = planExport(io::realFileSystem(), source, options, job);
            REQUIRE_MESSAGE(plan, describe(plan.error()));
            compare(**plan, source->runFolder);
        }
    }
}
