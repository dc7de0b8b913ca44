// SPDX-License-Identifier: Apache-2.0
// `stats` compared with NumPy files of the same tensors.
#include "tests/cli/cli_fixture.h"

#include "core/tensor/dtype.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// The float32 payload of a file from `show --npy`.
std::vector<float> valuesOf(
    const std::string& sample, const std::string& address, const TemporaryFolder& folder)
{
    const fs::path file = folder / "tensor.npy";
    answerOf({"show", samplePath(sample), address, "--limit", "0", "--npy", file, "--force"});
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    const std::string bytes = text.str();
    const size_t header = 10 + static_cast<uint8_t>(bytes[8]) + 256U * static_cast<uint8_t>(bytes[9]);
    std::vector<float> out((bytes.size() - header) / 4);
    std::memcpy(out.data(), bytes.data() + header, out.size() * 4);
    return out;
}

} // namespace

TEST_CASE("every tensor of every sample has statistics, and they are those of its values")
{
    const TemporaryFolder folder;
    for (const std::string& sample : kSampleNames) {
        const Json answer = answerOf({"stats", samplePath(sample), "--exact"});
        size_t expected = 0;
        const Json params = answerOf({"params", samplePath(sample)});
        for (const Json& parameter : params.at("parameters"))
            expected += parameter.at("shared_with").is_null() ? parameter.at("states").size() : 0;
        CHECK(answer.at("tensors").size() == expected);
        size_t number = 0;
        for (const Json& tensor : answer.at("tensors")) {
            if (++number % 13 != 0 || tensor.at("dtype") != "float32")
                continue;
            const std::string name = tensor.at("name");
            const std::string state = tensor.at("state");
            CAPTURE(name);
            CAPTURE(state);
            if (name.find_first_of("%#![]+@") != std::string::npos)
                continue;
            const std::vector<float> values = valuesOf(sample, name + "#" + state, folder);
            CHECK(tensor.at("elements") == values.size());
            CHECK(tensor.at("read") == values.size());
            double squares = 0;
            double sum = 0;
            for (const float value : values) {
                squares += static_cast<double>(value) * value;
                sum += value;
            }
            CHECK(tensor.at("l2").get<double>() == doctest::Approx(std::sqrt(squares)));
            CHECK(
                tensor.at("mean").get<double>() * static_cast<double>(values.size()) == doctest::Approx(sum));
            CHECK(tensor.at("max").get<double>() == *std::max_element(values.begin(), values.end()));
            uint64_t counted = 0;
            for (const Json& count : tensor.at("histogram").at("counts"))
                counted += count.get<uint64_t>();
            CHECK(counted == values.size());
            uint64_t inOctaves = 0;
            double lower = 0;
            double most = 0;
            for (const Json& octave : tensor.at("histogram").at("octaves")) {
                const auto count = octave.at("count").get<uint64_t>();
                inOctaves += count;
                lower += static_cast<double>(count) * std::ldexp(1.0, octave.at("exponent").get<int>());
                most += static_cast<double>(count) * std::ldexp(2.0, octave.at("exponent").get<int>());
            }
            CHECK(inOctaves == values.size());
            CHECK(tensor.at("l1").get<double>() <= most);
            CHECK(tensor.at("l1").get<double>()
                >= lower * (1 - 1e-12) - static_cast<double>(values.size()) * std::ldexp(1.0, -127));
        }
    }
}

TEST_CASE("stats shows exactly the requested tensors")
{
    const fs::path path = samplePath("zero3-w4");
    const std::string name = "layers.0.attention.wq.weight";
    const Json all = answerOf({"stats", path, name});
    CHECK(all.at("tensors").size() == 3);
    const Json one = answerOf({"stats", path, name + "#exp_avg", name + "#fp32", "--bars", "0"});
    REQUIRE(one.at("tensors").size() == 2);
    CHECK(one.at("tensors")[0].at("state") == "exp_avg");
    CHECK(!one.at("tensors")[0].contains("histogram"));
    const Json seconds = answerOf({"stats", path, "--state", "exp_avg_sq"});
    CHECK(!seconds.at("tensors").empty());
    for (const Json& tensor : seconds.at("tensors"))
        CHECK(tensor.at("min").get<double>() >= 0);
    errorOf({"stats", path, "no.such"}, 2, "usage");
    errorOf({"stats", path, "no.such#fp32"}, 2, "usage");
    errorOf({"stats", path, name + "#no_such"}, 2, "usage");
    errorOf({"stats", path, "--state", "no_such"}, 2, "usage");
    errorOf({"stats", path, name + "#fp32[0:3]"}, 2, "usage");
    errorOf({"stats", path, "--bars", "1001"}, 2, "usage");
}

