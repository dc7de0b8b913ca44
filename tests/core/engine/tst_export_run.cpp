// SPDX-License-Identifier: Apache-2.0
// The engine on export plans: the naive writer's bytes, under DST itself, checked on the way in and out.
#include "core/checkpoint/open/open.h"
#include "core/engine/stream/memory_plan.h"
#include "core/engine/verify/verify_export.h"
#include "core/engine/verify/written_tensors.h"
#include "core/engine/write/execute.h"
#include "core/plan/export/export.h"
#include "tests/support/places.h"
#include "tests/support/plain_writer.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <map>
#include <tuple>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const io::Path kSamples = io::Path(sourceFolder()) / "tests/data/samples";

/// A sample, a plan to export it and a place for that.
struct Export {
    explicit Export(const char* sample, ExportOptions options = {})
        : source(folder / "run")
    {
        fs::copy(kSamples / sample, source, fs::copy_options::recursive);
        options.folderName = "out";
        auto opened = openCheckpoint(io::realFileSystem(), source, {}, job);
        REQUIRE(opened.has_value());
        auto made = planExport(io::realFileSystem(), opened->checkpoint, options, job);
        REQUIRE_MESSAGE(made.has_value(), (made ? "" : describe(made.error())));
        plan = std::move(*made);
    }

    [[nodiscard]] ExecuteOptions options() const
    {
        ExecuteOptions out;
        out.destination = folder.path();
        out.sourceRunFolder = source;
        out.jobs = 2;
        return out;
    }
    [[nodiscard]] fs::path target() const { return folder / "out"; }
    Result<ExecuteReport> run(const ExecuteOptions& how)
    {
        return execute(io::realFileSystem(), *plan, how, job);
    }
    Result<ExecuteReport> run() { return run(options()); }

    void checkWritten() const
    {
        for (size_t i = 0; i < plan->files.size(); ++i)
            CHECK(slurp(target() / plan->files[i].path) == plainBytes(*plan, i));
        for (const auto& entry : fs::directory_iterator(folder.path()))
            CHECK((entry.path().filename() == "out" || entry.path() == source));
    }

    TemporaryFolder folder{TemporaryFolder::Where::Memory};
    io::Path source;
    JobContext job;
    WritePlanPtr plan;
};

/// Name → dtype, shape and bytes of all tensors in files of one stem.
std::map<std::string, std::tuple<DType, Shape, std::string>> contentOf(
    const fs::path& folder, const std::string& stem, const std::string& extension)
{
    std::map<std::string, std::tuple<DType, Shape, std::string>> out;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(stem) || entry.path().extension() != extension)
            continue;
        JobContext job;
        const auto tensors = writtenTensors(io::realFileSystem(), entry.path(), job);
        REQUIRE_MESSAGE(tensors.has_value(), (tensors ? "" : describe(tensors.error())));
        const std::string bytes = slurp(entry.path());
        for (const SafeTensor& tensor : *tensors)
            CHECK(out.try_emplace(tensor.name, tensor.dtype, tensor.shape,
                         bytes.substr(tensor.byteOffset, tensor.bytes))
                      .second);
    }
    return out;
}

/// Runs the plan until that point, and checks that no output was published.
template <class Reached>
void stopWhere(const Export& bench, Reached reached)
{
    std::stop_source stop;
    JobContext job(stop.get_token(), [&](const Progress& progress) {
        if (reached(progress))
            stop.request_stop();
    });
    const auto stopped = execute(io::realFileSystem(), *bench.plan, bench.options(), job);
    REQUIRE_FALSE(stopped);
    CHECK(stopped.error().code == ErrorCode::Cancelled);
    CHECK(!fs::exists(bench.target()));
}

} // namespace

