// SPDX-License-Identifier: Apache-2.0
// Diagnoses of folders and files: each damage on a copy of what stock DeepSpeed wrote.
#include "core/doctor/examine.h"
#include "tests/support/damages.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const fs::path kSamples = fs::path(sourceFolder()) / "tests/data/samples";

fs::path copyOf(const char* sample, const fs::path& to)
{
    fs::copy(kSamples / sample, to, fs::copy_options::recursive);
    return to;
}

fs::path tagOf(const fs::path& run)
{
    return run / slurp(run / "latest");
}

CheckResult check(const fs::path& path, CheckOptions options = {})
{
    JobContext job;
    auto result = examine(io::realFileSystem(), path, options, job);
    REQUIRE_MESSAGE(result.has_value(), (result ? "" : describe(result.error())));
    return std::move(*result);
}

CheckResult checkAt(const fs::path& path, CheckDepth depth)
{
    CheckOptions options;
    options.depth = depth;
    return check(path, options);
}

std::string shardName(const char* prefix, int rank)
{
    return std::string(prefix) + "zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_optim_states.pt";
}

} // namespace

TEST_CASE("L3: a wrong folder level is an info")
{
    CHECK(findingOf(check(kSamples / "zero2-w2"), "wrong-level") == nullptr);
    const auto inTag = checkAt(kSamples / "zero2-w2/global_step6", CheckDepth::Names);
    REQUIRE(findingOf(inTag, "wrong-level") != nullptr);
    CHECK(findingOf(inTag, "wrong-level")->finding.severity == Severity::Info);
}

TEST_CASE("R4: a tag newer than the pointer's, and a folder of an unfinished save")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero2-w2", folder / "run");
    CHECK(findingOf(check(run), "newer-tag") == nullptr);
    spill(run / "latest", "global_step3");
    CHECK(findingOf(check(run), "newer-tag") != nullptr);
    spill(run / "latest", "global_step6");
    fs::copy(run / "global_step6", run / "global_step6_universal", fs::copy_options::recursive);
    CHECK(findingOf(check(run), "newer-tag") == nullptr); // of the same step
    fs::create_directory(run / "tmp-checkpoint-7");
    CHECK(findingOf(check(run), "newer-tag") != nullptr);
}

TEST_CASE("L4: the rest of a save in another folder is found by opening both")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero2-w2", folder / "run");
    const std::string shard = shardName("bf16_", 1);
    fs::create_directory(run / "tmp-checkpoint-6");
    fs::rename(tagOf(run) / shard, run / "tmp-checkpoint-6" / shard);
    const auto result = check(run);
    const DoctorFinding& found = requireFinding(result, "split-shards");
    CHECK(found.command.ends_with(" DST --fix split-shards"));
    // The files there are from another step, not the rest of this save.
    fs::copy_file(
        run / "global_step3" / shard, run / "tmp-checkpoint-6" / shard, fs::copy_options::overwrite_existing);
    CHECK(findingOf(check(run), "split-shards") == nullptr);
}

TEST_CASE("L4: a save in as many folders as there were nodes is found whole")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero3-w4", folder / "node0");
    std::vector<std::string> folders;
    for (const int rank : {1, 2, 3}) {
        const fs::path other = folder / ("node" + std::to_string(rank)) / tagOf(run).filename();
        fs::create_directories(other);
        for (const std::string& name : {shardName("bf16_", rank),
                 "zero_pp_rank_" + std::to_string(rank) + "_mp_rank_00_model_states.pt"})
            fs::rename(tagOf(run) / name, other / name);
        folders.push_back("in " + fs::canonical(other).string());
    }
    const auto result = check(run);
    const DoctorFinding& found = requireFinding(result, "split-shards");
    const auto& evidence = found.finding.evidence;
    REQUIRE(evidence.size() == 5);
    CHECK(std::vector<std::string>(evidence.begin(), evidence.begin() + 3) == folders);
    CHECK(evidence[4].find("complete") != std::string::npos);
    fs::remove_all(folder / "node2");
    const auto fewer = check(run);
    REQUIRE(findingOf(fewer, "split-shards") != nullptr);
    CHECK(findingOf(fewer, "split-shards")->finding.evidence.back().find("still lack") != std::string::npos);
}

