// SPDX-License-Identifier: Apache-2.0
// The swap folder of a run that ended without a save, with an earlier checkpoint as donor of missing
// records. Also marked results: they hold values that no run saved.
#include "tests/cli/cli_fixture.h"
#include "tests/support/swapped_checkpoint.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr const char* kSample = "zero3-w4";
constexpr const char* kSwapped = "layers.0.attention.wk.weight"; ///< in sub-group 0 or 2

/// A run that kept these sub-groups in swap files, saved, and continued: its swap folder is of a later step.
class EndedRun
{
public:
    explicit EndedRun(const std::vector<uint32_t>& subgroups)
        : m_saved(copySample(kSample, m_folder))
    {
        swapOut(m_saved / kTag, {.subgroups = subgroups});
        fs::copy(m_saved, later(), fs::copy_options::recursive);
        for (const auto& entry : fs::recursive_directory_iterator(later() / kTag / "offloaded_tensors"))
            goOn(entry);
        fs::copy(later(), m_folder / "ended", fs::copy_options::recursive);
        makeLive(m_folder / "ended" / kTag, swap());
        fs::remove_all(m_folder / "ended");
    }

    [[nodiscard]] fs::path saved() const { return m_saved; }
    [[nodiscard]] fs::path swap() const { return m_folder / "nvme"; }
    /// The checkpoint that the run would have saved at its end.
    [[nodiscard]] fs::path later() const { return m_folder / "later"; }
    [[nodiscard]] fs::path operator/(const std::string& name) const { return m_folder / name; }

private:
    static constexpr const char* kTag = "global_step5";

    /// Other values, of the same signs.
    static void goOn(const fs::directory_entry& entry)
    {
        if (!entry.is_regular_file())
            return;
        std::string bytes = slurp(entry.path());
        for (size_t at = 0; at < bytes.size(); at += 4)
            bytes[at] = static_cast<char>(bytes[at] ^ 0x15);
        spill(entry.path(), bytes);
    }

    TemporaryFolder m_folder;
    fs::path m_saved;
};

} // namespace

TEST_CASE("a swap folder without a checkpoint is salvaged with a donor, and the result is marked")
{
    const EndedRun run({0, 2});
    const Json seen = answerOf({"inspect", run.swap(), "--donor", run.saved()});
    CHECK(seen.at("complete") == true);
    CHECK(findingsOf(seen.at("findings"), "swap-mismatch").empty());
    const Json marks = findingsOf(seen.at("findings"), "marked");
    REQUIRE(marks.size() == 1);
    CHECK(marks[0].at("message")
        == "the states of 2 sub-groups are those that a run left in its swap folder; those of 1 sub-group "
           "that it "
           "did not swap, steps, options and scheduler are the donor's, of step 5");

    const Json written
        = answerOf({"reshard", run.swap(), run / "to3", "--world-size", "3", "--donor", run.saved()});
    CHECK(findingsOf(written.at("plan").at("warnings"), "marked").size() == 1);
    for (const std::string state : {"fp32", "exp_avg", "exp_avg_sq"}) {
        CAPTURE(state);
        const std::string address = std::string(kSwapped) + "#" + state;
        const Json values = answerOf({"show", run / "to3", address}).at("values");
        CHECK(values == answerOf({"show", run.later(), address}).at("values"));
        CHECK(values != answerOf({"show", run.saved(), address}).at("values"));
    }
    // The result equals the later checkpoint: values that were not swapped are equal in both.
    CHECK(answerOf({"verify", run / "to3", "--allow-marked", "--against", run.later()}).at("ok") == true);
    CHECK(answerOf({"verify", run / "to3", "--allow-marked", "--against", run.saved()}, 1).at("ok") == false);

    // The mark stays in the result and in later rewrites of it.
    answerOf({"convert", run / "to3", run / "universal", "--to", "universal"});
    for (const fs::path& result : {run / "to3", run / "universal"}) {
        const Json again = findingsOf(answerOf({"inspect", result}).at("findings"), "marked");
        REQUIRE(again.size() == 1);
        CHECK(again[0].at("message") == marks[0].at("message"));
        CHECK(again[0].at("severity") == "warning");
    }
}

