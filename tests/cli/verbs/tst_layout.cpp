// SPDX-License-Identifier: Apache-2.0
// Positions in the answers of `layout`: fragments cover every element once, addresses translate, bytes hold
// the values.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include "core/base/text.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

uint64_t number(const Json& object, const char* key)
{
    return object.at(key).get<uint64_t>();
}

/// The float32 at a byte of a file, read without any of the code under test.
float floatAt(const std::filesystem::path& file, uint64_t offset)
{
    const std::string bytes = slurp(file);
    float value = 0;
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
}

} // namespace

TEST_CASE("partitions and padding add up")
{
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const Json groups = answerOf({"layout", samplePath(name)}).at("groups");
        REQUIRE(!groups.empty());
        for (const Json& group : groups) {
            uint64_t owned = 0;
            for (const Json& rank : group.at("ranks")) {
                owned += number(rank, "elements");
                CHECK(rank.at("file").is_string());
                for (const auto& [state, padding] : rank.at("padding").items()) {
                    CAPTURE(state);
                    CHECK(number(rank, "elements") + number(padding, "elements")
                        == number(group, "partition_elements"));
                    CHECK((padding.at("kind") == "none") == (number(padding, "elements") == 0));
                }
            }
            CHECK(owned == number(group, "elements"));
        }
    }
}

TEST_CASE("the fragments of all ranks tile every parameter once")
{
    for (const std::string& name :
        {std::string("zero1-w2"), std::string("zero3-w4"), std::string("aligned-w2")}) {
        CAPTURE(name);
        const uint64_t ranks = answerOf({"inspect", samplePath(name)}).at("parallel").at("dp");
        std::map<std::string, std::map<uint64_t, uint64_t>> runs; // per parameter and state: begin → elements
        for (uint64_t rank = 0; rank < ranks; ++rank) {
            const Json answer = answerOf({"layout", samplePath(name), "--rank", "dp" + std::to_string(rank)});
            for (const Json& group : answer.at("groups"))
                CHECK(group.at("ranks").size() == 1);
            for (const Json& fragment : answer.at("fragments")) {
                CHECK(fragment.at("rank").at("dp") == rank);
                const std::string key = fragment.at("param").get<std::string>() + "\n"
                    + fragment.at("state").get<std::string>();
                CHECK(
                    runs[key].emplace(number(fragment, "param_offset"), number(fragment, "elements")).second);
            }
        }
        const Json truth = sampleTruth(name).at("tags").begin().value().at("parameters");
        size_t checked = 0;
        for (const auto& [parameter, facts] : truth.items()) {
            for (const auto& [state, ignored] : facts.at("states").items()) {
                const auto found = runs.find(parameter + "\n" + state);
                if (found == runs.end())
                    continue; // not partitioned
                uint64_t next = 0;
                for (const auto& [begin, elements] : found->second) {
                    CHECK(begin == next);
                    next += elements;
                }
                CHECK(next == facts.at("elements").get<uint64_t>());
                ++checked;
            }
        }
        CHECK(checked > 50);
    }
}

TEST_CASE("the bytes of a fragment are the values that show prints")
{
    const std::string parameter = "layers.0.attention.wo.weight";
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const Json layout = answerOf({"layout", samplePath(name), "--param", parameter});
        const std::filesystem::path folder = layout.at("checkpoint").get<std::string>();
        for (const std::string state : {"fp32", "exp_avg"}) {
            const Json values
                = answerOf({"show", samplePath(name), parameter + "#" + state, "--limit", "100000"});
            size_t compared = 0;
            for (const Json& fragment : layout.at("fragments")) {
                if (fragment.at("state") != state)
                    continue;
                const auto file = folder / fragment.at("file").get<std::string>();
                const uint64_t begin = number(fragment, "param_offset");
                const uint64_t last = number(fragment, "elements") - 1;
                CHECK(number(fragment, "bytes") == number(fragment, "elements") * 4);
                for (const uint64_t i : {uint64_t{0}, last / 2, last}) {
                    const float stored = floatAt(file, number(fragment, "byte_offset") + 4 * i);
                    CHECK(values.at("values").at(begin + i).get<double>() == static_cast<double>(stored));
                    ++compared;
                }
            }
            CHECK(compared > 0);
            CHECK(values.at("truncated") == false);
        }
    }
}

