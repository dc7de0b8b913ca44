// SPDX-License-Identifier: Apache-2.0
// `ensure` as a process: one line of a launch script, called by many at once, killed, and called again.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <csignal>
#include <random>
#include <regex>
#include <thread>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr const char* kShard = "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";

fs::path resharded(const fs::path& run, const fs::path& to, const std::string& ranks)
{
    REQUIRE(runShardscope({"reshard", run, to, "-w", ranks, "--quiet"}).exitCode == 0);
    return to;
}

/// A folder's content, as a plain reshard writes it: the manifest of a copy also records the run.
std::vector<std::pair<std::string, std::string>> asResharded(const fs::path& folder)
{
    static const std::regex kRun(R"re(,"run":"[0-9a-f]{16}")re");
    auto out = contentOf(folder);
    for (auto& [name, bytes] : out) {
        if (name.ends_with("shardscope.json"))
            bytes = std::regex_replace(bytes, kRun, "");
    }
    return out;
}

/// The line that a launch script gets.
std::string lineOf(const Words& words, int exitCode = 0)
{
    const ProcessResult result = runShardscope(words);
    CHECK_MESSAGE(result.exitCode == exitCode, result.err);
    return result.out.empty() ? result.out : result.out.substr(0, result.out.size() - 1);
}

} // namespace

TEST_CASE("ensure prints the run where it fits, and else a copy that it makes once")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const auto before = contentOf(run);
    CHECK(lineOf({"ensure", run, "-w", "2"}) == run.string());
    CHECK(answerOf({"ensure", run, "-w", "2"}).at("how") == "fits");
    CHECK(answerOf({"ensure", run, "-w", "2", "--stage", "2"}).at("how") == "fits");
    const std::string copy = run.string() + "-w3";
    const Json made = answerOf({"ensure", run, "-w", "3"});
    CHECK(made.at("how") == "made");
    CHECK(made.at("folder") == copy);
    CHECK(made.at("result").at("verified") == true);
    CHECK(asResharded(copy) == contentOf(resharded(run, folder / "direct", "3")));
    CHECK(lineOf({"ensure", run / "global_step3", "-w", "3"}) == copy);
    CHECK(answerOf({"ensure", run, "-w", "3"}).at("how") == "found");
    CHECK(lineOf({"ensure", run, "-w", "2", "--stage", "3"}) == run.string() + "-w2-stage3");
    CHECK(lineOf({"ensure", run, "-w", "3", "--into", folder / "there"}) == folder / "there");
    CHECK(contentOf(run) == before);
}

TEST_CASE("ensure passes over tags that are not complete or damaged, and says so")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const std::string whole = slurp(run / "global_step6" / kShard);
    fs::remove(run / "global_step6" / kShard);
    const Json answer = answerOf({"ensure", run, "-w", "3"});
    CHECK(answer.at("tag") == "global_step3");
    CHECK(answer.at("passed_over").at(0).at("tag") == "global_step6");
    // `latest` names the tag that is not complete, so the run itself would load that.
    CHECK(answerOf({"ensure", run, "-w", "2"}).at("how") == "made");

    // Damage that only a read of all values finds.
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
    spill(run / "global_step6" / kShard, flipped);
    const ProcessResult damaged = runShardscope({"ensure", run, "-w", "5"});
    CHECK(damaged.exitCode == 0);
    CHECK(damaged.err.find("passed over") != std::string::npos);
    CHECK(answerOf({"inspect", run.string() + "-w5"}).at("tag") == "global_step3");

    for (const char* tag : {"global_step3", "global_step6"})
        fs::remove(run / tag / kShard);
    CHECK(lineOf({"ensure", run, "-w", "4"}, 6).empty());
    const std::string none = errorOf({"ensure", run, "-w", "4"}, 6, "refused").at("message");
    CHECK(none.find("global_step6: ") != std::string::npos);
    CHECK(none.find("global_step3: ") != std::string::npos);
    errorOf({"ensure", folder / "absent", "-w", "4"}, 3, "not-found");
    errorOf({"ensure", run, "-w", "0"}, 2, "usage");
}