TEST_CASE("an export has the bytes of the naive writer, for any number of jobs")
{
    for (const char* name :
        {"zero2-w2", "zero3-w4", "zenflow-w2", "slices-w4", "pipeline-w4", "experts-w4"}) {
        for (const unsigned jobs : {1u, 3u}) {
            CAPTURE(std::string(name));
            CAPTURE(jobs);
            Export bench(name, {.dtype = DType::BFloat16, .shardBytes = 2000, .states = {"exp_avg"}});
            ExecuteOptions options = bench.options();
            options.jobs = jobs;
            const auto report = bench.run(options);
            REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
            CHECK(report->verified);
            CHECK(report->output == bench.target());
            CHECK(report->fingerprint.empty());
            CHECK(bench.plan->files.size() > 3);
            bench.checkWritten();
            CHECK(fs::exists(bench.target() / "shardscope.json"));
        }
    }
}

TEST_CASE("files in torch's form hold the same tensors, each found by torch's own rules")
{
    for (const char* name : {"zero2-w2", "zero3-w4", "slices-w4", "zenflow-w2"}) {
        CAPTURE(std::string(name));
        ExportOptions options{.dtype = DType::Float16, .states = {"exp_avg"}};
        Export plain(name, options);
        REQUIRE(plain.run().has_value());
        options.format = ExportFormat::Torch;
        for (const uint64_t most : {kDefaultShardBytes, uint64_t{1000}}) {
            options.shardBytes = most;
            Export bench(name, options);
            const auto report = bench.run();
            REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
            CHECK(report->verified);
            bench.checkWritten();
            CHECK(fs::exists(bench.target() / "pytorch_model.bin") == (most == kDefaultShardBytes));
            CHECK(fs::exists(bench.target() / "pytorch_model.bin.index.json") == (most < kDefaultShardBytes));
            for (const std::string state : {"model", "exp_avg"}) {
                const auto expected = contentOf(plain.target(), state, ".safetensors");
                CHECK(expected.size() > 10);
                CHECK(contentOf(bench.target(), state == "model" ? "pytorch_model" : state, ".bin")
                    == expected);
            }
        }
    }
}

TEST_CASE("dtypes without a torch storage class are refused by name")
{
    TemporaryFolder folder;
    JobContext job;
    auto opened = openCheckpoint(io::realFileSystem(), kSamples / "zero2-w2", {}, job);
    REQUIRE(opened.has_value());
    const auto plan = planExport(io::realFileSystem(), opened->checkpoint,
        {.format = ExportFormat::Torch, .dtype = DType::Float8E4M3, .folderName = "out"}, job);
    REQUIRE_FALSE(plan.has_value());
    CHECK(plan.error().code == ErrorCode::Unsupported);
    CHECK(plan.error().message.find("` of float8_e4m3fn") != std::string::npos);
}

TEST_CASE("NumPy files are written, read back by their own headers, and continued after a stop")
{
    for (const char* name : {"zero2-w2", "zero3-w4", "zenflow-w2"}) {
        CAPTURE(std::string(name));
        Export bench(name, {.format = ExportFormat::Npy, .states = {"exp_avg", "fp32"}});
        stopWhere(bench, [&](const Progress& progress) { return progress.bytesDone > 3000; });
        const auto report = bench.run();
        REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
        CHECK(report->verified);
        bench.checkWritten();
        CHECK(fs::is_directory(bench.target() / "exp_avg"));
    }
}

TEST_CASE("a distributed checkpoint is written, read back by its metadata, and continued after a stop")
{
    for (const char* name : {"zero2-w2", "zero3-w4", "zenflow-w2", "stage0-fp32"}) {
        CAPTURE(std::string(name));
        Export bench(name, {.format = ExportFormat::Dcp});
        stopWhere(bench, [&](const Progress& progress) { return progress.bytesDone > 30000; });
        const auto report = bench.run();
        REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
        CHECK(report->verified);
        bench.checkWritten();
    }
    Export bench("zero2-w2", {.format = ExportFormat::Dcp});
    plainWrite(*bench.plan, bench.folder.path());
    const auto opinion = [&] {
        return exportHooks().openOutput(io::realFileSystem(), bench.target(), *bench.plan, bench.job);
    };
    REQUIRE(opinion().has_value());
    const std::string metadata = slurp(bench.target() / ".metadata");
    for (const auto& [from, to] : {std::pair<std::string, std::string>{"__0_1.distcp", "__0_2.distcp"},
             {"__0_2.distcp", "__0_X.distcp"}, {"norm.weight", "norm.Weight"}}) {
        std::string other = metadata;
        spill(bench.target() / ".metadata", other.replace(other.find(from), from.size(), to));
        CHECK_FALSE(opinion().has_value());
    }
}

