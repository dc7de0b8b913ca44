// SPDX-License-Identifier: Apache-2.0
// Files without permission to read or write. Root may access everything, so root runs these tests as nobody.
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <unistd.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr uid_t kNobody = 65534;
const std::string kOptim1 = "global_step6/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt";
const std::string kModel = "global_step6/mp_rank_00_model_states.pt";

/// Gives up root's rights for a while.
class AsNobody
{
public:
    AsNobody()
        : m_wasRoot(::geteuid() == 0)
    {
        if (m_wasRoot)
            REQUIRE(::seteuid(kNobody) == 0);
    }
    ~AsNobody()
    {
        if (m_wasRoot && ::seteuid(0) != 0)
            std::abort();
    }
    AsNobody(const AsNobody&) = delete;
    AsNobody& operator=(const AsNobody&) = delete;

private:
    bool m_wasRoot;
};

/// A copy of zero2-w2 in a folder where nobody may write.
struct Bench {
    TemporaryFolder folder;
    fs::path run = copySample("zero2-w2", folder);

    Bench() { fs::permissions(folder.path(), fs::perms::all); }
    ~Bench() // otherwise it could not be removed
    {
        for (const char* const name : {"", "global_step6"})
            fs::permissions(run / name, fs::perms::owner_all);
    }
    void checkWithout(const std::string& name, const Row& row, const std::string& word)
    {
        CAPTURE(name);
        const fs::path path = name.empty() ? run : run / name;
        const fs::perms kept = fs::status(path).permissions();
        fs::permissions(path, fs::perms::none);
        {
            const AsNobody nobody;
            checkRow(run, row, word, folder);
        }
        fs::permissions(path, kept);
    }
};

} // namespace

TEST_CASE("no permission to read the source, or a part of it")
{
    Bench bench;
    bench.checkWithout("", kNothingHere, "Permission denied");
    bench.checkWithout("latest", kNoTag, "latest");
    bench.checkWithout("global_step6", kNoTag, "global_step6");
    bench.checkWithout(kOptim1, kOneFileBad, "file-unreadable");
    bench.checkWithout(kModel, kModelUnreadable, "file-unreadable");
    bench.checkWithout("global_step3", kFine, "global_step6");
}

TEST_CASE("a folder without permission is not an absent one")
{
    Bench bench;
    const auto findingsOf
        = [](const Json& answer) { return answer.at("results").at(0).at("findings").dump(); };
    const std::string rights = "mode 0700, owner " + std::to_string(::getuid()) + ":";
    fs::permissions(bench.run / "global_step6", fs::perms::owner_all);
    if (::geteuid() != 0)
        fs::permissions(bench.run / "global_step6", fs::perms::none);
    {
        const AsNobody nobody;
        const Json answer = runVerb({"check", bench.run, "--depth", "names"}, 1);
        const std::string text = findingsOf(answer);
        CAPTURE(text);
        CHECK(text.find("file-unreadable") != std::string::npos);
        CHECK(text.find("Permission denied (") != std::string::npos);
        if (::getuid() == 0)
            CHECK(text.find(rights) != std::string::npos);
        CHECK(text.find("latest-dangling") == std::string::npos);
        CHECK(text.find("shardscope repair") == std::string::npos);
        CHECK(text.find("global_step3") == std::string::npos);
        const Json named = runVerb({"inspect", bench.run, "--tag", "global_step6"}, 3);
        CHECK(named.at("code") == "unreadable");
        CHECK(named.at("message").get<std::string>().find("Permission denied (") != std::string::npos);
        const Json refused = runVerb({"params", bench.run}, 3);
        CHECK(refused.at("code") == "unreadable");
    }
    fs::remove(bench.run / "latest");
    {
        const AsNobody nobody;
        const std::string text = findingsOf(runVerb({"check", bench.run, "--depth", "names"}, 1));
        CAPTURE(text);
        CHECK(text.find("latest-missing") != std::string::npos);
        CHECK(text.find("the newest is") == std::string::npos);
        CHECK(text.find("shardscope repair") == std::string::npos);
    }
}

TEST_CASE("a pointer file without permission is neither missing nor dangling")
{
    Bench bench;
    fs::permissions(bench.run / "latest", fs::perms::none);
    const AsNobody nobody;
    const std::string text = runVerb({"check", bench.run, "--depth", "names"}, 1).dump();
    CAPTURE(text);
    CHECK(text.find("file-unreadable") != std::string::npos);
    CHECK(text.find("mode 0000, owner") != std::string::npos);
    CHECK(text.find("latest-missing") == std::string::npos);
    CHECK(text.find("latest-dangling") == std::string::npos);
    CHECK(text.find("shardscope repair") == std::string::npos);
}

TEST_CASE("a newer checkpoint without permission is not replaced by an older one")
{
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    fs::create_directory(folder / "out");
    for (const char* const name : {"checkpoint-3", "checkpoint-6"})
        fs::copy(samplePath("zero2-w2"), fs::path(folder / "out") / name, fs::copy_options::recursive);
    const fs::path newer = fs::path(folder / "out") / "checkpoint-6";
    fs::permissions(newer, fs::perms::none);
    {
        const AsNobody nobody;
        const Json error = runVerb({"inspect", folder / "out"}, 3);
        CHECK(error.at("code") == "unreadable");
        CHECK(error.at("path").get<std::string>().ends_with("checkpoint-6"));
        CHECK(runVerb({"inspect", folder / "out", "--tag", "checkpoint-6"}, 3).at("code") == "unreadable");
        runVerb({"inspect", folder / "out", "--tag", "checkpoint-3"}, 0);
    }
    fs::permissions(newer, fs::perms::owner_all);
}

