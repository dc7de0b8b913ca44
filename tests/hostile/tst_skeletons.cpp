// SPDX-License-Identifier: Apache-2.0
// Skeletons from untrusted sources: truncated, flipped and wrong ones are reported and cause no harm.
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/torch_archive_builder.h"

#include "core/checkpoint/open/open.h"
#include "core/torchfile/skeleton/skeleton_files.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::string skeletonOf(const char* sample, const TemporaryFolder& folder)
{
    const fs::path out = folder / "whole.zip";
    runVerb({"skeleton", samplePath(sample), out, "--force"}, 0);
    return slurp(out);
}

/// Opened in full through core: an answer or an error with a path, and never a crash.
bool opens(const fs::path& path)
{
    SkeletonFiles files(io::realFileSystem());
    JobContext job;
    const auto opened = openCheckpoint(files, path, {}, job);
    if (!opened)
        CHECK(!opened.error().message.empty());
    return opened.has_value();
}

} // namespace

TEST_CASE("a skeleton that is truncated anywhere is not a checkpoint")
{
    const TemporaryFolder folder;
    const std::string whole = skeletonOf("zero2-w2", folder);
    for (size_t i = 0; i < 64; ++i) {
        const size_t bytes = whole.size() * i / 64;
        CAPTURE(bytes);
        spill(folder / "cut.zip", whole.substr(0, bytes));
        CHECK(!opens(folder / "cut.zip"));
    }
    spill(folder / "cut.zip", whole.substr(0, whole.size() / 2));
    const Json error = runVerb({"inspect", folder / "cut.zip"}, 3);
    CHECK(error.at("code") == "damaged");
}

TEST_CASE("flipped bytes are reported or have no effect")
{
    const TemporaryFolder folder;
    const std::string whole = skeletonOf("zero3-w4", folder);
    size_t refused = 0;
    for (size_t i = 0; i < 300; ++i) {
        const size_t at = (i * 2654435761U) % whole.size();
        CAPTURE(at);
        std::string flipped = whole;
        flipped[at] = static_cast<char>(flipped[at] ^ (1 << (i % 8)));
        spill(folder / "flipped.zip", flipped);
        refused += opens(folder / "flipped.zip") ? 0 : 1;
    }
    CHECK(refused > 0);
}

TEST_CASE("a file of four exbibytes without content is reported as having no values")
{
    const TemporaryFolder folder;
    const std::string index = R"({"schema": "shardscope/skeleton/1", "tag": "t", "open": "run/t", "files": [
{"path": "run/t/mp_rank_00_model_states.pt", "bytes": 4611686018427387904, "mtime_ns": 0, "kept": [0, 600]},
{"path": "run/t/zero_pp_rank_0_mp_rank_00_optim_states.pt", "bytes": 70, "mtime_ns": 0, "kept": []}]})";
    for (const char filling : {'\0', 'P', '\x80'}) {
        const std::string kept = "PK\x03\x04" + std::string(596, filling);
        spill(folder / "false_size.zip",
            buildForeignArchive({{"skeleton/shardscope.txt", "about"}, {"skeleton/kept/0", kept},
                {"skeleton/check.json", "{}"}, {"skeleton/skeleton.json", index}}));
        const Json error = runVerb({"inspect", folder / "false_size.zip"}, 4);
        CHECK(error.at("message") == shardscope::kNoValues);
    }
}

TEST_CASE("a skeleton inside a checkpoint's folder is a file like others")
{
    const TemporaryFolder folder;
    const std::string whole = skeletonOf("zero2-w2", folder);
    const fs::path run = copySample("zero2-w2", folder);
    spill(run / "global_step6/x.zip", whole);
    const Json inspected = runVerb({"inspect", run}, 0);
    CHECK(inspected.at("skeleton") == false);
    runVerb({"reshard", run, folder / "dst", "--world-size", "1"}, 0);
}