TEST_CASE("the minimum memory gives the same bytes in every form")
{
    for (const ExportFormat format :
        {ExportFormat::Safetensors, ExportFormat::Torch, ExportFormat::Npy, ExportFormat::Dcp}) {
        CAPTURE(exportFormatName(format));
        Export bench("zero3-w4", {.format = format});
        ExecuteOptions options = bench.options();
        options.memoryLimitBytes = MemoryPlan::kMin;
        const auto report = bench.run(options);
        REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
        CHECK(report->peakBufferBytes <= MemoryPlan::kMin);
        bench.checkWritten();
    }
}

TEST_CASE("DST may exist with other files, which are never changed")
{
    Export bench("zero2-w2");
    fs::create_directory(bench.target());
    spill(bench.target() / "other", "x");
    fs::create_directory(bench.target() / "folder");
    REQUIRE(bench.run().has_value());
    bench.checkWritten();
    const auto again = bench.run();
    REQUIRE(again.has_value());
    CHECK(again->wasDone);

    spill(bench.target() / bench.plan->files.front().path, "of another export");
    ExecuteOptions options = bench.options();
    options.force = true;
    REQUIRE(bench.run(options).has_value());
    bench.checkWritten();
    CHECK(slurp(bench.target() / "other") == "x");
    CHECK(fs::is_directory(bench.target() / "folder"));
}

TEST_CASE("DST must be outside the source, and may be next to it")
{
    Export bench("zero2-w2");
    const auto refused = [&](const fs::path& folder) {
        ExecuteOptions options = bench.options();
        options.destination = folder;
        const auto report = bench.run(options);
        REQUIRE_FALSE(report.has_value());
        CHECK(report.error().code == ErrorCode::Usage);
        CHECK(!fs::exists(folder / "out"));
    };
    refused(bench.source);
    refused(bench.source / "global_step6");
    fs::create_directory_symlink(bench.source, bench.folder / "link");
    refused(bench.folder / "link");
    fs::remove(bench.folder / "link");
    // A target that is the source, or around it.
    fs::create_directory_symlink(bench.folder.path(), bench.folder / "out");
    const auto around = bench.run();
    REQUIRE_FALSE(around.has_value());
    CHECK(around.error().code == ErrorCode::Usage);
    fs::remove(bench.folder / "out");
    CHECK(bench.run().has_value());
}

TEST_CASE("a stop leaves only the work folder; the same call continues")
{
    for (const std::string phase : {"writing", "checking the source", "verifying"}) {
        CAPTURE(phase);
        Export bench("zero2-w2", {.shardBytes = 1000});
        stopWhere(bench, [&](const Progress& progress) { return progress.phase == phase; });
        const auto report = bench.run();
        REQUIRE_MESSAGE(report.has_value(), (report ? "" : describe(report.error())));
        CHECK(report->bytesWritten + report->bytesReused == bench.plan->writesBytes);
        bench.checkWritten();
    }
}

