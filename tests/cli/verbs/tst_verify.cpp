// SPDX-License-Identifier: Apache-2.0
// `verify` and the manifests that it reads.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fstream>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// `reshard tests/data/samples/zero1-w2 OUT -w 1`, written before fingerprints had version 2.
fs::path copyOfRelease01(const TemporaryFolder& folder)
{
    const fs::path run = folder / "run";
    fs::copy(
        fs::path(shardscope::sourceFolder()) / "tests/data/release-0.1", run, fs::copy_options::recursive);
    return run;
}

/// Changes one byte in the middle of a file.
void flip(const fs::path& path)
{
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto place = static_cast<std::streamoff>(fs::file_size(path) / 2);
    file.seekg(place);
    const int byte = file.get();
    file.seekp(place);
    file.put(static_cast<char>(byte ^ 1));
}

} // namespace

TEST_CASE("a checkpoint of release 0.1 is verified against its own manifest")
{
    const TemporaryFolder folder;
    const fs::path run = copyOfRelease01(folder);
    const Json answer = answerOf({"verify", run});
    CHECK(answer.at("manifest") == true);
    CHECK(answer.at("fingerprint_version") == 1);
    CHECK(answer.at("fingerprint") == "ddcb7add7980cefc39666a6969293813");
    CHECK(runShardscope({"verify", run}).out.find("SHA-256 of every file") != std::string::npos);
    const Json newer = answerOf({"fingerprint", run});
    CHECK(newer.at("fingerprint_version") == 2);
    CHECK(newer.at("fingerprint") != answer.at("fingerprint"));
    // The source has the same state in both versions.
    CHECK(answerOf({"verify", run, "--against", samplePath("zero1-w2")}).at("fingerprint_version") == 1);
    CHECK(answerOf({"fingerprint", samplePath("zero1-w2")}).at("fingerprint") == newer.at("fingerprint"));

    const Json tag = answerOf({"tags", run}).at("tags").at(0);
    CHECK(tag.at("fingerprint_version") == 1);
    CHECK(tag.at("fingerprint") == answer.at("fingerprint"));

    std::string manifest = slurp(run / "global_step7/shardscope.json");
    manifest.replace(manifest.find("ddcb7add"), 8, "00000000");
    spill(run / "global_step7/shardscope.json", manifest);
    const Json other = answerOf({"verify", run}, 1);
    CHECK(other.dump().find("the training state differs from the manifest") != std::string::npos);
}

TEST_CASE("a changed byte is found with either digest")
{
    const TemporaryFolder folder;
    for (const std::string option : {"", "--sha256"}) {
        CAPTURE(option);
        const fs::path run = folder / ("run" + option);
        Words words{"reshard", samplePath("zero3-w4"), run, "-w", "2", "--quiet"};
        if (!option.empty())
            words.push_back(option);
        REQUIRE(runShardscope(words).exitCode == 0);
        const Json manifest = Json::parse(slurp(run / "global_step5/shardscope.json"));
        for (const Json& file : manifest.at("files"))
            CHECK(file.at("digest").get<std::string>().starts_with(option.empty() ? "xxh3-128:" : "sha256:"));
        CHECK(answerOf({"verify", run}).at("fingerprint_version") == 2);
        const ProcessResult text = runShardscope({"verify", run});
        CHECK(text.out.find(option.empty() ? "XXH3-128 of every file" : "SHA-256 of every file")
            != std::string::npos);
        flip(run / "global_step5/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
        const Json damaged = answerOf({"verify", run}, 1);
        CHECK(damaged.dump().find("the file differs from the manifest") != std::string::npos);
    }
}

TEST_CASE("a fingerprint of a later release is not compared, and that is said")
{
    const TemporaryFolder folder;
    const fs::path run = folder / "run";
    REQUIRE(runShardscope({"reshard", samplePath("zero3-w4"), run, "-w", "2", "--quiet"}).exitCode == 0);
    const fs::path path = run / "global_step5/shardscope.json";
    std::string manifest = slurp(path);
    manifest.replace(manifest.find("\"fingerprint_version\": 2"), 24, "\"fingerprint_version\": 3");
    spill(path, manifest);
    const Json answer = answerOf({"verify", run}, 1);
    CHECK(answer.dump().find("newer definition") != std::string::npos);
    CHECK(answerOf({"tags", run}).at("tags").at(0).at("fingerprint").is_null());
}

TEST_CASE("an export has digests to compare and no CRC, and verify claims no other check")
{
    const TemporaryFolder folder;
    const fs::path out = folder / "out";
    REQUIRE(runShardscope(
                {"export", samplePath("zero2-w2"), out, "--format", "safetensors", "--sha256", "--quiet"})
                .exitCode
        == 0);
    const Json answer = answerOf({"verify", out});
    CHECK(answer.at("manifest_use") == "compared");
    CHECK(answer.at("digest") == "SHA-256");
    CHECK(answer.at("crc") == false);
    const std::string text = runShardscope({"verify", out}).out;
    CHECK(text.find("SHA-256 of every file against the manifest") != std::string::npos);
    CHECK(text.find("CRC") == std::string::npos);
}

TEST_CASE("a manifest that cannot be used is not absent, and nothing was compared with it")
{
    const TemporaryFolder folder;
    const fs::path run = copyOfRelease01(folder);
    const fs::path manifest = run / "global_step7/shardscope.json";
    spill(manifest, "{}");
    const Json damaged = answerOf({"verify", run}, 1);
    CHECK(damaged.at("manifest") == false);
    CHECK(damaged.at("manifest_use") == "damaged");
    CHECK(damaged.at("digest").is_null());
    CHECK(damaged.at("crc") == true);
    std::string text = runShardscope({"verify", run}).out;
    CHECK(text.find("the manifest (shardscope.json) is damaged") != std::string::npos);
    CHECK(text.find("of every file against the manifest") == std::string::npos);

    fs::remove(manifest);
    fs::create_symlink("shardscope.json", manifest); // to itself: ELOOP
    CHECK(answerOf({"verify", run}, 1).at("manifest_use") == "unreadable");
    text = runShardscope({"verify", run}).out;
    CHECK(text.find("the manifest (shardscope.json) cannot be read") != std::string::npos);
    CHECK(text.find("there is no manifest") == std::string::npos);

    fs::remove(manifest);
    CHECK(answerOf({"verify", run}).at("manifest_use") == "absent");
}

TEST_CASE("patterns of slices are for the other checkpoint, and need one")
{
    errorOf({"verify", samplePath("zero2-w2"), "--patterns", "patterns.json"}, 2, "usage");
}