TEST_CASE("a copy of a tag that was saved again is replaced, and older copies are removed")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::rename(run / "global_step6", folder / "kept");
    spill(run / "latest", "global_step3");
    const fs::path copies = folder / "copies";
    const Words command{"ensure", run, "-w", "3", "--into", copies, "--keep", "1"};
    CHECK(answerOf(command).at("tag") == "global_step3");
    fs::create_directory(copies / "global_step1"); // nothing that ensure has made
    spill(copies / "global_step1/mine.txt", "mine");
    fs::rename(folder / "kept", run / "global_step6");
    spill(run / "latest", "global_step6");
    const Json next = answerOf(command);
    CHECK(next.at("tag") == "global_step6");
    REQUIRE(next.at("removed").size() == 1);
    CHECK(next.at("removed").at(0).at("folder") == (copies / "global_step3").string());
    CHECK(!fs::exists(copies / "global_step3"));
    CHECK(fs::exists(copies / "global_step1/mine.txt"));
    CHECK(slurp(copies / "latest") == "global_step6");

    // The source of the newer copy is damaged now: that copy is not removed for an older one.
    fs::remove(run / "global_step6" / kShard);
    CHECK(answerOf(command).at("removed").empty());
    CHECK(slurp(copies / "latest") == "global_step3");
    CHECK(fs::exists(copies / "global_step6/shardscope.json"));

    const fs::path model = run / "global_step3/mp_rank_00_model_states.pt";
    fs::last_write_time(model, fs::last_write_time(model) + std::chrono::seconds(9));
    CHECK(answerOf(command).at("how") == "made");
    CHECK(answerOf(command).at("how") == "found");
}

TEST_CASE("ensure warns of a tag that is marked, before it copies it and where it fits")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::remove(run / "global_step6" / kShard);
    answerOf(
        {"repair", run, folder / "repaired", "--fix", "all", "--masters", "copies", "--moments", "zeros"});
    for (const char* ranks : {"3", "3", "2"}) { // made, found, fits
        const Words command{"ensure", folder / "repaired", "-w", ranks};
        const Json answer = answerOf(command);
        CHECK(answer.at("marks").size() > 0);
        CHECK(answer.at("marks")[0].at("code") == "marked");
        const ProcessResult text = runShardscope(command);
        CHECK(text.exitCode == 0);
        CHECK(text.err.find("warning: global_step6 is marked: ") != std::string::npos);
    }
    CHECK(answerOf({"ensure", samplePath("zero2-w2"), "-w", "2"}).at("marks").empty());
}

TEST_CASE("a run that saves into the folder of copies loses nothing")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const Words command{"ensure", run, "-w", "3"};
    const fs::path copies = answerOf(command).at("folder").get<std::string>();
    // It went on from the copy, and saved there.
    fs::copy(copies / "global_step6", copies / "global_step12", fs::copy_options::recursive);
    fs::remove(copies / "global_step12/shardscope.json");
    spill(copies / "latest", "global_step12");
    const auto before = contentOf(copies);
    const Json error = errorOf(command, 5, "target-exists");
    CHECK(error.at("path") == (copies / "global_step12").string());
    CHECK(contentOf(copies) == before);
    CHECK(answerOf({"ensure", copies, "-w", "3"}).at("tag") == "global_step12");

    // A tag of the same name that is no copy.
    fs::remove(copies / "global_step6/shardscope.json");
    spill(copies / "latest", "global_step6");
    errorOf(command, 5, "target-exists");
    CHECK(answerOf({"ensure", run, "-w", "3", "--into", folder / "elsewhere"}).at("how") == "made");
}

