// SPDX-License-Identifier: Apache-2.0
// Others write to the same folders: links, FIFOs and files that they put into any place of the protocol of
// the verbs that write. Nothing outside of the target is touched, nothing blocks, and the program either does
// its work or refuses.
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

constexpr uid_t kNobody = 65534;
const std::string kTag = "global_step6";

enum class Planted {
    LinkToFolder,
    LinkToFile,
    DanglingLink,
    LinkUp,
    Fifo,
    HardLink,
    ForeignFile,
    FolderOfOthers, ///< only root can make it
    FolderOfNotes,
};
constexpr std::array kPlanted{Planted::LinkToFolder, Planted::LinkToFile, Planted::DanglingLink,
    Planted::LinkUp, Planted::Fifo, Planted::HardLink, Planted::ForeignFile, Planted::FolderOfOthers,
    Planted::FolderOfNotes};

bool isLink(Planted what)
{
    return what <= Planted::LinkUp;
}

/// With the bytes of files; FIFOs are not opened.
std::map<std::string, std::string> fullTrace(const fs::path& folder)
{
    auto out = traceOf(folder);
    for (auto& [path, text] : out) {
        if (fs::is_regular_file(fs::symlink_status(path)))
            text += " " + slurp(path);
    }
    return out;
}

/// Path below `folder` → bytes of what a job published. A link or a FIFO has no bytes that a job writes.
std::map<std::string, std::string> published(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    if (!fs::is_directory(folder))
        return out;
    for (auto it = fs::recursive_directory_iterator(folder); it != fs::recursive_directory_iterator(); ++it) {
        if (it->path().filename().string().find(".partial-") != std::string::npos) {
            it.disable_recursion_pending();
            continue;
        }
        const auto type = it->symlink_status().type();
        if (type != fs::file_type::directory)
            out[fs::relative(it->path(), folder)]
                = type == fs::file_type::regular ? slurp(it->path()) : "not a file";
    }
    return out;
}

/// A verb that writes: `words` with SRC (or DAMAGED, a rank of it is missing) and OUT in place of the
/// checkpoint and the target; PLAN is a saved plan.
struct Verb {
    Words words;
    bool hasTarget = false; ///< the target exists before
};

