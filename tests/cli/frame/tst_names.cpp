// SPDX-License-Identifier: Apache-2.0
// Names that do not exist: usage errors that name the nearest one.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

std::string hintOf(const Words& words)
{
    const Json error = errorOf(words, 2, "usage");
    return error.at("hint").is_string() ? error.at("hint").get<std::string>() : std::string();
}

} // namespace

TEST_CASE("an unknown parameter in an address suggests the nearest one")
{
    const std::string run = samplePath("zero3-w4");
    const std::string right = "layers.0.attention.wo.weight";
    const std::string wrong = "layers.0.attention.wo.wieght";
    for (const std::string state : {"", "#fp32", "#exp_avg[0:2]"}) {
        for (const Words& words : {Words{"show", run, wrong + state}, Words{"stats", run, wrong + state},
                 Words{"layout", run, "--address", wrong + state}}) {
            CAPTURE(words[0] + " " + state);
            const Json error = errorOf(words, 2, "usage");
            CHECK(contains(error.at("message"), "no parameter `" + wrong + "`"));
            CHECK(error.at("hint") == "did you mean `" + right + "`?");
        }
    }
    CHECK(contains(hintOf({"layout", run, "--param", wrong}), "`" + right + "`"));
    CHECK(contains(hintOf({"show", run, "dp0.tp0"}), "dp0.tp0.pp0/group0+42"));
    CHECK(contains(hintOf({"show", run, right + "#fp32[3"}), "NAME#STATE[120:128]"));
}

TEST_CASE("a state that a parameter does not have names the nearest state")
{
    const std::string run = samplePath("zero3-w4");
    const std::string place = "layers.0.attention.wo.weight#exp_agv";
    CHECK(contains(hintOf({"show", run, place}), "`exp_avg`"));
    CHECK(contains(hintOf({"stats", run, place}), "`exp_avg`"));
    CHECK(contains(hintOf({"layout", run, "--address", place}), "`exp_avg`"));
    CHECK(contains(hintOf({"layout", run, "--address", "dp0.tp0.pp0/subgroup0+0@exp_agv"}), "`exp_avg`"));
}

TEST_CASE("export names the nearest state and the nearest parameter")
{
    const TemporaryFolder folder;
    const Words words{"export", samplePath("zero3-w4"), folder / "out", "--format", "safetensors", "-n"};
    const auto with = [&](const Words& more) {
        Words all = words;
        all.insert(all.end(), more.begin(), more.end());
        return hintOf(all);
    };
    CHECK(contains(with({"--states", "fp32,exp_agv"}), "did you mean `exp_avg`?"));
    CHECK(contains(with({"--only", "layers.0.attention.wo.wieght"}), "`layers.0.attention.wo.weight`"));
    CHECK(contains(with({"--only", "nothing*like_this"}), "shardscope params"));
}

TEST_CASE("check and repair name the nearest finding")
{
    const TemporaryFolder folder;
    const std::string run = samplePath("zero3-w4");
    CHECK(hintOf({"check", run, "--only", "rank-mising"}) == "did you mean `rank-missing`?");
    CHECK(hintOf({"check", run, "--skip", "step-mismatch,rank-mising"}) == "did you mean `rank-missing`?");
    CHECK(hintOf({"repair", run, folder / "out", "--fix", "rank-mising"}) == "did you mean `rank-missing`?");
    CHECK(hintOf({"repair", run, folder / "out", "--fix", "al"}) == "did you mean `all`?");
    CHECK(contains(hintOf({"check", run, "--only", "frobnicate"}), "check --list"));
}
