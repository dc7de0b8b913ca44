// SPDX-License-Identifier: Apache-2.0
// `fingerprint`: one digest for one state, of all files or of parts that are added.
#include "core/tensor/element_digest.h"
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Digest digestAt(const Json& value)
{
    const auto digest = parseDigest(value.get<std::string>());
    REQUIRE(digest);
    return *digest;
}

/// The sum of the digests that the answer lists with the fingerprint.
Digest sumOf(const Json& answer)
{
    Digest sum;
    for (const Json& state : answer.at("states"))
        sum += digestAt(state);
    for (const Json& scalar : answer.at("scalars")) {
        CHECK(digestText(scalar.at("name").get<std::string>(), scalar.at("state").get<std::string>(),
                  scalar.at("text").get<std::string>())
            == digestAt(scalar.at("digest")));
        sum += digestAt(scalar.at("digest"));
    }
    return sum;
}

std::string printOf(const fs::path& path, const Words& more = {})
{
    Words words{"fingerprint", path};
    words.insert(words.end(), more.begin(), more.end());
    return answerOf(words).at("fingerprint").get<std::string>();
}

/// Copies the files of a tag whose name has one of the words.
fs::path part(const fs::path& run, const fs::path& to, const Words& words)
{
    const fs::path tag = run / slurp(run / "latest");
    fs::create_directories(to / tag.filename());
    for (const auto& entry : fs::directory_iterator(tag)) {
        for (const std::string& word : words) {
            if (entry.path().filename().string().find(word) != std::string::npos)
                fs::copy(entry.path(), to / tag.filename());
        }
    }
    return to / tag.filename();
}

/// The answer of --partial, as a file.
fs::path partialAnswer(const fs::path& path, const fs::path& file)
{
    const Json answer = answerOf({"fingerprint", path, "--partial"});
    CHECK(answer.at("complete") == false);
    CHECK(answer.at("fingerprint").is_null());
    CHECK(answer.at("states").empty());
    spill(file, answer.dump());
    return file;
}

} // namespace

TEST_CASE("the fingerprint is the sum of its parts, and what verify and the manifest say")
{
    const TemporaryFolder folder;
    for (const std::string& name : kSampleNames) {
        CAPTURE(name);
        const Json answer = answerOf({"fingerprint", samplePath(name), "--per-parameter"});
        CHECK(digestAt(answer.at("fingerprint")) == sumOf(answer));
        CHECK(answer.at("complete") == true);
        CHECK(answerOf({"verify", samplePath(name)}).at("fingerprint") == answer.at("fingerprint"));
        std::map<std::string, Digest> states;
        for (const Json& parameter : answer.at("parameters")) {
            for (const auto& [state, digest] : parameter.items())
                states[state] += digestAt(digest);
        }
        CHECK(states.size() == answer.at("states").size());
        for (const auto& [state, digest] : answer.at("states").items())
            CHECK(states[state] == digestAt(digest));
        const Json written = answerOf({"reshard", samplePath(name), folder / name, "-w", "5"});
        CHECK(written.at("result").at("fingerprint") == answer.at("fingerprint"));
        CHECK(Json::parse(slurp(folder / name / slurp(folder / name / "latest") / "shardscope.json"))
                  .at("fingerprint")
            == answer.at("fingerprint"));
        CHECK(printOf(folder / name, {"--jobs", "1"}) == answer.at("fingerprint"));
    }
    CHECK(printOf(samplePath("zero2-w2"), {"--tag", "global_step3"}) != printOf(samplePath("zero2-w2")));
}

TEST_CASE("stages and forms have the same fingerprint")
{
    const TemporaryFolder folder;
    for (const std::string name : {"zero2-w2", "zero3-w4"}) {
        const std::string print = printOf(samplePath(name));
        for (const std::string stage : {"1", "2", "3"}) {
            answerOf({"reshard", samplePath(name), folder / (name + stage), "-w", "3", "--stage", stage});
            CHECK(printOf(folder / (name + stage)) == print);
        }
        const Json written = answerOf({"convert", samplePath(name), folder / name, "--to", "universal"});
        CHECK(written.at("result").at("fingerprint") == print);
        CHECK(printOf(folder / name) == print);
    }
}