class Stage
{
public:
    /// `user`: who runs the program; empty: the user of this process.
    explicit Stage(std::optional<uid_t> user = {})
        : m_user(user)
        , m_run(copySample("zero2-w2", m_folder))
        , m_damaged(copySample("zero2-w2", m_home))
    {
        fs::remove(m_damaged / kTag / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt");
        for (const TemporaryFolder* folder : {&m_folder, &m_home})
            fs::permissions(folder->path(), fs::perms::all);
        fs::create_directories(m_folder / "victim/sub");
        for (const char* const name : {"thesis", "lock", "journal", "plan", "sub/deep", "files/x", "lease/1"})
            spill(victim() / name, "precious");
        if (m_user) {
            m_program = m_folder / "shardscope";
            fs::copy(programPath(), m_program);
            for (const TemporaryFolder* folder : {&m_folder, &m_home}) {
                REQUIRE(::lchown(folder->path().c_str(), *m_user, *m_user) == 0);
                for (const auto& entry : fs::recursive_directory_iterator(folder->path()))
                    REQUIRE(::lchown(entry.path().c_str(), *m_user, *m_user) == 0);
            }
        }
        reset();
        REQUIRE(start({"plan", "reshard", "SRC", "OUT", "-w", "3", "-o", "PLAN"}).exitCode == 0);
    }

    [[nodiscard]] fs::path victim() const { return m_folder / "victim"; }
    [[nodiscard]] fs::path shared() const { return m_folder / "shared"; } ///< others may write to it
    [[nodiscard]] fs::path out() const { return shared() / "out"; }
    [[nodiscard]] const fs::path& run() const { return m_run; }

    /// An empty shared folder, or one as `saved` has it.
    void reset(const fs::path& saved = {})
    {
        fs::remove_all(shared());
        if (saved.empty())
            fs::create_directories(out());
        else
            fs::copy(saved, shared(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
        for (const fs::path& path : {shared(), out()}) {
            if (m_user && fs::exists(path))
                REQUIRE(::chown(path.c_str(), *m_user, *m_user) == 0);
            if (fs::exists(path))
                ::chmod(path.c_str(), 01777);
        }
    }
    void save(const fs::path& to) const { fs::copy(shared(), to, fs::copy_options::recursive); }
    [[nodiscard]] fs::path saved(const std::string& name) const { return m_folder / name; }

    /// Runs the program with a time limit; `fileLimit` as for `ulimit -f`.
    [[nodiscard]] ProcessResult start(const Words& words, const std::string& fileLimit = "unlimited") const
    {
        Words all{"/bin/bash", "-c", "trap '' XFSZ; ulimit -f " + fileLimit + "; exec timeout -k 5 40 \"$@\"",
            "bash"};
        if (m_user) {
            const std::string id = std::to_string(*m_user);
            for (const std::string& word : {std::string("setpriv"), "--reuid=" + id, "--regid=" + id,
                     std::string("--clear-groups"), m_program.string()})
                all.push_back(word);
        } else {
            all.emplace_back(programPath());
        }
        for (const std::string& word : words)
            all.push_back(placeOf(word));
        all.emplace_back("--json");
        return runProcess(all);
    }

    /// Puts something of others there. False if this user cannot.
    bool plant(const fs::path& place, Planted what) const
    {
        fs::remove_all(place);
        fs::create_directories(place.parent_path());
        switch (what) {
        case Planted::LinkToFolder:
            fs::create_directory_symlink(victim(), place);
            return true;
        case Planted::LinkToFile:
            fs::create_symlink(victim() / "thesis", place);
            return true;
        case Planted::DanglingLink:
            fs::create_symlink(victim() / "absent", place);
            return true;
        case Planted::LinkUp:
            fs::create_directory_symlink("..", place);
            return true;
        case Planted::Fifo:
            return ::mkfifo(place.c_str(), 0666) == 0;
        case Planted::HardLink:
            fs::create_hard_link(victim() / "thesis", place);
            return true;
        case Planted::ForeignFile:
            spill(place, "notes of others");
            return true;
        case Planted::FolderOfOthers:
            spill(place / "lock", "of others");
            spill(place / "files/x", "of others");
            return ::geteuid() == 0 && ::chown(place.c_str(), kNobody - 1, kNobody - 1) == 0;
        case Planted::FolderOfNotes:
            spill(place / "notes", "of others");
            return true;
        }
        return false;
    }

private:
    [[nodiscard]] std::string placeOf(const std::string& word) const
    {
        const std::map<std::string, fs::path> places{
            {"SRC", m_run}, {"DAMAGED", m_damaged}, {"OUT", out()}, {"PLAN", m_folder / "plan.json"}};
        const auto found = places.find(word);
        return found == places.end() ? word : found->second.string();
    }

    TemporaryFolder m_folder;
    TemporaryFolder m_home;
    std::optional<uid_t> m_user;
    fs::path m_run;
    fs::path m_damaged;
    fs::path m_program;
};

/// The first work folder below, or nothing.
fs::path workFolderBelow(const fs::path& folder)
{
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_directory() && entry.path().filename().string().find(".partial-") != std::string::npos)
            return entry.path();
    }
    return {};
}

/// What must be as before: the victim's files, and all that was planted.
struct Before {
    fs::path place;
    Planted what;
    std::map<std::string, std::string> victim;
    std::map<std::string, std::string> planted;