TEST_CASE("in a Trainer's output folder ensure prints a numbered checkpoint")
{
    const TemporaryFolder folder;
    const fs::path output = folder / "out";
    fs::create_directory(output);
    for (const auto& [name, sample] :
        {std::pair("checkpoint-9", "zero2-w2"), {"checkpoint-10", "zero1-w2"}}) {
        fs::copy(samplePath(sample), output / name, fs::copy_options::recursive);
        spill(output / name / "trainer_state.json", R"({"global_step": 5})");
    }
    CHECK(lineOf({"ensure", output, "-w", "2"}) == output / "checkpoint-10");
    const fs::path copy = folder / "out-w3/checkpoint-10";
    CHECK(lineOf({"ensure", output, "-w", "3"}) == copy);
    CHECK(fs::exists(copy / "trainer_state.json"));
    CHECK(answerOf({"ensure", output, "-w", "3"}).at("how") == "found");
    fs::remove_all(output / "checkpoint-10");
    CHECK(lineOf({"ensure", output, "-w", "3", "--keep", "1"}) == folder / "out-w3/checkpoint-9");
}

TEST_CASE("a copy of one checkpoint of a Trainer is not put among those that the Trainer counts")
{
    const TemporaryFolder folder;
    const fs::path checkpoint = folder / "out/checkpoint-9";
    fs::create_directories(checkpoint.parent_path());
    fs::copy(samplePath("zero2-w2"), checkpoint, fs::copy_options::recursive);
    spill(checkpoint / "trainer_state.json", "{}");
    CHECK(lineOf({"ensure", checkpoint, "-w", "3"}) == folder / "out-checkpoint-9-w3");
}

TEST_CASE("ensure says what reshard would warn of")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const ProcessResult result = runShardscope({"ensure", run, "-w", "7"});
    CHECK(result.exitCode == 0);
    CHECK(result.err.find("is not divisible by 7") != std::string::npos);
    const ProcessResult again = runShardscope({"ensure", run, "-w", "7"});
    CHECK(again.err.find("is not divisible by 7") != std::string::npos);
    CHECK(runShardscope({"ensure", run, "-w", "7", "-q"}).err.empty());
    const Json warnings = answerOf({"ensure", run, "-w", "7"}).at("warnings");
    CHECK(warnings.dump().find("is not divisible by 7") != std::string::npos);
    CHECK(answerOf({"ensure", run, "-w", "2"}).at("warnings").empty());
    CHECK(runShardscope({"ensure", run, "-w", "2"}).err.find("divisible") == std::string::npos);
}

TEST_CASE("eight callers at once make one copy")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    std::vector<Json> answers(8);
    std::vector<std::thread> callers;
    for (Json& answer : answers)
        callers.emplace_back([&] {
            const ProcessResult result = runShardscope({"ensure", run, "-w", "3", "--json"});
            answer = Json::parse(result.out, nullptr, false);
        });
    for (std::thread& caller : callers)
        caller.join();
    size_t made = 0;
    for (const Json& answer : answers) {
        CHECK(answer.value("folder", Json()) == run.string() + "-w3");
        made += answer.value("how", Json()) == "made" ? 1 : 0;
    }
    CHECK(made == 1);
    CHECK(asResharded(run.string() + "-w3") == contentOf(resharded(run, folder / "direct", "3")));
}

TEST_CASE("a caller that is killed is succeeded by the one that waits, or by the next call")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-w4", folder);
    const auto wanted = contentOf(resharded(run, folder / "direct", "3"));
    std::mt19937 random(7);
    for (int round = 0; round < 12; ++round) {
        const fs::path into = folder / ("copies" + std::to_string(round));
        const Words words{programPath(), "ensure", run, "-w", "3", "--into", into};
        Process first(words);
        Process second(words);
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 160));
        first.signal(SIGKILL);
        (void)first.wait();
        const ProcessResult succeeded = second.wait();
        CHECK_MESSAGE(succeeded.exitCode == 0, succeeded.err);
        CHECK(lineOf({"ensure", run, "-w", "3", "--into", into}) == into);
        // One that is killed between publishing and removing its work folder leaves that folder; in the
        // moment after its lock was removed, an empty one, which `clean` does not know as its own.
        answerOf({"clean", into, "--remove"});
        auto found = asResharded(into);
        std::erase_if(found, [&](const auto& each) {
            return each.first.find(".partial-") != std::string::npos && fs::is_empty(into / each.first);
        });
        std::string names;
        for (const auto& [name, bytes] : found)
            names += name + "\n";
        CHECK_MESSAGE(found == wanted, names);
    }
}

