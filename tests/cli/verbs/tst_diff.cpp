// SPDX-License-Identifier: Apache-2.0
// `diff` as a process: the same state in every form, and what differs between two times of a run.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

bool names(const Json& answer, const std::string& cause)
{
    return std::any_of(answer.at("causes").begin(), answer.at("causes").end(),
        [&](const Json& one) { return one.at("code") == cause; });
}

} // namespace

TEST_CASE("a state that neither side has is an error, not equality")
{
    const Json error = errorOf(
        {"diff", samplePath("zero2-w2"), samplePath("zero2-w2"), "--state", "exp_avgsq"}, 2, "usage");
    CHECK(error.at("hint") == "did you mean `exp_avg_sq`?");
    CHECK(answerOf({"diff", samplePath("zero2-w2"), samplePath("zero2-w2"), "--state", "exp_avg_sq"})
              .at("equal")
        == true);
    errorOf({"stats", samplePath("zero2-w2"), "--state", "exp_avgsq"}, 2, "usage");
}

TEST_CASE("what neither side has is not compared, and says so")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path lost = run / "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
    const auto check = [&](const Words& why) {
        CAPTURE(why.front());
        const Json answer = answerOf({"diff", run, run}, 6);
        CHECK(answer.at("equal") == false);
        CHECK(answer.at("verdict") == "same-in-part");
        CHECK(answer.at("verdict_text").get<std::string>().find("were not compared") != std::string::npos);
        const Json& left = answer.at("not_compared");
        CHECK(left.at("why") == Json(why));
        CHECK(left.at("parameters").get<int>() > 10);
        CHECK(left.at("tensors").get<int>() > 30);
        const Json whole = answerOf({"diff", samplePath("zero2-w2"), samplePath("zero2-w2")});
        CHECK(whole.at("not_compared").at("why").empty());
        CHECK(answer.at("compared").at("elements").get<uint64_t>() + left.at("elements").get<uint64_t>()
            == whole.at("compared").at("elements").get<uint64_t>());
        Words allowed{"diff", run, run};
        for (const std::string& code : why)
            allowed.insert(allowed.end(), {"--allow", code});
        answerOf(allowed);
        allowed.back() = "state-length"; // all but one
        answerOf(allowed, 6);
        const std::string text = runShardscope({"diff", run, run}).out;
        CHECK(text.find("what was compared is the same; ") == 0);
        for (const std::string& code : why)
            CHECK(text.find("[" + code + "]") != std::string::npos);
        errorOf({"fingerprint", run}, 6, "refused");
    };
    fs::resize_file(lost, fs::file_size(lost) / 2);
    check({"file-torn", "record-missing", "tensor-invalid"});
    fs::remove(lost);
    check({"rank-missing"});
}

TEST_CASE("every sample keeps its training state in other world sizes and forms")
{
    for (const std::string& sample : kSampleNames) {
        CAPTURE(sample);
        const TemporaryFolder folder;
        const fs::path source = samplePath(sample);
        answerOf({"reshard", source, folder / "native", "-w", "5"});
        answerOf({"convert", source, folder / "universal", "--to", "universal"});
        for (const char* const form : {"native", "universal"}) {
            CAPTURE(form);
            const Json answer = answerOf({"diff", source, folder / form});
            CHECK(answer.at("equal") == true);
            const std::string verdict = answer.at("verdict");
            CHECK((verdict == "same-training-state" || verdict == "different-in-padding"));
            CHECK(answer.at("differences").empty());
            CHECK(answer.at("causes").empty());
            CHECK(answer.at("compared").at("tensors").get<int>() > 60);
            CHECK(answer.at("compared").at("scalars").get<int>() > 30);
            const Json back = answerOf({"diff", folder / form, source, "--jobs", "1"});
            CHECK(back.at("compared") == answer.at("compared"));
        }
    }
}

TEST_CASE("two times of a run: which tensors, how far, and why")
{
    // The sample has two tags.
    const fs::path run = samplePath("zero2-w2");
    const Json tags = answerOf({"inspect", run}).at("tags");
    REQUIRE(tags.size() == 2);
    const std::string first = tags[0];
    const Json answer = answerOf({"diff", run, run, "--other-tag", first}, 1);
    CHECK(answer.at("equal") == false);
    CHECK(answer.at("verdict") == "will-train-differently");
    CHECK(answer.at("left").at("tag") == tags[1]);
    CHECK(answer.at("right").at("tag") == first);
    CHECK(names(answer, "other-step"));
    CHECK(answer.at("counts").at("differences") == answer.at("differences").size());
    CHECK(answer.at("counts").at("incomplete") == 0);
    double before = 1e300;
    for (const Json& update : answer.at("updates")) {
        const double step = std::max(
            update.at("without_gradient").get<double>(), update.at("with_unit_gradient").get<double>());
        CHECK(step <= before); // the most important comes first
        before = step;
    }
    CHECK(before < 1e300);
    const Json wide
        = answerOf({"diff", run, run, "--other-tag", first, "--state", "fp32", "--atol", "10"}, 1);
    for (const Json& difference : wide.at("differences")) {
        if (difference.at("kind") != "values")
            continue;
        CHECK(difference.at("state") == "fp32");
        CHECK(difference.at("beyond_tolerance") == 0);
        CHECK(difference.at("count").get<int>() > 0);
    }
    const ProcessResult text = runShardscope({"diff", run, run, "--other-tag", first, "--limit", "3"});
    CHECK(text.exitCode == 1);
    CHECK(text.out.find("will train differently") != std::string::npos);
    CHECK(text.out.find("more; --limit") != std::string::npos);
}