TEST_CASE("a source with a flipped bit is refused although every element is cast")
{
    for (const char* name : {"zero2-w2", "zenflow-w2"}) {
        CAPTURE(std::string(name));
        Export bench(name, {.dtype = DType::BFloat16});
        // In the middle of a record with cast elements.
        const auto cursor = bench.plan->recipe(0)->records.at(1).cursor();
        Segment segment;
        while (!segment.isConverted())
            REQUIRE(cursor->next(segment));
        const PlanSource& source = bench.plan->sources[segment.source];
        const ZipRecord& record = source.records[segment.record];
        std::string bytes = slurp(source.path);
        bytes[record.payloadOffset + record.bytes / 2] ^= 1;
        spill(source.path, bytes);
        // A plan that is made now takes the file for what it is.
        auto opened = openCheckpoint(io::realFileSystem(), bench.source, {}, bench.job);
        REQUIRE(opened.has_value());
        auto plan
            = planExport(io::realFileSystem(), opened->checkpoint, bench.plan->exported->options, bench.job);
        REQUIRE(plan.has_value());
        const auto report = execute(io::realFileSystem(), **plan, bench.options(), bench.job);
        REQUIRE_FALSE(report.has_value());
        CHECK(report.error().code == ErrorCode::Damaged);
        CHECK(!fs::exists(bench.target()));
    }
}

TEST_CASE("verification after writing refuses files that differ from the plan")
{
    Export bench("zero2-w2", {.shardBytes = 4000, .states = {"exp_avg"}});
    plainWrite(*bench.plan, bench.folder.path());
    const auto opinion = [&](const io::Path& folder) {
        return exportHooks().openOutput(io::realFileSystem(), folder, *bench.plan, bench.job);
    };
    const auto changed = [&](const std::string& file, const std::string& from, const std::string& to) {
        const fs::path copy = bench.folder / "changed";
        fs::remove_all(copy);
        fs::copy(bench.target(), copy);
        std::string bytes = slurp(copy / file);
        const size_t at = bytes.find(from);
        REQUIRE(at != std::string::npos);
        REQUIRE(from.size() == to.size());
        spill(copy / file, bytes.replace(at, from.size(), to));
        const auto found = opinion(copy);
        REQUIRE_FALSE(found.has_value());
        CHECK(found.error().code == ErrorCode::VerifyFailed);
    };
    REQUIRE(opinion(bench.target()).has_value());
    const std::string first = bench.plan->files.front().path;
    changed(first, "\"BF16\"", "\"F16\" ");
    changed(first, "norm.weight", "norm.Weight");
    changed(first, "[8]", "[9]");
    changed("exp_avg-00001-of-00004.safetensors", "norm.", "morn.");
    changed("model.safetensors.index.json", "00001-of", "00002-of");
    changed("exp_avg.safetensors.index.json", "\"norm.", "\"morn.");
    fs::remove(bench.target() / first);
    CHECK_FALSE(opinion(bench.target()).has_value());
}

TEST_CASE("verification after writing refuses NumPy files that differ from the plan")
{
    Export bench("zero2-w2", {.format = ExportFormat::Npy, .states = {"exp_avg"}});
    plainWrite(*bench.plan, bench.folder.path());
    const auto opinion = [&] {
        return exportHooks().openOutput(io::realFileSystem(), bench.target(), *bench.plan, bench.job);
    };
    const auto changed = [&](const std::string& file, const std::string& from, const std::string& to) {
        const std::string bytes = slurp(bench.target() / file);
        std::string other = bytes;
        const size_t at = other.find(from);
        REQUIRE(at != std::string::npos);
        spill(bench.target() / file, other.replace(at, from.size(), to));
        CHECK_FALSE(opinion().has_value());
        spill(bench.target() / file, bytes);
    };
    REQUIRE(opinion().has_value());
    changed("norm.weight.npy", "<V2", "<V1");
    changed("norm.weight.npy", "(16,)", "(61,)");
    changed("exp_avg/norm.weight.npy", "<f4", "<i4");
    changed("index.json", "\"norm.weight\"", "\"norm.width\"");
    changed("index.json", "bfloat16", "float16");
    changed("index.json", "norm.weight.npy", "norm.bias.npy");
    fs::remove(bench.target() / "exp_avg/norm.bias.npy");
    CHECK_FALSE(opinion().has_value());
}