TEST_CASE("L5: missing blocks of ranks are reported as missing nodes, a single missing rank is not")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero3-w4", folder / "run");
    fs::remove(tagOf(run) / shardName("bf16_", 3));
    CHECK(findingOf(check(run), "node-local-shards") == nullptr);
    fs::remove(tagOf(run) / shardName("bf16_", 2));
    const auto result = check(run);
    REQUIRE(findingOf(result, "node-local-shards") != nullptr);
    CHECK(
        findingOf(result, "node-local-shards")->finding.evidence.back().find("2 to 3") != std::string::npos);
}

TEST_CASE("L10: layer files without layer 1 are an info")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("pipeline-w4", folder / "run");
    const bool had = findingOf(checkAt(run, CheckDepth::Names), "naming-assumption") != nullptr;
    for (const auto& entry : fs::directory_iterator(tagOf(run))) {
        if (entry.path().filename().string().starts_with("layer_01"))
            fs::remove(entry.path());
    }
    CHECK(findingOf(checkAt(run, CheckDepth::Names), "naming-assumption") != nullptr);
    CHECK(!had);
}

TEST_CASE("F1, F3: a truncated file is detected by its end, and reported once")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero2-w2", folder / "run");
    const fs::path shard = tagOf(run) / shardName("bf16_", 1);
    const std::string bytes = slurp(shard);
    REQUIRE(bytes.size() > 8192);
    spill(shard, bytes.substr(0, 8192));
    CHECK(troubles(checkAt(run, CheckDepth::Headers)) == std::set<std::string>{"file-torn", "cut-at-block"});
    const auto deep = check(run);
    CHECK(findingOf(deep, "cut-at-block") != nullptr);
    size_t torn = 0;
    for (const DoctorFinding& made : deep.findings)
        torn += made.finding.code == "file-torn" ? 1 : 0;
    CHECK(torn == 1);
    spill(shard, bytes.substr(0, 8193));
    CHECK(troubles(checkAt(run, CheckDepth::Headers)) == std::set<std::string>{"file-torn"});
    spill(shard, "");
    CHECK(troubles(checkAt(run, CheckDepth::Headers)) == std::set<std::string>{"file-torn", "cut-at-block"});
    CHECK(!troubles(check(run)).empty());
}

TEST_CASE("F4: a pointer of Git LFS or a page of HTML is named")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero2-w2", folder / "run");
    const fs::path shard = tagOf(run) / shardName("bf16_", 1);
    for (const char* text : {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
             "<!DOCTYPE html><html></html>"}) {
        spill(shard, text);
        CHECK(troubles(checkAt(run, CheckDepth::Headers)) == std::set<std::string>{"foreign-file"});
        CHECK(!troubles(check(run)).empty());
    }
}

TEST_CASE("R1, R2: missing memory and space are reported for a target")
{
    CheckOptions options;
    options.target.memoryBytes = 1000;
    CHECK(troubles(check(kSamples / "zero2-w2", options)) == std::set<std::string>{"memory-short"});
    const TemporaryFolder folder; // on a disk: in memory the file would be too long
    const fs::path run = copyOf("zero2-w2", folder / "run");
    spill(tagOf(run) / "notes.bin", "");
    fs::resize_file(tagOf(run) / "notes.bin", uint64_t{1} << 42); // no block of it is there
    CheckOptions elsewhere;
    elsewhere.target.disk = folder.path();
    CHECK(troubles(check(run, elsewhere)) == std::set<std::string>{"disk-short"});
    options.target.memoryBytes = uint64_t{1} << 30;
    options.target.disk = kSamples;
    CHECK(troubles(check(kSamples / "zero2-w2", options)).empty());
    CHECK(troubles(check(kSamples / "zero2-w2")).empty());
}

TEST_CASE("findings appear while they are found, and a stop keeps them")
{
    const TemporaryFolder folder;
    const fs::path run = copyOf("zero2-w2", folder / "run");
    fs::remove(tagOf(run) / shardName("bf16_", 1));
    std::stop_source stop;
    JobContext job(stop.get_token());
    std::vector<std::string> seen;
    const auto result = examine(io::realFileSystem(), tagOf(run), {}, job, [&](const DoctorFinding& made) {
        seen.emplace_back(made.finding.code);
        stop.request_stop();
    });
    REQUIRE(result);
    CHECK(result->stopped);
    CHECK(seen == std::vector<std::string>{"wrong-level"});
    CHECK(result->findings.size() == 1);
}