    Before(const Stage& stage, fs::path where, Planted kind)
        : place(std::move(where))
        , what(kind)
        , victim(fullTrace(stage.victim()))
        , planted(kind == Planted::FolderOfOthers || kind == Planted::FolderOfNotes
                  ? fullTrace(place)
                  : std::map<std::string, std::string>())
    {
    }
};

void checkHarmless(const Stage& stage, const Before& before, const ProcessResult& result)
{
    CAPTURE(result.out.substr(0, 1500));
    CAPTURE(result.err.substr(0, 1500));
    CHECK(result.exitCode != 124); // the time limit
    CHECK(fullTrace(stage.victim()) == before.victim);
    if (before.what != Planted::FolderOfOthers && result.exitCode == 0)
        return;
    for (const auto& [path, text] : before.planted) {
        const auto type = fs::symlink_status(path).type();
        CHECK(type != fs::file_type::not_found);
        if (type == fs::file_type::regular)
            CHECK(text.ends_with(" " + slurp(path)));
    }
}

std::vector<Verb> verbs()
{
    return {{{"reshard", "SRC", "OUT", "-w", "3"}}, {{"reshard", "SRC", "OUT", "-w", "3", "--restart"}},
        {{"reshard", "SRC", "OUT", "-w", "3", "--part", "0/2"}},
        {{"reshard", "SRC", "OUT", "-w", "3", "--force"}, true},
        {{"export", "SRC", "OUT", "--shard-size", "2000"}},
        {{"export", "SRC", "OUT", "--shard-size", "2000", "--force", "--restart"}, true},
        {{"convert", "SRC", "OUT", "--to", "universal"}}, {{"convert", "SRC", "OUT", "--to", "dcp"}},
        {{"ensure", "SRC", "-w", "3", "--into", "OUT"}}, {{"run", "PLAN"}},
        {{"repair", "DAMAGED", "OUT", "--fix", "rank-missing", "--moments", "zeros"}}};
}

/// What a run without others publishes.
std::map<std::string, std::string> wantedOf(Stage& stage, const Verb& verb)
{
    stage.reset();
    REQUIRE(stage.start(verb.words).exitCode == 0);
    return published(stage.out());
}

/// The path of the verb's work folder, from a run that fails early.
fs::path workFolderOf(Stage& stage, const Verb& verb)
{
    stage.reset();
    if (verb.hasTarget)
        REQUIRE(stage.start(verb.words).exitCode == 0);
    REQUIRE(stage.start(verb.words, "1").exitCode == 5);
    const fs::path out = workFolderBelow(stage.shared());
    REQUIRE(!out.empty());
    return out;
}

void checkWorkFolderPlace(Stage& stage)
{
    int tried = 0;
    for (const Verb& verb : verbs()) {
        CAPTURE(verb.words);
        const auto wanted = wantedOf(stage, verb);
        const fs::path work = workFolderOf(stage, verb);
        if (verb.hasTarget) {
            stage.reset();
            REQUIRE(stage.start(verb.words).exitCode == 0);
            fs::remove_all(stage.saved("there"));
            stage.save(stage.saved("there"));
        }
        for (const Planted what : kPlanted) {
            CAPTURE(static_cast<int>(what));
            stage.reset(verb.hasTarget ? stage.saved("there") : fs::path());
            if (!stage.plant(work, what))
                continue;
            const Before before(stage, work, what);
            const auto there = published(stage.out());
            const ProcessResult result = stage.start(verb.words);
            checkHarmless(stage, before, result);
            CHECK(result.exitCode == 5);
            if (!before.planted.empty())
                CHECK(fullTrace(work) == before.planted);
            CHECK(published(stage.out()) == there);
            if (result.exitCode == 5)
                CHECK(answerOf(result).at("code") == "no-permission");
            const ProcessResult cleaned = stage.start({"clean", work.parent_path(), "--remove"});
            checkHarmless(stage, before, cleaned);
            CHECK(cleaned.exitCode == 0);
            if (isLink(what)) {
                CHECK(fs::is_symlink(fs::symlink_status(work)));
                CHECK(cleaned.out.find("foreign") != std::string::npos);
            }
            ++tried;
        }
    }
    MESSAGE(tried << " runs with something at the place of the work folder");
}

/// The name of a file with this ending.
std::string fileWith(const fs::path& folder, const std::string& ending)
{
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ending)
            return entry.path().filename();
    }
    FAIL("there is no such file: " << ending);
    return {};
}

} // namespace

TEST_CASE("something at the place of a work folder is neither entered nor removed, by any verb")
{
    Stage stage;
    checkWorkFolderPlace(stage);
}