TEST_CASE("the answer does not depend on the number of jobs")
{
    const auto text = [](const char* jobs) {
        return runShardscope({"stats", samplePath("zero2-w2"), "--exact", "--json", "--jobs", jobs}).out;
    };
    CHECK(text("1") == text("7"));
}

TEST_CASE("a checkpoint without one rank has statistics of the remaining elements")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    for (const auto& entry : fs::directory_iterator(run / "global_step5")) {
        if (entry.path().filename().string().find("pp_rank_2_mp_rank_00_optim") != std::string::npos)
            fs::remove(entry.path());
    }
    const Json answer = answerOf({"stats", run, "--exact", "--state", "fp32"});
    uint64_t missing = 0;
    for (const Json& tensor : answer.at("tensors")) {
        CHECK(tensor.at("read").get<uint64_t>() + tensor.at("missing").get<uint64_t>()
            == tensor.at("elements"));
        missing += tensor.at("missing").get<uint64_t>();
    }
    CHECK(missing > 0);
}

TEST_CASE("large tensors are sampled from their first to their last element, and say so")
{
    const TemporaryFolder folder;
    const fs::path file = folder / "model.safetensors";
    constexpr size_t kElements = 200'000;
    std::vector<float> values(kElements);
    for (size_t i = 0; i < kElements; ++i)
        values[i] = static_cast<float>(i);
    const std::string header
        = R"({"large":{"dtype":"F32","shape":[400,500],"data_offsets":[0,800000]}})" + std::string(7, ' ');
    const uint64_t length = header.size();
    std::ofstream out(file, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&length), 8);
    out << header;
    out.write(reinterpret_cast<const char*>(values.data()), kElements * 4);
    out.close();
    const Json sampled = answerOf({"stats", file}).at("tensors")[0];
    CHECK(sampled.at("exact") == false);
    CHECK(sampled.at("elements") == kElements);
    CHECK(sampled.at("read") == 65536);
    CHECK(sampled.at("min") == 0.0);
    CHECK(sampled.at("max") == kElements - 1.0);
    CHECK(sampled.at("mean").get<double>() == doctest::Approx((kElements - 1.0) / 2).epsilon(0.001));
    const Json exact = answerOf({"stats", file, "large", "--exact"}).at("tensors")[0];
    CHECK(exact.at("exact") == true);
    CHECK(exact.at("read") == kElements);
    CHECK(exact.at("zeros") == 1);
    CHECK(exact.at("mean").get<double>() == doctest::Approx((kElements - 1.0) / 2).epsilon(1e-12));
    CHECK(runShardscope({"stats", file}).out.find("~ 200,000") != std::string::npos);
}

TEST_CASE("health: figures by layer and parameter, and a layer that is named when it is damaged")
{
    const Json answer = answerOf({"stats", samplePath("zero3-w4"), "--health", "--params", "--exact"});
    CHECK(answer.at("schema") == "shardscope/health/1");
    CHECK(answer.at("alarms").empty());
    CHECK(answer.at("groups").at(0).at("rule") == "adam");
    const Json stats = answerOf({"stats", samplePath("zero3-w4"), "--exact", "--state", "exp_avg"});
    for (const Json& row : answer.at("parameters")) {
        for (const Json& tensor : stats.at("tensors")) {
            if (tensor.at("name") == row.at("name"))
                CHECK(tensor.at("l2").get<double>()
                    == doctest::Approx(row.at("states").at(1).at("l2").get<double>()));
        }
    }
    const Json& layer = answer.at("layers").at(0);
    CHECK(layer.at("layer") == "layers.0");
    CHECK(layer.at("step") == 5);
    CHECK(layer.at("update").at("ratio").get<double>() == doctest::Approx(0.00978).epsilon(0.01));

    CHECK(runShardscope({"stats", samplePath("zero3-w4"), "--history"}).exitCode == 2);
    CHECK(runShardscope({"stats", samplePath("zero3-w4"), "--health", "norm.weight"}).exitCode == 2);
    CHECK(runShardscope({"stats", samplePath("zero3-w4"), "--health", "--bars", "0"}).exitCode == 2);
    const TemporaryFolder cache;
    const auto text = runShardscope({"stats", samplePath("zero3-w4"), "--health"},
        {.environment = {{"XDG_CACHE_HOME", cache.path().string()}}});
    CHECK(text.exitCode == 0);
    CHECK(text.out.find("Nothing looks wrong in this tag alone") != std::string::npos);
}