TEST_CASE("slices have one fingerprint when they are merged")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("megatron-w2");
    const std::string whenMerged = printOf(source, {"--join"});
    CHECK(whenMerged != printOf(source));
    const Json one
        = answerOf({"reshard", source, folder / "one", "-w", "2", "--tp", "1", "--padded-vocab-size", "28"});
    CHECK(printOf(folder / "one") == one.at("result").at("fingerprint")); // with its padding
    CHECK(printOf(folder / "one", {"--join"}) == whenMerged);
    answerOf({"reshard", source, folder / "four", "-w", "8", "--tp", "4", "--padded-vocab-size", "28"});
    CHECK(printOf(folder / "four", {"--join"}) == whenMerged);
    answerOf({"convert", source, folder / "universal", "--to", "universal"});
    CHECK(printOf(folder / "universal") == whenMerged);
    CHECK(errorOf({"fingerprint", source, "--join", "--tag", "global_step2"}, 4, "unsupported")
              .at("hint")
              .get<std::string>()
              .find("--patterns")
        != std::string::npos);
    CHECK(printOf(samplePath("zero2-w2"), {"--join"}) == printOf(samplePath("zero2-w2")));
}

TEST_CASE("parts in several folders add up, and copies count once")
{
    const TemporaryFolder folder;
    const fs::path whole = samplePath("zero3-w4");
    const fs::path first = part(whole, folder / "a", {"rank_0_", "rank_1_"});
    const fs::path second = part(whole, folder / "b", {"rank_1_", "rank_2_"});
    const fs::path third = part(whole, folder / "c", {"rank_3_"});
    const fs::path a = partialAnswer(first, folder / "a.json");
    const fs::path b = partialAnswer(second, folder / "b.json");
    const fs::path c = partialAnswer(third, folder / "c.json");

    const Json less = answerOf({"fingerprint", "--combine", a, b}, 1);
    CHECK(less.at("complete") == false);
    CHECK(less.at("missing")
        == Json(
            {"bf16_zero_pp_rank_3_mp_rank_00_optim_states.pt", "zero_pp_rank_3_mp_rank_00_model_states.pt"}));
    CHECK(less.at("covered").at("fp32").at("elements") < less.at("covered").at("fp32").at("of"));
    spill(folder / "less.json", less.dump());

    const Json expected = answerOf({"fingerprint", whole});
    for (const Words& answers : {Words{a, b, c}, Words{c, b, a}, Words{folder / "less.json", c, c}}) {
        Words words{"fingerprint", "--combine"};
        words.insert(words.end(), answers.begin(), answers.end());
        const Json sum = answerOf(words);
        CHECK(sum.at("complete") == true);
        CHECK(sum.at("missing").empty());
        for (const char* const field : {"fingerprint", "states"})
            CHECK(sum.at(field) == expected.at(field));
        CHECK(digestAt(sum.at("fingerprint")) == sumOf(sum));
    }
    CHECK(answerOf({"fingerprint", whole, "--partial"}).at("fingerprint") == expected.at("fingerprint"));
}

TEST_CASE("ZeRO-1 and 2 need the model file in every folder with ranks")
{
    const TemporaryFolder folder;
    const fs::path whole = samplePath("zero2-w2");
    const fs::path withoutModel = part(whole, folder / "withoutModel", {"rank_1_"});
    CHECK(errorOf({"fingerprint", withoutModel, "--partial"}, 6, "refused").dump().find("model_states")
        != std::string::npos);
    const fs::path first = part(whole, folder / "a", {"rank_0_", "mp_rank_00_model"});
    const fs::path second = part(whole, folder / "b", {"rank_1_", "mp_rank_00_model"});
    const Json sum = answerOf({"fingerprint", "--combine", partialAnswer(first, folder / "a.json"),
        partialAnswer(second, folder / "b.json")});
    CHECK(sum.at("fingerprint") == printOf(whole));
}