TEST_CASE("the same by another user, in a folder where both may write")
{
    if (::geteuid() != 0) {
        MESSAGE("not root: two users were not tried");
        CHECK(std::getenv("CI") == nullptr);
        return;
    }
    Stage stage(kNobody);
    checkWorkFolderPlace(stage);
}

TEST_CASE("something in any place of a work folder")
{
    Stage stage;
    const Words reshard{"reshard", "SRC", "OUT", "-w", "3"};
    REQUIRE(!wantedOf(stage, {reshard}).empty());
    const auto wanted = published(stage.out() / kTag);
    stage.reset();
    // After a file; with two threads, the one that is too large may fail first.
    REQUIRE(stage.start({"reshard", "SRC", "OUT", "-w", "3", "-j", "1"}, "17").exitCode == 5);
    const std::string work = workFolderBelow(stage.shared()).filename();
    stage.save(stage.saved("interrupted"));
    const std::string finished = fileWith(stage.out() / work / "files", ".pt");
    std::string aside = work; // the name while it is removed
    aside.back() = aside.back() == 'f' ? '0'
        : aside.back() == '9'          ? 'a'
                                       : static_cast<char>(aside.back() + 1);
    const std::string unfinished = "bf16_zero_pp_rank_2_mp_rank_00_optim_states.pt.tmp";
    int tried = 0;
    for (const std::string& place :
        {work + "/lock", work + "/lease", work + "/lease/1", work + "/plan", work + "/plan.tmp",
            work + "/journal", work + "/journal.tmp", work + "/files", work + "/files/" + finished,
            work + "/files/" + unfinished, work + "/files/shardscope.json", work + "/files/unknown",
            work + "/beside", work + "/beside/zero_to_fp32.py", work + "/beside/unknown", work + "/parts",
            work + "/parts/rest", work + "/pointer", work + "/publishing", work + "/replaced",
            work + "/unknown", aside, kTag, std::string("latest"), std::string("zero_to_fp32.py")}) {
        for (const Planted what : kPlanted) {
            for (const char* const option : {"", "--restart", "--force", "clean"}) {
                // A lease that names nobody of this machine is waited for.
                if (place == work + "/lease/1" && (what == Planted::HardLink || what == Planted::ForeignFile))
                    continue;
                CAPTURE(place);
                CAPTURE(static_cast<int>(what));
                CAPTURE(std::string(option));
                stage.reset(stage.saved("interrupted"));
                if (!stage.plant(stage.out() / place, what))
                    continue;
                const Before before(stage, stage.out() / place, what);
                Words words = reshard;
                if (option == std::string("clean"))
                    words = {"clean", "OUT", "--remove"};
                else if (*option != '\0')
                    words.emplace_back(option);
                const ProcessResult result = stage.start(words);
                // What is in an own work folder is removed with it by clean; else it stays.
                if (option != std::string("clean") && option != std::string("--restart"))
                    checkHarmless(stage, before, result);
                CHECK(result.exitCode != 124);
                CHECK(fullTrace(stage.victim()) == before.victim);
                CAPTURE(result.out.substr(0, 1500));
                const bool refusesPlan = place == work + "/plan" && result.exitCode == 6;
                CHECK((result.exitCode == 0 || result.exitCode == 5 || refusesPlan));
                if (result.exitCode == 0 && words.front() == "reshard")
                    CHECK(published(stage.out() / kTag) == wanted);
                ++tried;
            }
        }
    }
    MESSAGE(tried << " runs with something in a work folder");
}