TEST_CASE("one position in three notations that translate into each other")
{
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const std::string run = samplePath(name);
        const Json parameters = answerOf({"params", run}).at("parameters");
        size_t seen = 0;
        for (const Json& parameter : parameters) {
            if (!parameter.at("states").contains("exp_avg") || !parameter.at("shared_with").is_null()
                || parameter.at("elements") == 0)
                continue;
            if (++seen % 5 != 1)
                continue;
            const uint64_t element = number(parameter, "elements") - 1;
            const std::string address = percentEncode(parameter.at("name").get<std::string>()) + "#exp_avg["
                + std::to_string(element) + ":" + std::to_string(element + 1) + "]";
            CAPTURE(address);
            const Json first = answerOf({"layout", run, "--address", address}).at("location");
            CHECK(first.at("param") == address);
            CHECK(first.at("padding") == "none");
            for (const char* const form : {"flat", "file"}) {
                const Json again = answerOf({"layout", run, "--address", first.at(form)}).at("location");
                for (const char* const key : {"param", "flat", "file", "byte_offset"})
                    CHECK(again.at(key) == first.at(key));
            }
        }
        CHECK(seen > 5);
    }
}

TEST_CASE("invalid addresses are refused by name")
{
    const std::string run = samplePath("zero3-w4");
    errorOf({"layout", run, "--address", "no.such.weight#fp32"}, 2, "usage");
    errorOf({"layout", run, "--address", "dp9.tp0.pp0/subgroup0+0"}, 3, "not-found");
    errorOf({"layout", run, "--address", "gibberish"}, 2, "usage");
    errorOf({"layout", run, "--rank", "dp4"}, 3, "not-found");
    errorOf({"layout", run, "--rank", "rank3"}, 2, "usage");
    errorOf({"layout", run, "--rank", "dp0.tp0"}, 2, "usage");
    errorOf({"layout", run, "--rank", "dp0", "--address", "x#fp32"}, 2, "usage");
    const Json error = errorOf({"layout", run, "--param", "layers.0.attention.wo.wieght"}, 2, "usage");
    CHECK(error.at("hint").get<std::string>().find("layers.0.attention.wo.weight") != std::string::npos);
    errorOf({"show", run, "layers.0.attention.wo.weight#momentum_buffer"}, 2, "usage");
    errorOf({"show", run, "layers.0.attention.wo.weight#fp32[0:99999999]"}, 2, "usage");
}

TEST_CASE("show stops at its limit and starts at the given element")
{
    const std::string run = samplePath("zero3-w4");
    const std::string name = "layers.0.attention.wo.weight";
    const Json all = answerOf({"show", run, name});
    CHECK(all.at("state") == "fp32"); // a bare name means the masters
    CHECK(all.at("values").size() == 1000);
    CHECK(all.at("truncated") == true);
    const Json part = answerOf({"show", run, name + "#fp32[10:14]"});
    CHECK(part.at("start") == 10);
    CHECK(part.at("truncated") == false);
    CHECK(part.at("values")
        == Json(std::vector<Json>(all.at("values").begin() + 10, all.at("values").begin() + 14)));
    const Json place = answerOf({"layout", run, "--address", name + "#fp32[10:11]"}).at("location");
    for (const char* const form : {"flat", "file"}) {
        const Json from = answerOf({"show", run, place.at(form), "--limit", "4"});
        CHECK(from.at("name") == name);
        CHECK(from.at("start") == 10);
        CHECK(from.at("values") == part.at("values"));
    }
    CHECK(answerOf({"show", run, name, "--limit", "0"}).at("values").empty());
}

TEST_CASE("tensors that are stored whole are of no rank")
{
    const std::string path = samplePath("zero2-universal-w2/global_step5_universal");
    const auto text = runProcess({programPath(), "layout", path, "--no-color"});
    CHECK(text.exitCode == 0);
    CHECK(text.out.find("\n  whole  ") != std::string::npos);
    CHECK(text.out.find("dp0") == std::string::npos);
    for (const Json& group : answerOf({"layout", path}).at("groups"))
        for (const Json& rank : group.at("ranks"))
            CHECK(rank.at("whole") == true);
    CHECK(
        !answerOf({"layout", samplePath("zero2-w2")}).at("groups").at(0).at("ranks").at(0).contains("whole"));
}

TEST_CASE("the layout names experts")
{
    const auto textOf = [](const char* sample) {
        const auto result = runProcess({programPath(), "layout", samplePath(sample), "--no-color"});
        CHECK(result.exitCode == 0);
        return result.out;
    };
    CHECK(textOf("experts-w4").find("group 2, experts of dp 1 to 3") != std::string::npos);
    CHECK(textOf("autoep-w4").find("group 1, experts of dp 1 to 3") != std::string::npos);
    CHECK(textOf("stage0-fp16").find("experts") == std::string::npos);
    CHECK(textOf("pipeline-w4").find("group 1, pp 1") != std::string::npos);
}