TEST_CASE("answers of other runs, steps, worlds and contents are not added")
{
    const TemporaryFolder folder;
    const fs::path whole = samplePath("zero3-w4");
    const fs::path a = partialAnswer(part(whole, folder / "a", {"rank_0_", "rank_1_"}), folder / "a.json");
    const auto refused = [&](const Json& other, const std::string& why) {
        spill(folder / "other.json", other.dump());
        const Json error = errorOf({"fingerprint", "--combine", a, folder / "other.json"}, 6, "refused");
        CAPTURE(error.dump());
        CHECK(error.at("message").get<std::string>().find(why) != std::string::npos);
        CHECK(error.at("path") == (folder / "other.json").string());
    };
    const Json same = Json::parse(slurp(a));
    Json other = same;
    other["run"]["global_steps"] = 6;
    refused(other, "step 5 and step 6");
    other = same;
    other["run"]["parallel"]["dp"] = 8;
    refused(other, "dp 8");
    other = same;
    other["run"]["model"] = std::string(32, '0');
    refused(other, "parameters");
    other = same;
    other["files"][1]["digest"] = "xxh3-128:" + std::string(32, '0');
    refused(other, "differs between two results");
    other = same;
    other["files"][0]["states"]["fp32"]["digest"] = std::string(32, '0');
    refused(other, "different digests");
    other = same;
    other["scalars"][0]["digest"] = std::string(32, '0');
    refused(other, "different values");
    other = same; // an answer of release 0.1
    other.erase("fingerprint_version");
    for (Json& file : other["files"]) {
        file["sha256"] = std::string(64, '0');
        file.erase("digest");
    }
    refused(other, "version 2 and version 1");
    other = same;
    other["fingerprint_version"] = 3;
    spill(folder / "other.json", other.dump());
    errorOf({"fingerprint", "--combine", a, folder / "other.json"}, 4, "unsupported");
    refused(answerOf({"fingerprint", samplePath("zero2-w2"), "--partial"}), "tag `global_step5`");

    for (const std::string text : {"", "{}", "[]", "{\"schema\":\"shardscope/fingerprint/1\"}"}) {
        spill(folder / "other.json", text);
        errorOf({"fingerprint", "--combine", a, folder / "other.json"}, 3, "damaged");
    }
    for (const auto& [key, value] : same.at("run").items()) {
        CAPTURE(key);
        other = same;
        other["run"].erase(key);
        spill(folder / "other.json", other.dump());
        errorOf({"fingerprint", "--combine", a, folder / "other.json"}, 3, "damaged");
    }
    spill(folder / "other.json", answerOf({"fingerprint", whole}).dump()); // names no files
    errorOf({"fingerprint", "--combine", a, folder / "other.json"}, 3, "damaged");
    errorOf({"fingerprint", "--combine", folder / "absent.json"}, 3, "not-found");
}

TEST_CASE("a record with a wrong CRC has no digest")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const Json places = answerOf({"layout", run, "--param", "norm.weight"});
    for (const Json& fragment : places.at("fragments")) {
        if (fragment.at("state") != "exp_avg" || fragment.at("file").is_null())
            continue;
        const fs::path file = run / "global_step5" / fragment.at("file").get<std::string>();
        std::string bytes = slurp(file);
        bytes[fragment.at("byte_offset").get<size_t>()] ^= 1;
        spill(file, bytes);
        break;
    }
    const Json error = errorOf({"fingerprint", run}, 6, "refused");
    CHECK(error.at("message").get<std::string>().find("record-corrupt") != std::string::npos);
    errorOf({"fingerprint", run, "--partial"}, 6, "refused");
}

TEST_CASE("options that cannot be combined, and input without a fingerprint")
{
    const std::string path = samplePath("zero2-w2");
    errorOf({"fingerprint"}, 2, "usage");
    errorOf({"fingerprint", path, path}, 2, "usage");
    errorOf({"fingerprint", path, "--partial", "--join"}, 2, "usage");
    errorOf({"fingerprint", path, "--partial", "--per-parameter"}, 2, "usage");
    errorOf({"fingerprint", path, "--partial", "--combine"}, 2, "usage");
    errorOf({"fingerprint", path, "--combine", "--root", path}, 2, "usage");
    errorOf({"fingerprint", path, "--combine", "--kind", "zero2"}, 2, "usage");
    errorOf({"fingerprint", path, "--combine", "--donor", path}, 2, "usage");
    errorOf({"fingerprint", path, "--patterns", "x"}, 2, "usage");
    errorOf({"fingerprint", samplePath("zero2-universal-w2") / "global_step5_universal", "--partial"}, 4,
        "unsupported");
    const Json aside = errorOf({"fingerprint", samplePath("stage0-adafactor")}, 4, "unsupported");
    CHECK(aside.at("message").get<std::string>().find("row_var") != std::string::npos);
    const ProcessResult text = runShardscope({"fingerprint", path, "--no-color", "--per-parameter"});
    CHECK(text.exitCode == 0);
    CHECK(text.out.starts_with(printOf(path)));
    CHECK(text.out.find("group/0 option/lr") != std::string::npos);
    const TemporaryFolder folder;
    const fs::path part3 = part(samplePath("zero3-w4"), folder / "p", {"rank_3_"});
    const ProcessResult less = runShardscope({"fingerprint", part3, "--partial", "--no-color"});
    CHECK(less.exitCode == 0);
    CHECK(less.out.starts_with("not complete"));
    CHECK(less.out.find("missing  bf16_zero_pp_rank_0") != std::string::npos);
}