TEST_CASE("the answer does not depend on the number of jobs")
{
    const fs::path run = samplePath("zero2-w2");
    const std::string first = answerOf({"inspect", run}).at("tags")[0];
    const auto text = [&](const char* jobs) {
        return runShardscope({"diff", run, run, "--other-tag", first, "--json", "--jobs", jobs}).out;
    };
    CHECK(text("1") == text("6"));
}

TEST_CASE("a rank that no side holds is not one that is equal")
{
    const TemporaryFolder first;
    const TemporaryFolder second;
    const fs::path left = copySample("zero2-w2", first) / "global_step3";
    const fs::path right = copySample("zero2-w2", second) / "global_step6";
    for (const fs::path& tag : {left, right})
        fs::remove(tag / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    const Json answer = answerOf({"diff", left, right}, 6);
    CHECK_FALSE(answer.at("differences").empty());
    CHECK_FALSE(names(answer, "stale-shard"));
}

TEST_CASE("a lost rank is reported, and different models are not compared")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    for (const auto& entry : fs::directory_iterator(run / "global_step5")) {
        if (entry.path().filename().string().find("pp_rank_2_mp_rank_00_optim") != std::string::npos)
            fs::remove(entry.path());
    }
    const Json lost = answerOf({"diff", samplePath("zero3-w4"), run}, 1);
    CHECK(names(lost, "states-missing"));
    // The other ranks' elements are compared; those of the lost one are counted.
    CHECK_FALSE(lost.at("equal").get<bool>());
    CHECK(
        lost.at("verdict_text")
            .get<std::string>()
            .starts_with("what was compared is the same, but the right side lacks a part of the state; in "));
    CHECK(lost.at("counts").at("differences") == 0);
    CHECK(lost.at("counts").at("incomplete") == lost.at("differences").size());
    uint64_t notCompared = 0;
    for (const Json& difference : lost.at("differences")) {
        CHECK(difference.at("kind") == "incomplete-right");
        notCompared += difference.at("not_compared").get<uint64_t>();
    }
    CHECK(notCompared > 0);
    CHECK(lost.at("not_compared").at("elements") == notCompared);
    CHECK(lost.at("not_compared").at("why").empty());
    const Json whole = answerOf({"diff", samplePath("zero3-w4"), samplePath("zero3-w4")}).at("compared");
    CHECK(lost.at("compared").at("elements").get<uint64_t>() + notCompared == whole.at("elements"));
    // Under ZeRO-2, all of a parameter may be on the rank that is lost.
    const fs::path second = copySample("zero2-w2", folder);
    fs::remove(second / "global_step6" / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
    for (const Json& difference : answerOf({"diff", second, samplePath("zero2-w2")}, 1).at("differences"))
        CHECK(difference.at("kind") == "incomplete-left");
    CHECK(answerOf({"diff", run, samplePath("zero3-w4")}, 1).at("differences").at(0).at("kind")
        == "incomplete-left");
    const std::string text = runShardscope({"diff", samplePath("zero3-w4"), run}).out;
    CHECK(
        text.find("the right checkpoint is not complete: states of 31 parameters lack") != std::string::npos);
    CHECK(text.find("only left") == std::string::npos);
    const std::string count = std::to_string(lost.at("differences").size());
    CHECK(text.find("no differences, " + count + " tensors incomplete\n") != std::string::npos);
    CHECK(text.find(count + " differences") == std::string::npos);
    CHECK(text.find("256 of 1,024 not compared: not complete on the right") != std::string::npos);
    const Json other = answerOf({"diff", samplePath("zero2-w2"), samplePath("zero3-w4")}, 1);
    CHECK(other.at("verdict") == "not-comparable");
    CHECK(names(other, "parameters-differ"));
    errorOf({"diff", run, folder / "none"}, 3, "not-found");
    errorOf({"diff", run}, 2, "usage");
    errorOf({"diff", run, run, "--rtol", "-1"}, 2, "usage");
    errorOf({"diff", run, run, "--atol", "1x"}, 2, "usage");
}
