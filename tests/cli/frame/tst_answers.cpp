// SPDX-License-Identifier: Apache-2.0
// Every verb's answer on real checkpoints: one object, valid, and true.
#include "tests/cli/cli_fixture.h"

#include "core/base/sha256.h"
#include "core/base/text.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>
#include <set>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

std::string newestTag(const std::string& name)
{
    return slurp(samplePath(name) / "latest");
}

/// The values of a NumPy file, without its header.
std::string npyPayload(const std::string& file)
{
    const auto low = static_cast<unsigned char>(file.at(8));
    const auto high = static_cast<unsigned char>(file.at(9));
    return file.substr(10 + low + 256u * high);
}

std::string sha256(const std::string& bytes)
{
    Sha256 digest;
    digest.update({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
    return digest.finishHex();
}

} // namespace

TEST_CASE("inspect shows the state of the engine")
{
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const Json answer = answerOf({"inspect", samplePath(name)});
        const Json truth = sampleTruth(name);
        CHECK(answer.at("tag") == newestTag(name));
        CHECK(answer.at("latest") == newestTag(name));
        CHECK(answer.at("supported") == true);
        CHECK(answer.at("why_not").is_null());
        CHECK(answer.at("complete") == true);
        CHECK(answer.at("parallel").at("dp") == truth.at("world"));
        for (const Json& finding : answer.at("findings"))
            CHECK(finding.at("severity") == "info"); // an unknown class in the client state
        const Json& tag = truth.at("tags").at(newestTag(name));
        const std::string steps = tag.at("scalars").at("global_steps");
        CHECK("('int', '" + std::to_string(answer.at("step").at("global_steps").get<int>()) + "')" == steps);
        CHECK(answer.at("tags").size() == truth.at("tags").size());
        for (const Json& group : answer.at("param_groups")) {
            CHECK(group.at("options").contains("lr"));
            CHECK(!group.at("options").contains("params"));
        }
        uint64_t trained = 0;
        for (const auto& [parameter, facts] : tag.at("parameters").items())
            trained += facts.at("elements").get<uint64_t>() > 0 && !facts.at("group").is_null() ? 1 : 0;
        CHECK(answer.at("parameters").at("count").get<uint64_t>() >= trained);
    }
    CHECK(answerOf({"inspect", samplePath("zero1-w2")}).at("kind") == "zero1");
    CHECK(answerOf({"inspect", samplePath("zero2-w2")}).at("kind") == "zero2");
    CHECK(answerOf({"inspect", samplePath("bf16opt-w2")}).at("kind") == "bf16");
    CHECK(answerOf({"inspect", samplePath("zero3-w4")}).at("kind") == "zero3");
    CHECK(answerOf({"inspect", samplePath("zero3-w4")}).at("sub_group_size") == 3000);
    CHECK(!answerOf({"inspect", samplePath("zero1-w2")}).contains("sub_group_size"));
}

TEST_CASE("inspect finds any level and any tag")
{
    const auto run = samplePath("zero2-w2");
    CHECK(answerOf({"inspect", run / "global_step3"}).at("tag") == "global_step3");
    CHECK(answerOf({"inspect", run, "--tag", "global_step3"}).at("step").at("global_steps") == 3);
    const std::string file = "mp_rank_00_model_states.pt";
    const Json answer = answerOf({"inspect", run / "global_step6" / file});
    CHECK(answer.at("selected") == file);
    CHECK(answer.at("tag") == "global_step6");
    CHECK(answer.at("checkpoint") == (run / "global_step6").string());
}

TEST_CASE("params lists the parameters of the engine, with the same states and sizes")
{
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const Json answer = answerOf({"params", samplePath(name)});
        std::map<std::string, Json> byName;
        for (const Json& parameter : answer.at("parameters"))
            CHECK(byName.emplace(parameter.at("name"), parameter).second);
        const Json truth = sampleTruth(name).at("tags").at(newestTag(name));
        for (const auto& [parameter, facts] : truth.at("parameters").items()) {
            CAPTURE(parameter);
            REQUIRE(byName.contains(parameter));
            CHECK(byName.at(parameter).at("elements") == facts.at("elements"));
            CHECK(byName.at(parameter).at("group") == facts.at("group"));
            for (const auto& [state, ignored] : facts.at("states").items())
                CHECK(byName.at(parameter).at("states").contains(state));
        }
        for (const auto& [weight, facts] : truth.at("weights").items()) {
            CAPTURE(weight);
            REQUIRE(byName.contains(weight));
            CHECK(byName.at(weight).at("shape") == facts.at("shape"));
            CHECK(byName.at(weight).at("dtype") == facts.at("dtype"));
        }
        CHECK(byName.at("lm_head.weight").at("shared_with") == "tok_embeddings.weight");
        CHECK(byName.at("positions.weight").at("trainable") == false);
    }
}

TEST_CASE("show --npy writes exactly the tensor of the engine")
{
    const TemporaryFolder folder;
    for (const std::string& name : {std::string("zero2-w2"), std::string("zero3-w4")}) {
        const Json truth = sampleTruth(name).at("tags").at(newestTag(name));
        int seen = 0;
        for (const auto& [parameter, facts] : truth.at("parameters").items()) {
            for (const auto& [state, tensor] : facts.at("states").items()) {
                if (++seen % 7 != 0) // one process each: every seventh parameter covers all kinds
                    continue;
                CAPTURE(parameter);
                CAPTURE(state);
                const auto file = folder / "tensor.npy";
                const std::string address = percentEncode(parameter) + "#" + state;
                const Json answer
                    = answerOf({"show", samplePath(name), address, "--limit", "3", "--npy", file, "--force"});
                CHECK(answer.at("name") == parameter);
                CHECK(answer.at("state") == state);
                const std::string payload = npyPayload(slurp(file));
                CHECK(payload.size() == facts.at("elements").get<size_t>() * 4);
                CHECK(sha256(payload) == tensor.at("sha256"));
            }
        }
        CHECK(seen > 50);
    }
}