namespace {

/// A folder's content, except paths with this text in them, and except the pointer file.
std::vector<std::pair<std::string, std::string>> without(
    std::vector<std::pair<std::string, std::string>> content, std::string_view text)
{
    std::erase_if(content, [&](const auto& each) {
        return each.first == "latest" || each.first.find(text) != std::string::npos;
    });
    return content;
}

} // namespace

TEST_CASE("--keep removes only copies of the same run, without other files in them")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const fs::path other = folder / "other";
    fs::copy(samplePath("zero2-w2"), other, fs::copy_options::recursive);
    const fs::path theirs = other / "global_step6" / kShard;
    fs::last_write_time(theirs, fs::last_write_time(theirs) + std::chrono::seconds(9));
    const fs::path copies = folder / "copies";
    const auto save = [&](const std::string& tag) { // the run goes on
        fs::rename(run / "global_step6", run / tag);
        spill(run / "latest", tag);
    };
    const auto ensure = [&](const fs::path& of, const std::string& keep) {
        return answerOf({"ensure", of, "-w", "3", "--into", copies, "--keep", keep});
    };
    save("global_step4");
    CHECK(ensure(run, "9").at("tag") == "global_step4");
    fs::rename(run / "global_step4", run / "global_step6");
    save("global_step5");
    CHECK(ensure(run, "9").at("tag") == "global_step5");
    fs::rename(run / "global_step5", run / "global_step6");
    // Copies that are not of this run: of another model, and of another run of the same model.
    REQUIRE(runShardscope({"reshard", samplePath("zero3-w4"), copies, "-w", "2", "--tag-out", "global_step1",
                              "--no-latest", "--quiet"})
                .exitCode
        == 0);
    REQUIRE(runShardscope({"ensure", other, "-w", "3", "--into", folder / "theirs"}).exitCode == 0);
    fs::rename(folder / "theirs/global_step6", copies / "global_step2");
    // A copy of this run with a note in it.
    spill(copies / "global_step4/notes.txt", "mine");
    // A folder with a manifest that leads out of it.
    spill(folder / "outside.pt", "mine");
    fs::create_directory(copies / "global_step0");
    std::string manifest = slurp(copies / "global_step4/shardscope.json");
    const std::string name = "mp_rank_00_model_states.pt";
    manifest.replace(manifest.find(name), name.size(), "../../outside.pt");
    spill(copies / "global_step0/shardscope.json", manifest);
    const auto before = contentOf(copies);

    const Json answer = ensure(run, "1");
    CHECK(answer.at("tag") == "global_step6");
    REQUIRE(answer.at("removed").size() == 1);
    CHECK(answer.at("removed").at(0).at("folder") == (copies / "global_step5").string());
    CHECK(!fs::exists(copies / "global_step5"));
    REQUIRE(answer.at("kept").size() == 3);
    CHECK(answer.at("kept").at(0).at("folder") == (copies / "global_step1").string());
    CHECK(answer.at("kept").at(1).at("why") == "it is a copy of another run");
    CHECK(answer.at("kept").at(2).at("why").get<std::string>().find("notes.txt") != std::string::npos);
    CHECK(slurp(folder / "outside.pt") == "mine");
    CHECK(without(contentOf(copies), "step6") == without(before, "step5"));
    const ProcessResult said = runShardscope({"ensure", run, "-w", "3", "--into", copies, "--keep", "1"});
    CHECK(said.err.find("not removed: " + (copies / "global_step4").string()) != std::string::npos);
    // The other run does not replace the copy of this one either.
    CHECK(errorOf({"ensure", other, "-w", "3", "--into", copies}, 5, "target-exists").at("path")
        == (copies / "global_step6").string());
}

