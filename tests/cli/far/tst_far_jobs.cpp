// SPDX-License-Identifier: Apache-2.0
// Commands that write on another host: jobs of their own there, which outlive the view here.
#include "core/serve/frame.h"
#include "core/serve/messages.h"
#include "tests/cli/far/far_host_fixture.h"
#include "tests/support/json_schema.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

/// Half a minute, if nothing ends it before.
const Words kSlowly{"--bwlimit", "40K"};

Words joinedWords(Words first, const Words& second)
{
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

bool comes(const std::function<bool()>& what)
{
    for (int i = 0; i < 400; ++i) {
        if (what())
            return true;
        ::usleep(50'000);
    }
    return false;
}

/// A host whose connections can be cut.
class JobHost : public Host
{
public:
    JobHost()
    {
        const std::string ssh = slurp(folder() / "ssh");
        script(folder() / "ssh", "echo $$ >'" + line().string() + "'\n" + ssh.substr(ssh.find('\n') + 1));
    }
    ~JobHost()
    {
        const ProcessResult found = runShardscope(
            {"jobs", "--json"}, {.environment = {{"HOME", home().string()}, {"XDG_CACHE_HOME", ""}}});
        for (const Json& job : Json::parse(found.out).value("jobs", Json::array())) {
            if (job["state"] == "running")
                kill(job["id"]);
        }
    }

    Json jobs(const Words& asked = {}) const
    {
        const ProcessResult found = run(joinedWords({"jobs", "node7:", "--json"}, asked));
        CAPTURE(found.err);
        REQUIRE(found.exitCode == 0);
        const Json answer = Json::parse(found.out);
        CHECK(schemaErrors(readSchema("jobs"), answer, true).empty());
        return answer["jobs"];
    }
    std::string only(const std::string& state) const
    {
        const Json all = jobs();
        return all.size() == 1 && all[0]["state"] == state ? all[0]["id"].get<std::string>() : "";
    }
    std::string running() const
    {
        std::string id;
        REQUIRE(comes([&] { return !(id = only("running")).empty(); }));
        return id;
    }
    void kill(const std::string& id) const
    {
        pid_t process = 0; // as its record says before it has one
        const auto isNamed = [&] {
            process = Json::parse(slurp(records() / id / "job.json"))["process"].get<pid_t>();
            return process > 1;
        };
        if (comes(isNamed))
            ::kill(process, SIGKILL);
    }
    /// Ends ssh and `serve` of the connection that was made last.
    void cut() const { ::kill(std::stoi(slurp(line())), SIGKILL); }
    [[nodiscard]] fs::path records() const { return home() / ".cache/shardscope/jobs"; }

private:
    [[nodiscard]] fs::path line() const { return folder() / "line"; }
};

/// A reshard on the host, and what comes of it.
struct Job {
    JobHost host;
    TemporaryFolder folder;
    std::string out = (folder / "out").string();
    Words command{"reshard", far(samplePath("zero3-w4")), far(out), "-w", "3"};

    Process slow() const
    {
        return {joinedWords({programPath()}, joinedWords(command, kSlowly)), host.options()};
    }
    bool isComplete() const
    {
        const std::string expected = (folder / "expected").string();
        if (!fs::exists(expected))
            REQUIRE(runShardscope({"reshard", samplePath("zero3-w4").string(), expected, "-w", "3"}).exitCode
                == 0);
        return contentOf(out) == contentOf(expected);
    }
};

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a far job writes what it writes when it is run there")
{
    const JobHost host;
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4").string();
    int step = 0;
    for (const Words& options : {Words{"reshard", "-w", "3"}, Words{"convert", "--to", "universal"},
             Words{"export", "--dtype", "bf16"}, Words{"repair", "--set", "step=9"},
             Words{"ensure", "-w", "2"}}) {
        CAPTURE(options);
        const std::string name = std::to_string(step++);
        const std::string here = (folder / ("here" + name)).string();
        const std::string there = (folder / ("there" + name)).string();
        const bool isEnsure = options[0] == "ensure";
        const auto words = [&](const std::string& from, const std::string& to) {
            return joinedWords(options, isEnsure ? Words{from, "--into", to} : Words{from, to});
        };
        const ProcessResult expected = runShardscope(words(source, here));
        const ProcessResult found = host.run(words(far(source), far(there)));
        CAPTURE(found.err);
        CHECK(found.exitCode == 0);
        CHECK(contentOf(here) == contentOf(there));
        CHECK(contains(found.out, isEnsure ? there : "verified"));
        CHECK(contains(expected.out, isEnsure ? here : "verified"));
        const ProcessResult again = host.run(joinedWords(words(far(source), far(there)), {"--json"}));
        const Json answer = Json::parse(again.out);
        CHECK(answer["schema"] == "shardscope/" + options[0] + "/1");
        CHECK(again.exitCode == 0);
    }
    const ProcessResult refused = host.run(
        {"reshard", far(source), far(folder / "there0"), "-w", "5", "--json", "--progress", "json"});
    CHECK(refused.exitCode == 5);
    CHECK(Json::parse(refused.out)["code"] == "target-exists");
    for (const Json& job : host.jobs())
        CHECK(job["state"] == "ended");
    CHECK(host.jobs()[0]["exit"] == 5);
}

TEST_CASE("progress of a far job arrives, and a dry run leaves no record")
{
    const Job job;
    const ProcessResult dry = job.host.run(joinedWords(job.command, {"--dry-run"}));
    CHECK(dry.exitCode == 0);
    CHECK(contains(dry.out, "nothing was written"));
    CHECK_FALSE(fs::exists(job.out));
    CHECK(job.host.jobs().empty());
    const ProcessResult found
        = job.host.run(joinedWords(job.command, {"--progress", "json", "--bwlimit", "500K"}));
    CHECK(found.exitCode == 0);
    CHECK(contains(found.err, R"({"phase":"writing","bytes_done":)"));
    CHECK(job.isComplete());
    const ProcessResult cleaned = job.host.run({"clean", far(job.out), "--json"});
    CHECK(Json::parse(cleaned.out)["work"].empty());
    CHECK(job.host.jobs().size() == 1);
}

TEST_CASE("a far job continues when the connection is cut, and can be seen again")
{
    Job job;
    Process view(
        joinedWords({programPath()}, joinedWords(job.command, {"--bwlimit", "150K"})), job.host.options());
    REQUIRE(comes([&] { return fs::exists(job.host.records()) && fs::exists(job.out); }));
    job.host.cut();
    const ProcessResult lost = view.wait();
    CHECK(lost.exitCode == 3);
    const std::string id = job.host.running();
    CHECK(contains(lost.err, "`shardscope jobs node7: --attach " + id + "` shows it again"));
    CHECK(job.host.jobs()[0]["target"] == job.out);
    const ProcessResult seen = job.host.run({"jobs", "node7:", "--attach", id});
    CAPTURE(seen.err);
    CHECK(seen.exitCode == 0);
    CHECK(contains(seen.out, "reshard "));
    CHECK(contains(seen.out, "verified"));
    CHECK(job.isComplete());
    CHECK(job.host.only("ended") == id);
    CHECK(job.host.run({"jobs", "node7:", "--attach", id, "--json"}).exitCode == 2); // its answer is text
}

TEST_CASE("a connection that is cut at any moment leaves a job that ends or can be called again")
{
    const JobHost host;
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4").string();
    const std::string expected = (folder / "expected").string();
    REQUIRE(runShardscope({"reshard", source, expected, "-w", "3"}).exitCode == 0);
    const std::string ssh = slurp(host.folder() / "ssh");
    size_t cut = 0;
    for (int step = 0; step < 16; ++step) {
        // Only so many bytes of what the other end sends arrive.
        const size_t bytes = 60 + static_cast<size_t>(step) * 110;
        CAPTURE(bytes);
        script(host.folder() / "cut",
            "env -i HOME='" + host.home().string() + "' PATH='" + (host.folder() / "bin").string()
                + ":/usr/bin:/bin' sh -c \"$2\" | { /usr/bin/dd status=none bs=1 count="
                + std::to_string(bytes) + "; kill -9 0; }\n");
        script(host.folder() / "ssh", "exec setsid -w '" + (host.folder() / "cut").string() + "' \"$@\"\n");
        const std::string out = (folder / ("out" + std::to_string(step))).string();
        const Words command{"reshard", far(source), far(out), "-w", "3"};
        const ProcessResult viewed = host.run(command);
        CHECK((viewed.exitCode == 3 || viewed.exitCode == 0));
        cut += viewed.exitCode == 3 ? 1 : 0;
        script(host.folder() / "ssh", ssh.substr(ssh.find('\n') + 1));
        CHECK(comes([&] {
            const Json jobs = host.jobs();
            return std::ranges::none_of(jobs, [](const Json& job) { return job["state"] == "running"; });
        }));
        CHECK(host.run(command).exitCode == 0);
        CHECK((contentOf(out) == contentOf(expected)));
    }
    CHECK(cut > 8);
}

TEST_CASE("a far job that was killed is listed as interrupted, and resumed")
{
    Job job;
    Process view = job.slow();
    const std::string id = job.host.running();
    job.host.kill(id);
    const ProcessResult ended = view.wait();
    CHECK(ended.exitCode == 130);
    CHECK(contains(ended.err, "`shardscope jobs node7: --resume " + id + "` continues it"));
    CHECK(job.host.only("interrupted") == id);
    CHECK(job.host.jobs({"--resume", id})[0]["state"] == "running");
    CHECK(job.host.run({"jobs", "node7:", "--resume", id}).exitCode == 5); // it runs
    CHECK(job.host.run({"jobs", "node7:", "--forget", id}).exitCode == 5);
    CHECK(job.host.jobs({"--stop", id})[0]["state"] == "interrupted");
    CHECK(job.host.run({"jobs", "node7:", "--stop", id}).exitCode == 2);
    // Another command continues the same work, without the limit.
    CHECK(job.host.run(job.command).exitCode == 0);
    CHECK(job.isComplete());
    CHECK(job.host.run({"jobs", "node7:", "--forget", id}).exitCode == 0);
    CHECK(job.host.jobs().size() == 1);
    CHECK(job.host.run({"jobs", "node7:", "--attach", id}).exitCode == 3);
    CHECK(job.host.run({"jobs", "node7:", "--attach", "../../x"}).exitCode == 2);
}

TEST_CASE("Ctrl+C stops a far job, and the same command continues it; other signals end only the view")
{
    Job job;
    // With one thread there, which shows the job.
    fs::remove(job.host.folder() / "bin/shardscope");
    script(job.host.folder() / "bin/shardscope",
        "[ \"$1\" != serve ] || set -- \"$@\" --jobs 1\nexec '" + programPath() + "' \"$@\"\n");
    Process left = job.slow();
    const std::string id = job.host.running();
    left.signal(SIGTERM);
    const ProcessResult gone = left.wait();
    CHECK(gone.exitCode == 130);
    CHECK(contains(gone.err, "--attach " + id));
    CHECK(job.host.only("running") == id);
    CHECK(job.host.jobs({"--stop", id})[0]["state"] == "interrupted");
    Process view = job.slow(); // takes its record again
    CHECK(job.host.running() == id);
    view.signal(SIGINT);
    const ProcessResult stopped = view.wait();
    CHECK(stopped.exitCode == 130);
    CHECK(contains(stopped.err, "`shardscope jobs node7: --resume " + id + "` continues from here"));
    CHECK(job.host.only("interrupted") == id);
}

TEST_CASE("two far jobs for one target: the second finds it busy, as here")
{
    Job job;
    Process first = job.slow();
    const std::string id = job.host.running();
    REQUIRE(comes([&] { return fs::exists(job.out); }));
    ::usleep(500'000);
    const ProcessResult second = job.host.run(joinedWords(job.command, {"--json"}));
    CHECK(second.exitCode == 5);
    CHECK(Json::parse(second.out)["code"] == "busy");
    CHECK(job.host.jobs({"--stop", id})[0]["state"] == "interrupted");
    CHECK(first.wait().exitCode == 130);
}

TEST_CASE("a job is refused where what it reads is on another host or here")
{
    const JobHost host;
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4").string();
    const std::string target = far(folder / "out");
    spill(folder / "rules.json", "{}");
    for (const auto& [words, said] : std::vector<std::pair<Words, std::string>>{
             {{"reshard", source, target, "-w", "3"}, "SRC is on this machine"},
             {{"reshard", "node8:" + source, target, "-w", "3"}, "SRC is on another host"},
             {{"reshard", far(source), target, "-w", "3", "--root", "node8:/x"}, "--root is on another host"},
             {{"reshard", far(source), target, "-w", "3", "--patterns", (folder / "rules.json").string()},
                 "takes no file there as --patterns"},
             {{"export", far(source), target, "--log-file", (folder / "log").string()},
                 "takes no file there as --log-file"},
             {{"repair", far(source), target, "--fix", "all", "--from", source},
                 "--from is on this machine"}}) {
        CAPTURE(words);
        const ProcessResult refused = host.run(words);
        CHECK(refused.exitCode == 4);
        CHECK(contains(refused.err, said));
    }
    CHECK_FALSE(fs::exists(host.records()));
    CHECK(host.run({"jobs", "no host:"}).exitCode == 2);
    CHECK(host.run({"jobs", "node7"}).exitCode == 2);
    CHECK(host.run({"jobs", "node7:"}).out == "no jobs\n");
    CHECK(host.run({"jobs", "node7:", "--stop", "00000000", "--forget", "00000000"}).exitCode == 2);
}

namespace {

std::string frame(const std::string& header, const std::string& payload = {})
{
    return serve::frameStart(header, payload.size()) + payload;
}

/// The beginning of what another end of this version sends.
std::string hello()
{
    const std::string version = Json::parse(runShardscope({"--version", "--json"}).out)["version"];
    return "shardscope-far ready\n"
        + frame(R"({"id":0,"reply":"hello","protocol":1,"version":")" + version + "\"}");
}

/// What `serve` with these options replies to these requests, the first with id 1.
std::string served(const JobHost& host, const std::string& options, const std::string& requests)
{
    spill(host.folder() / "requests", requests);
    const Words words{"/bin/sh", "-c",
        "(cat '" + (host.folder() / "requests").string() + "'; sleep 1) | HOME='" + host.home().string()
            + "' \"$0\" serve " + options,
        programPath()};
    return runProcess(words, host.options()).out;
}

} // namespace

TEST_CASE("`serve` starts jobs only if it may, only commands that write, and none leads to a third host")
{
    const JobHost host;
    const TemporaryFolder folder;
    const std::string source = samplePath("zero3-w4").string();
    const std::string target = (folder / "out").string();
    const std::string reshard
        = frame(R"({"id":1,"ask":"job"})", serve::wordsPayload({"reshard", source, target, "-w", "3"}));
    CHECK(contains(served(host, "", reshard), "this server starts no jobs"));
    for (const char* option : {"--stop", "--resume", "--forget"}) {
        const std::string asked = frame(
            R"({"id":1,"ask":"answer"})", serve::wordsPayload({"jobs", std::string(option) + "=00000000"}));
        CHECK(contains(served(host, "--allow-jobs", asked), R"("code":"usage")"));
    }
    for (const Words& words : {Words{"inspect", source}, Words{"run", source}, Words{"serve"},
             Words{"export", source, target, "--log-file", target}}) {
        CAPTURE(words);
        CHECK(contains(
            served(host, "--allow-jobs", frame(R"({"id":1,"ask":"job"})", serve::wordsPayload(words))),
            R"("code":"usage")"));
    }
    CHECK_FALSE(fs::exists(host.records()));
    script(host.folder() / "ssh", "echo called > '" + (host.folder() / "called").string() + "'; exit 255\n");
    const std::string third
        = frame(R"({"id":1,"ask":"job"})", serve::wordsPayload({"reshard", "node8:/x", target, "-w", "3"}));
    CHECK(contains(served(host, "--allow-jobs", third), R"("schema":"shardscope/jobs/1")"));
    CHECK(comes([&] {
        for (const auto& entry : fs::directory_iterator(host.records())) {
            if (fs::exists(entry.path() / "end.json"))
                return slurp(entry.path() / "end.json").starts_with(R"({"exit":3,)");
        }
        return false;
    }));
    CHECK_FALSE(fs::exists(host.folder() / "called"));
    CHECK_FALSE(fs::exists(target));
}

TEST_CASE("nonsense about jobs from another end is an error")
{
    const Host host;
    const std::string hello = ::hello();
    const std::string done = frame(R"({"id":2,"reply":"done","exit":0})");
    const auto data = [](const std::string& text) { return frame(R"({"id":2,"reply":"data"})", text); };
    const auto job = [](const std::string& id) {
        return R"({"jobs":[{"id":")" + id
            + R"(","state":"running","command":"c","target":null,"machine":"m","started":"s","ended":null,)"
            + R"("exit":null,"json":false,"progress":null}]})";
    };
    for (const std::string& sent : {
             hello + done, hello + data("no JSON") + done, hello + data(R"({"jobs":[]})") + done,
             hello + data(job("../../etc")) + done, hello + data(R"({"jobs":[{"id":7}]})") + done,
             hello + data(R"({"jobs":[{"id":"00000000"},{"id":"00000001"}]})") + done,
             hello + frame(R"({"id":2,"reply":"done","exit":5})", "no JSON"),
             hello + data(job("00000000")) + done // and then the line ends
         }) {
        CAPTURE(sent);
        spill(host.folder() / "sent", sent);
        script(host.folder() / "ssh", "cat '" + (host.folder() / "sent").string() + "'; sleep 1\n");
        const auto began = std::chrono::steady_clock::now();
        const ProcessResult result = host.run({"reshard", "node7:/x", "node7:/y", "-w", "3"});
        CHECK(result.exitCode == 3);
        CHECK_FALSE(result.err.empty());
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
    }
    spill(host.folder() / "sent", hello + data(job("00000000")) + done);
    spill(host.folder() / "then",
        frame(R"({"id":3,"reply":"message"})", "\x1b]0;title\x07 note\n")
            + frame(R"({"id":3,"reply":"progress"})",
                R"({"phase":"\u001b[2J","bytes_done":1,"bytes_total":2,"bytes_per_second":1,"eta_seconds":null})")
            + frame(R"({"id":3,"reply":"data"})", "\x1b[2Jgone\n")
            + frame(R"({"id":3,"reply":"done","exit":0})"));
    script(host.folder() / "ssh",
        "cd '" + host.folder().path().string() + "'; cat sent; sleep 2; cat then; sleep 5\n");
    const ProcessResult shown
        = host.run({"reshard", "node7:/x", "node7:/y", "-w", "3", "--progress", "json"});
    CHECK(shown.exitCode == 0);
    CHECK((shown.out + shown.err).find('\x1b') == std::string::npos);
    CHECK(contains(shown.out, "gone"));
}

TEST_CASE("a job that cannot be recorded on the other host says why, as text and as JSON")
{
    for (const char* file : {".cache/shardscope", ".cache/shardscope/jobs"}) {
        CAPTURE(file);
        const Job job;
        const fs::path path = job.host.home() / file;
        fs::create_directories(path.parent_path());
        spill(path, "no folder");
        const ProcessResult text = job.host.run(job.command);
        CHECK(text.exitCode == 5);
        CHECK(text.out.empty());
        CHECK(contains(text.err, "folder"));
        CHECK(contains(text.err, far(path)));
        const ProcessResult json = job.host.run(joinedWords(job.command, {"--json"}));
        CHECK(json.exitCode == 5);
        const Json error = Json::parse(json.out);
        CHECK(error["code"] == "write-failed");
        CHECK(error["path"] == far(path));
        CHECK(contains(text.err, error["message"]));
        CHECK_FALSE(fs::exists(job.out));
    }
}

TEST_CASE("a connection that is lost before the job is known says where to look for it")
{
    const Host host;
    const Words command{"reshard", "node7:/x", "node7:/y", "-w", "3"};
    const std::string where = "`shardscope jobs node7:` shows whether it runs";
    spill(host.folder() / "sent", hello());
    script(host.folder() / "ssh", "cat '" + (host.folder() / "sent").string() + "'; sleep 2\n");
    const ProcessResult lost = host.run(command);
    CHECK(lost.exitCode == 3);
    CHECK(contains(lost.err, where));
    script(host.folder() / "ssh", "exit 255\n"); // nothing was asked for
    CHECK_FALSE(contains(host.run(command).err, where));
}

TEST_CASE("`jobs` of this machine lists, shows and forgets what others have started here")
{
    const JobHost host;
    const TemporaryFolder folder;
    REQUIRE(
        host.run({"reshard", far(samplePath("zero3-w4")), far(folder / "out"), "-w", "3", "--json"}).exitCode
        == 0);
    const ProcessOptions here{.environment = {{"HOME", host.home().string()}, {"XDG_CACHE_HOME", ""}}};
    const Json jobs = Json::parse(runShardscope({"jobs", "--json"}, here).out)["jobs"];
    REQUIRE(jobs.size() == 1);
    const std::string id = jobs[0]["id"];
    CHECK(jobs == host.jobs());
    const ProcessResult seen = runShardscope({"jobs", "--attach", id, "--json"}, here);
    CHECK(seen.exitCode == 0);
    CHECK(Json::parse(seen.out)["result"]["verified"] == true);
    CHECK(runShardscope({"jobs", "--forget", id}, here).exitCode == 0);
    CHECK(runShardscope({"jobs"}, here).out == "no jobs\n");
}