TEST_CASE("a donor of a run without swapping identifies the files by size")
{
    const EndedRun run({0, 1, 2});
    const Json seen = answerOf({"inspect", run.swap(), "--donor", samplePath(kSample)});
    CHECK(seen.at("complete") == true);
    answerOf({"reshard", run.swap(), run / "to1", "--world-size", "1", "--donor", samplePath(kSample)});
    CHECK(answerOf({"verify", run / "to1", "--allow-marked", "--against", run.later()}).at("ok") == true);
}

TEST_CASE("a saved plan knows the donor")
{
    const EndedRun run({0, 1, 2});
    answerOf({"plan", "reshard", run.swap(), run / "to2", "--world-size", "2", "--donor", run.saved(), "-o",
        run / "plan.json"});
    answerOf({"run", run / "plan.json"});
    CHECK(answerOf({"verify", run / "to2", "--allow-marked", "--against", run.later()}).at("ok") == true);
    CHECK(findingsOf(answerOf({"inspect", run / "to2"}).at("findings"), "marked").size() == 1);
}

TEST_CASE("an unsuitable donor of a swap folder is refused with the reason")
{
    const EndedRun run({0, 1, 2});
    const Json stage
        = errorOf({"reshard", run.swap(), run / "no", "--world-size", "2", "--donor", samplePath("zero2-w2")},
            4, "unsupported");
    CHECK(stage.at("message").get<std::string>().find("only a ZeRO-3 checkpoint") != std::string::npos);
    errorOf({"reshard", samplePath("zero2-w2"), run / "no", "--world-size", "2", "--donor", run.saved()}, 2,
        "usage");
    // Another number of ranks: the sizes do not match, and the error names the ranks.
    answerOf({"reshard", samplePath(kSample), run / "of2", "--world-size", "2"});
    const Json ranks = errorOf(
        {"reshard", run.swap(), run / "no", "--world-size", "2", "--donor", run / "of2"}, 6, "refused");
    CHECK(ranks.at("message").get<std::string>().find(
              "has 2 ranks that the donor, which was saved by 2 ranks, does not have")
        != std::string::npos);
    CHECK(!fs::exists(run / "no"));
    // The workaround that the finding names works.
    answerOf({"reshard", run / "of2", run / "of4", "--world-size", "4"});
    answerOf({"reshard", run.swap(), run / "yes", "--world-size", "2", "--donor", run / "of4"});
    CHECK(answerOf({"verify", run / "yes", "--allow-marked", "--against", run.later()}).at("ok") == true);
}

TEST_CASE("a result written despite a finding is marked with it")
{
    const EndedRun run({0, 2});
    const Words words{"reshard", run.saved(), run / "mixed", "--world-size", "2", "--root", run.swap()};
    errorOf(words, 6, "refused");
    Words allowed = words;
    allowed.insert(allowed.end(), {"--allow", "swap-mismatch"});
    answerOf(allowed);
    const Json marks = findingsOf(answerOf({"inspect", run / "mixed"}).at("findings"), "marked");
    REQUIRE(marks.size() == 1);
    CHECK(marks[0].at("message").get<std::string>().starts_with("written despite swap-mismatch: "));
    // Without --allow nothing is marked.
    answerOf(
        {"reshard", samplePath(kSample), run / "plain", "--world-size", "2", "--allow", "swap-mismatch"});
    CHECK(findingsOf(answerOf({"inspect", run / "plain"}).at("findings"), "marked").empty());
}

TEST_CASE("a foreign manifest marks nothing and stops nothing")
{
    const TemporaryFolder folder;
    const fs::path run = copySample(kSample, folder);
    for (const char* text : {"", "{", "[]", "{\"marked\": 1,\n\"files\": []}",
             "{\"marked\": [1, {\"message\": 2}, {}],\n\"files\": [",
             "{\"marked\": [[[[[[[\n\"files\": []}"}) {
        CAPTURE(std::string(text));
        spill(run / "global_step5/shardscope.json", text);
        CHECK(answerOf({"inspect", run}).at("complete") == true);
    }
}