TEST_CASE("--keep leaves numbered checkpoints with other tags or files alone")
{
    const TemporaryFolder folder;
    const fs::path output = folder / "out";
    fs::create_directory(output);
    const auto save = [&](const std::string& name) {
        fs::copy(samplePath("zero2-w2"), output / name, fs::copy_options::recursive);
        spill(output / name / "trainer_state.json", R"({"global_step": 5})");
        return answerOf({"ensure", output, "-w", "3", "--keep", "9"});
    };
    for (const char* name : {"checkpoint-5", "checkpoint-6", "checkpoint-7", "checkpoint-8"})
        CHECK(save(name).at("how") == "made");
    const fs::path copies = folder / "out-w3";
    fs::create_directory(copies / "checkpoint-5/my-tag");
    spill(copies / "checkpoint-5/my-tag/mine.pt", "mine");
    spill(copies / "checkpoint-6/trainer_state.json", "changed");
    fs::remove_all(output / "checkpoint-6"); // its copy is the only one
    const Json answer = answerOf({"ensure", output, "-w", "3", "--keep", "1"});
    REQUIRE(answer.at("removed").size() == 1);
    CHECK(answer.at("removed").at(0).at("folder") == (copies / "checkpoint-7").string());
    CHECK(!fs::exists(copies / "checkpoint-7"));
    CHECK(answer.at("kept").size() == 2);
    CHECK(slurp(copies / "checkpoint-5/my-tag/mine.pt") == "mine");
    CHECK(fs::exists(copies / "checkpoint-5/global_step6/shardscope.json"));
    CHECK(fs::exists(copies / "checkpoint-6/global_step6/shardscope.json"));
}

TEST_CASE("a copy that was found was looked at, and with --verify read")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    const Words command{"ensure", run, "-w", "3"};
    Words verified = command;
    verified.emplace_back("--verify");
    const fs::path tag = fs::path(answerOf(command).at("folder").get<std::string>()) / "global_step6";
    const fs::path shard = tag / kShard;
    const std::string whole = slurp(shard);
    const auto content = contentOf(tag.parent_path());
    const Json found = answerOf(command);
    CHECK(found.at("how") == "found");
    CHECK(found.at("verified") == false);
    CHECK(answerOf(verified).at("verified") == true);
    CHECK(answerOf({"ensure", run, "-w", "2", "--verify"}).at("verified") == true); // the run itself
    CHECK(answerOf({"ensure", run, "-w", "2"}).at("verified") == false);

    fs::remove(shard);
    CHECK(answerOf(command).at("how") == "made");
    fs::resize_file(shard, whole.size() / 2);
    CHECK(answerOf(command).at("how") == "made");
    CHECK(contentOf(tag.parent_path()) == content);

    // A bit that the disk has flipped: only reading shows it.
    const auto time = fs::last_write_time(shard);
    std::string flipped = whole;
    flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 1);
    spill(shard, flipped);
    fs::last_write_time(shard, time);
    CHECK(answerOf(command).at("how") == "found");
    CHECK(answerOf(verified).at("how") == "made");
    CHECK(contentOf(tag.parent_path()) == content);

    // Copied without its times it is the same copy.
    fs::last_write_time(shard, fs::file_time_type::clock::now() + std::chrono::seconds(5));
    CHECK(answerOf(command).at("how") == "found");
    // A run that saves there writes files of its own: they are neither taken for the copy nor replaced.
    for (const std::string& saved : {flipped, whole + "more"}) {
        spill(shard, saved);
        fs::last_write_time(shard, fs::file_time_type::clock::now() + std::chrono::seconds(5));
        const Json error = errorOf(command, 5, "target-exists");
        CHECK(error.at("message").get<std::string>().find(kShard) != std::string::npos);
        CHECK(slurp(shard) == saved);
    }
}