TEST_CASE("a loop of links is not an absent tag")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    fs::create_symlink("loop", run / "loop");
    spill(run / "latest", "loop");
    const std::string text = runVerb({"check", run, "--depth", "names"}, 1).dump();
    CAPTURE(text);
    CHECK(text.find("file-unreadable") != std::string::npos);
    CHECK(text.find("latest-dangling") == std::string::npos);
}

TEST_CASE("a lone file that may not be read")
{
    const TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms::all);
    spill(folder / "weights.pt", slurp(fs::path(sourceFolder()) / "tests/data/torch/tiny.pt"));
    fs::permissions(folder / "weights.pt", fs::perms::none);
    const AsNobody nobody;
    checkRow(folder / "weights.pt", kNothingHere, "Permission denied", folder);
}

TEST_CASE("a read-only source is read")
{
    Bench bench;
    for (const auto& entry : fs::recursive_directory_iterator(bench.run)) {
        fs::permissions(entry, entry.is_directory() ? fs::perms(0555) : fs::perms(0444));
    }
    fs::permissions(bench.run, fs::perms(0555));
    const AsNobody nobody;
    checkRow(bench.run, kFine, "zero2", bench.folder);
    runVerb({"reshard", bench.run, bench.folder / "out", "-w", "3"}, 0);
    runVerb({"verify", bench.folder / "out", "--against", bench.run}, 0);
    fs::remove_all(bench.folder / "out");
}

TEST_CASE("no permission to write the target")
{
    Bench bench;
    fs::create_directory(bench.folder / "locked");
    fs::permissions(bench.folder / "locked", fs::perms(0555));
    fs::create_directory(bench.folder / "dark");
    fs::permissions(bench.folder / "dark", fs::perms::none);
    const auto before = traceOf(bench.folder.path());
    {
        const AsNobody nobody;
        for (const char* const target : {"locked", "locked/out", "locked/a/b", "dark", "dark/out"}) {
            CAPTURE(std::string(target));
            for (const bool isDry : {false, true}) {
                std::vector<std::string> words{"reshard", bench.run, bench.folder / target, "-w", "3"};
                if (isDry)
                    words.emplace_back("--dry-run");
                const Json error = runVerb(words, 5);
                CAPTURE(error.dump());
                CHECK(error.at("message").get<std::string>().find("Permission denied") != std::string::npos);
                CHECK(error.at("path").get<std::string>().find(bench.folder / "") == 0);
            }
        }
        const Json plan = runVerb({"plan", "reshard", bench.run, bench.folder / "out", "-w", "3", "-o",
                                      bench.folder / "locked/plan"},
            5);
        CHECK(plan.at("code") == "no-permission");
    }
    CHECK(traceOf(bench.folder.path()) == before);
    fs::permissions(bench.folder / "dark", fs::perms::owner_all);
}

TEST_CASE("a manifest that may not be read is not a missing manifest")
{
    Bench bench;
    const fs::path out = bench.folder / "out";
    const fs::path manifest = out / "global_step6/shardscope.json";
    runVerb({"reshard", bench.run, out, "-w", "3"}, 0);
    fs::permissions(bench.folder / "out", fs::perms::all);
    fs::permissions(manifest.parent_path(), fs::perms::all);
    fs::permissions(manifest, fs::perms::none);
    const AsNobody nobody;
    const Json verified = runVerb({"verify", out}, 1);
    CHECK(verified.dump().find("file-unreadable") != std::string::npos);
    const Json error = runVerb({"reshard", bench.run, out, "-w", "3", "--force"}, 5);
    CHECK(error.at("message").get<std::string>().find("Permission denied") != std::string::npos);
    CHECK(error.at("path") == manifest.string());
}

TEST_CASE("a repair record that may not be read is not a missing one")
{
    Bench bench;
    const fs::path out = bench.folder / "out";
    fs::remove(bench.run / kOptim1);
    runVerb({"repair", bench.run, out, "--fix", "rank-missing", "--moments", "zeros"}, 0);
    fs::permissions(out / "global_step6/repair.json", fs::perms::none);
    const AsNobody nobody;
    const Json error = runVerb({"repair", out, bench.folder / "again", "--undo"}, 3);
    CHECK(error.at("code") == "unreadable");
}

TEST_CASE("check names the folders in which it could not search for missing files")
{
    Bench bench;
    fs::remove(bench.run / kOptim1);
    const fs::path dark = bench.run / "dark";
    fs::create_directory(dark);
    fs::permissions(dark, fs::perms::none);
    {
        const AsNobody nobody;
        const std::string found = runVerb({"check", bench.run}, 1).dump();
        CHECK(found.find("not-examined") != std::string::npos);
        CHECK(found.find("split-shards") != std::string::npos);
        CHECK(found.find("rank-missing") != std::string::npos);
    }
    fs::permissions(dark, fs::perms::all);
    fs::permissions(bench.run, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec);
    const AsNobody nobody;
    const std::string found = runVerb({"check", bench.run / "global_step6"}, 1).dump();
    CHECK(found.find("files next to the tag cannot be listed") != std::string::npos);
}

TEST_CASE("a tag folder of a root that may not be read is not skipped")
{
    Bench bench;
    const fs::path root = bench.folder / "root";
    fs::create_directories(root / "global_step6");
    fs::rename(bench.run / kOptim1, root / kOptim1);
    runVerb({"verify", bench.run, "--root", root}, 0);
    fs::permissions(root / "global_step6", fs::perms::none);
    {
        const AsNobody nobody;
        const Json error = runVerb({"verify", bench.run, "--root", root}, 3);
        CHECK(error.at("message").get<std::string>().find("Permission denied") != std::string::npos);
    }
    fs::permissions(root / "global_step6", fs::perms::all);
}