TEST_CASE("something in any place of a job in parts")
{
    Stage stage;
    const Words reshard{"reshard", "SRC", "OUT", "-w", "3"};
    const auto with = [&](const Words& more) {
        Words out = reshard;
        out.insert(out.end(), more.begin(), more.end());
        return out;
    };
    const auto wanted = wantedOf(stage, {reshard});
    stage.reset();
    REQUIRE(stage.start(with({"--part", "0/2"})).exitCode == 0);
    const std::string work = workFolderBelow(stage.shared()).filename();
    REQUIRE(stage.start(with({"--part", "1/2"})).exitCode == 0);
    stage.save(stage.saved("parts"));
    const std::string unfinished = fileWith(stage.out() / work / "files", ".tmp");
    int tried = 0;
    for (const std::string& place : {work + "/files", work + "/files/" + unfinished,
             work + "/files/" + unfinished.substr(0, unfinished.size() - 4), work + "/parts",
             work + "/parts/0-of-2", work + "/parts/0-of-2/journal", work + "/parts/0-of-2/lock",
             work + "/parts/0-of-2/lease", work + "/parts/rest", work + "/parts/unknown", work + "/beside",
             work + "/lease", work + "/lock"}) {
        for (const Planted what : kPlanted) {
            // Bytes of others in place of those of a part: another test.
            const bool isContent = what == Planted::ForeignFile || what == Planted::HardLink;
            if (isContent && (place.ends_with(unfinished) || place.ends_with("journal")))
                continue;
            for (const Words& more : {Words{"--finish"}, Words{"--part", "0/2"}, Words{}}) {
                CAPTURE(place);
                CAPTURE(static_cast<int>(what));
                CAPTURE(more);
                stage.reset(stage.saved("parts"));
                if (!stage.plant(stage.out() / place, what))
                    continue;
                const Before before(stage, stage.out() / place, what);
                const ProcessResult result = stage.start(with(more));
                checkHarmless(stage, before, result);
                CAPTURE(result.out.substr(0, 1500));
                const bool lostParts = result.exitCode == 6; // --finish without the journal of a part
                CHECK((result.exitCode == 0 || result.exitCode == 5 || lostParts));
                if (result.exitCode == 0 && (more.empty() || more.front() == "--finish"))
                    CHECK(published(stage.out()) == wanted);
                ++tried;
            }
        }
    }
    MESSAGE(tried << " runs with something in a job in parts");
}

TEST_CASE("links at the places of copies and of files next to the target")
{
    Stage stage;
    const auto check = [&](const fs::path& place, const Words& words, bool mayWork) {
        for (const Planted what : kPlanted) {
            CAPTURE(place);
            CAPTURE(words);
            CAPTURE(static_cast<int>(what));
            stage.reset();
            fs::remove_all(place);
            if (!stage.plant(place, what))
                continue;
            const Before before(stage, place, what);
            const ProcessResult result = stage.start(words);
            checkHarmless(stage, before, result);
            CAPTURE(result.out.substr(0, 1500));
            const bool isPlace = !before.planted.empty(); // a folder as another one
            CHECK((result.exitCode == 5 || result.exitCode == 2
                || ((mayWork || isPlace) && result.exitCode == 0)));
        }
        fs::remove_all(place);
    };
    // The folder of copies next to the run, and that of one copy in a folder that the user named.
    const fs::path copies = stage.run().string() + "-w3";
    check(copies, {"ensure", "SRC", "-w", "3", "--keep", "1"}, false);
    fs::create_directories(stage.saved("trainer"));
    for (const char* const name : {"checkpoint-3", "checkpoint-6"})
        fs::copy(stage.run(), stage.saved("trainer") / name, fs::copy_options::recursive);
    check(stage.out() / "checkpoint-6",
        {"ensure", stage.saved("trainer"), "-w", "3", "--into", "OUT", "--keep", "1"}, false);
    check(stage.out() / kTag, {"ensure", "SRC", "-w", "3", "--into", "OUT"}, false);
    check(stage.out() / kTag, {"reshard", "SRC", "OUT", "-w", "3", "--force"}, false);
    check(stage.out() / "latest", {"reshard", "SRC", "OUT", "-w", "3"}, true);
    check(stage.out() / "model.safetensors", {"export", "SRC", "OUT", "--force"}, true);
    check(stage.out() / "shardscope.json", {"export", "SRC", "OUT", "--force"}, true);
    check(stage.out() / "report.json", {"check", "SRC", "-o", stage.out() / "report.json", "--force"}, true);
    check(stage.out() / "bug.zip", {"skeleton", "SRC", stage.out() / "bug.zip", "--force"}, true);
}