TEST_CASE("buffers, frozen and tied parameters are shown like all others")
{
    const TemporaryFolder folder;
    const auto file = folder / "tensor.npy";
    for (const std::string& name : {std::string("zero1-w2"), std::string("zero3-w4")}) {
        const Json truth = sampleTruth(name).at("tags").at(newestTag(name)).at("weights");
        const Json parameters = answerOf({"params", samplePath(name)}).at("parameters");
        int compared = 0;
        for (const Json& parameter : parameters) {
            // Types that NumPy has are written as they are.
            if (!parameter.at("states").contains("weight") || parameter.at("dtype") == "bfloat16"
                || parameter.at("role") == "trainable")
                continue;
            const auto weight = parameter.at("name").get<std::string>();
            CAPTURE(weight);
            answerOf({"show", samplePath(name), percentEncode(weight) + "#weight", "--npy", file, "--force"});
            CHECK(sha256(npyPayload(slurp(file))) == truth.at(weight).at("sha256"));
            ++compared;
        }
        CHECK(compared >= 3);
        const std::string owner = runShardscope({"show", samplePath(name), "tok_embeddings.weight"}).out;
        const std::string alias = runShardscope({"show", samplePath(name), "lm_head.weight"}).out;
        CHECK(owner.substr(owner.find('\n')) == alias.substr(alias.find('\n')));
    }
    const Json mask = answerOf({"show", samplePath("zero3-w4"), "layers.0.attention.mask"});
    CHECK(mask.at("dtype") == "bool");
    CHECK(mask.at("values")[0].is_boolean());
    CHECK(answerOf({"show", samplePath("zero3-w4"), "batches_seen"}).at("values").size() == 1);
    CHECK(answerOf({"show", samplePath("zero3-w4"), "batches_seen"}).at("shape").empty());
    const Json nothing
        = answerOf({"show", samplePath("zero2-w2"), "unused_adapter", "--npy", file, "--force"});
    CHECK(nothing.at("shape") == Json({0, 16}));
    CHECK(nothing.at("values").empty());
    CHECK(npyPayload(slurp(file)).empty());
}

TEST_CASE("files lists existing files and, with --records, what uses them")
{
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const auto folder = samplePath(name) / newestTag(name);
        const Json answer = answerOf({"files", samplePath(name), "--records"});
        std::set<std::string> used;
        uint64_t seen = 0;
        for (const Json& file : answer.at("files")) {
            const auto path = folder / file.at("path").get<std::string>();
            CHECK(file.at("bytes") == std::filesystem::file_size(path));
            CHECK(file.at("status") == "ok");
            CHECK(file.at("records") == file.at("zip_records").size());
            ++seen;
            for (const Json& record : file.at("zip_records")) {
                CHECK(record.at("offset").get<uint64_t>() + record.at("bytes").get<uint64_t>()
                    < std::filesystem::file_size(path));
                for (const Json& use : record.at("used_by"))
                    used.insert(use);
            }
        }
        const auto entries = std::filesystem::directory_iterator(folder);
        CHECK(seen == static_cast<uint64_t>(std::distance(begin(entries), end(entries))));
        CHECK(used.contains(
            name == "zero3-w4" ? "dp1.tp0.pp0/subgroup0+0@exp_avg" : "dp1.tp0.pp0/group0+0@exp_avg"));
        CHECK(!answerOf({"files", samplePath(name)}).at("files")[0].contains("zip_records"));
    }
}

TEST_CASE("verify reads everything and succeeds")
{
    for (const std::string& name : kSampleNames) {
        const Json answer = answerOf({"verify", samplePath(name)});
        CHECK(answer.at("ok") == true);
        CHECK(answer.at("manifest") == false);
        CHECK(answer.at("problems").empty());
    }
    CHECK(answerOf({"verify", samplePath("zero2-w2"), "--against", samplePath("zero2-w2")}).at("ok") == true);
    // Three steps earlier it was another state.
    const Json other = answerOf(
        {"verify", samplePath("zero2-w2"), "--against", samplePath("zero2-w2") / "global_step3"}, 1);
    CHECK(other.at("ok") == false);
    CHECK(!other.at("problems").empty());
}

TEST_CASE("--version --json names the build")
{
    CHECK(!answerOf({"--version"}).at("version").get<std::string>().empty());
    CHECK(runShardscope({"--version"}).out.starts_with("shardscope "));
}

TEST_CASE("--version --json says which modules can be used, and which releases were tested")
{
    const Json version = answerOf({"--version"});
    CHECK(version.at("static") == false);
    REQUIRE(version.at("modules").size() == 2);
    for (const Json& module : version.at("modules"))
        CHECK(module.at("usable").get<bool>() == module.at("why_not").is_null());
    // The newest one is the judge of everything that is written.
    std::ifstream requirements(sourceFolder() + "/tests/interop/requirements.txt");
    const std::string text((std::istreambuf_iterator<char>(requirements)), {});
    CHECK(text.find("deepspeed==" + version.at("tested_deepspeed").back().get<std::string>() + "\n")
        != std::string::npos);
}
