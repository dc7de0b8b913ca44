// SPDX-License-Identifier: Apache-2.0
// The other end of a connection: nothing has to be installed there, a real sshd serves, and whatever it does
// ends in an error.
#include "core/serve/frame.h"
#include "core/serve/messages.h"
#include "tests/cli/far/far_host_fixture.h"

#include <chrono>
#include <csignal>

using namespace shardscope;
using namespace shardscope::test;

TEST_CASE(
    "a host without the program is refused where it may not be copied, and one with another version named")
{
    const Host host(false);
    const std::string path = far(samplePath("zero2-w2"));
    const ProcessResult refused = host.run({"inspect", path, "--no-remote-install"});
    CHECK(refused.exitCode == 4);
    CHECK(refused.err.find("the host has no `shardscope`, and this program may not be copied there")
        != std::string::npos);
    CHECK(refused.err.find("tar.gz") != std::string::npos);
    script(host.folder() / "bin/shardscope", "echo 'shardscope 0.0.1 (abc, release)'\n");
    const ProcessResult other = host.run({"inspect", path, "--no-remote-install"});
    CHECK(other.exitCode == 4);
    CHECK(other.err.find("another `shardscope`: shardscope 0.0.1 (abc, release)") != std::string::npos);
    CHECK(fs::is_empty(host.home()));
    script(host.folder() / "bin/uname", "case $1 in -s) echo Linux;; *) echo riscv64;; esac\n");
    const ProcessResult foreign = host.run({"inspect", path});
    CHECK(foreign.exitCode == 4);
    CHECK(foreign.err.find("not for Linux on riscv64") != std::string::npos);
    CHECK(foreign.err.find("linux-riscv64.tar.gz") != std::string::npos);
}

#ifdef SHARDSCOPE_TEST_STATIC
TEST_CASE("the program is copied once to a host that lacks it")
{
    const Host host(false);
    // Of other versions: one that nobody used for long, one that somebody did, and a stranger's file.
    const fs::path copies = host.home() / ".cache/shardscope/far";
    for (const char* file : {"0.0.1/shardscope", "0.0.2/shardscope", "0.0.1b/notes"}) {
        fs::create_directories((copies / file).parent_path());
        spill(copies / file, "x");
        const bool isUsed = std::string_view(file).starts_with("0.0.2");
        fs::last_write_time(
            copies / file, fs::file_time_type::clock::now() - std::chrono::days(isUsed ? 30 : 120));
    }
    const std::string local = samplePath("zero2-w2").string();
    const ProcessResult first = host.run({"inspect", far(local), "--json"});
    CAPTURE(first.err);
    CHECK(first.exitCode == 0);
    CHECK(first.out == runShardscope({"inspect", local, "--json"}).out);
    CHECK(first.err.starts_with("copying shardscope "));
    const ProcessResult second = host.run({"inspect", far(local), "--json"});
    CHECK(second.exitCode == 0);
    CHECK(second.err.empty());
    CHECK(!fs::exists(copies / "0.0.1"));
    CHECK(fs::remove(copies / "0.0.2/shardscope"));
    CHECK(fs::remove(copies / "0.0.1b/notes"));
    // One file, which only its user may read, in a folder of its version.
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(host.home() / ".cache/shardscope/far")) {
        if (entry.is_regular_file())
            found.push_back(entry.path());
    }
    REQUIRE(found.size() == 1);
    CHECK(found[0].filename() == "shardscope");
    CHECK((fs::status(found[0]).permissions() & (fs::perms::group_all | fs::perms::others_all))
        == fs::perms::none);
    // What a job writes at the first contact has the modes that it always has.
    const Host bare(false);
    const TemporaryFolder folder;
    const fs::path there = folder / "there";
    const fs::path here = folder / "here";
    CHECK(bare.run({"reshard", far(local), far(there), "-w", "3"}).exitCode == 0);
    CHECK(runShardscope({"reshard", local, here.string(), "-w", "3"}).exitCode == 0);
    for (const auto& entry : fs::recursive_directory_iterator(here)) {
        CAPTURE(entry.path());
        CHECK(fs::status(there / fs::relative(entry.path(), here)).permissions()
            == entry.status().permissions());
    }
    // A copy that ended early is never used.
    const Host full(false);
    script(full.folder() / "bin/head", "exec /usr/bin/head -c 1000\n");
    const ProcessResult cut = full.run({"inspect", far(local)});
    CHECK(cut.exitCode == 4);
    CHECK(cut.err.find("could not be copied") != std::string::npos);
}
#endif

TEST_CASE("what a login prints before the command does no harm")
{
    const Host host;
    const std::string local = samplePath("zero2-w2").string();
    const std::string ssh = slurp(host.folder() / "ssh");
    script(host.folder() / "ssh", "echo Welcome; printf 'no line end'; echo; echo warning >&2\n" + ssh);
    const ProcessResult found = host.run({"inspect", far(local), "--json"});
    CHECK(found.exitCode == 0);
    CHECK(found.out == runShardscope({"inspect", local, "--json"}).out);
    script(host.folder() / "ssh", "printf 'no line end'\n" + ssh);
    CHECK(host.run({"inspect", far(local)}).exitCode == 0);
    script(host.folder() / "ssh", "yes Welcome\n");
    CHECK(host.run({"inspect", far(local)}).exitCode == 3);
}

TEST_CASE("words for ssh are never options of ssh")
{
    const Host host;
    script(host.folder() / "ssh", "echo called > '" + (host.folder() / "called").string() + "'; exit 255\n");
    for (const char* path : {"-oProxyCommand=touch x:/y", "a b:/y", "$(touch x):/y", "ada@-x:/y"}) {
        CAPTURE(path);
        CHECK(host.run({"inspect", "--", path}).exitCode == 3);
    }
    CHECK_FALSE(fs::exists(host.folder() / "called"));
    CHECK(host.run({"inspect", "node7:/y"}).exitCode == 3);
    CHECK(fs::exists(host.folder() / "called"));
}

TEST_CASE("URLs and other users' home folders are no paths of hosts")
{
    const Host host;
    for (const char* path : {"s3://bucket/key", "file:///runs", "node7:~ada/runs"}) {
        CAPTURE(path);
        const ProcessResult found = host.run({"inspect", path});
        CHECK(found.exitCode == 3);
        CHECK(found.err.find("ssh") == std::string::npos);
    }
}

TEST_CASE("requests to `serve` lead to no third host")
{
    const Host host;
    script(host.folder() / "ssh", "echo called > '" + (host.folder() / "called").string() + "'; exit 255\n");
    const std::string asked = serve::wordsPayload({"inspect", "node7:/x"});
    spill(host.folder() / "requests", serve::frameStart(R"({"id":1,"ask":"answer"})", asked.size()) + asked);
    const Words words{"/bin/sh", "-c",
        "(cat '" + (host.folder() / "requests").string() + "'; sleep 1) | \"$0\" serve", programPath()};
    const ProcessResult answered = runProcess(words, host.options());
    CHECK(answered.out.find("not-found") != std::string::npos);
    CHECK_FALSE(fs::exists(host.folder() / "called"));
}

TEST_CASE("a folder of runs there is named with its host, and so is what to do next")
{
    const Host host;
    fs::create_directories(host.home() / "runs");
    for (const char* name : {"one", "two"})
        fs::copy(samplePath("zero2-w2"), host.home() / "runs" / name, fs::copy_options::recursive);
    const ProcessResult found = host.run({"inspect", far(host.home() / "runs")});
    CHECK(found.exitCode == 3);
    CHECK(found.err.find("run: shardscope") == std::string::npos); // which would be about this machine
}

TEST_CASE("Ctrl+C while another host is asked is a stop, not an error of the host")
{
    const Host host;
    // Before it answers at all; and when the program should run there.
    for (const std::string& sleeping :
        {std::string("exec sleep 30\n"), std::string("echo; echo shardscope-far ready; exec sleep 30\n")}) {
        script(host.folder() / "ssh", sleeping);
        Process process({programPath(), "inspect", far(samplePath("zero2-w2"))}, host.options());
        ::usleep(500'000);
        const auto began = std::chrono::steady_clock::now();
        process.signal(SIGINT);
        const ProcessResult stopped = process.wait();
        CHECK(stopped.exitCode == 130);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10));
    }
}

TEST_CASE("what ssh says is in the error")
{
    const Host host;
    script(host.folder() / "ssh", "echo 'Permission denied (publickey).' >&2; exit 255\n");
    const nlohmann::json error = nlohmann::json::parse(host.run({"inspect", "node7:/x", "--json"}).out);
    CHECK(error["code"] == "unreadable");
    CHECK(std::string(error["message"]).find("Permission denied (publickey).") != std::string::npos);
    CHECK(error["path"] == "node7");
    // Ctrl+C on a terminal reaches ssh as well, through which the stop of a job has to go.
    const std::string status = (host.folder() / "status").string();
    script(host.folder() / "ssh", "exec grep SigBlk /proc/self/status >'" + status + "'\n");
    CHECK(host.run({"inspect", "node7:/x"}).exitCode == 3);
    CHECK(slurp(status).find("0002\n") != std::string::npos); // SIGINT is blocked
}

namespace {

std::string frame(const std::string& header, const std::string& payload = {})
{
    return serve::frameStart(header, payload.size()) + payload;
}

} // namespace

TEST_CASE("another end that sends nonsense ends in an error, at once")
{
    const Host host;
    const std::string version = nlohmann::json::parse(runShardscope({"--version", "--json"}).out)["version"];
    const std::string hello = "shardscope-far ready\n"
        + frame(R"({"id":0,"reply":"hello","protocol":1,"version":")" + version + "\"}");
    const std::string done = R"({"id":2,"reply":"done","exit":0})";
    for (const std::string& sent :
        {std::string("shardscope-far ready\n"), std::string("shardscope-far ready\nxxxxxxxx"),
            "shardscope-far ready\n" + frame(R"({"id":0,"reply":"hello","protocol":9,"version":"9"})"), hello,
            hello + std::string(8, '\xff'), hello + frame("{}"), hello + frame("no JSON"),
            hello + frame(done, "no JSON"), hello + frame(done, R"({"results":[]})"),
            hello + frame(done, R"({"results":[{"path":"../../etc"}]})"),
            hello + frame(R"({"id":2,"reply":"data"})", std::string(100, 'x'))
                + frame(done, R"({"results":[{"path":"/x"}]})"),
            hello + frame(R"({"id":2,"reply":"error","exit":3})", "no JSON"),
            hello + frame(R"({"id":2,"reply":"error","exit":3})", R"({"code":"none","message":"m"})"),
            std::string("shardscope-far absent\n"), std::string("shardscope-far \n"),
            std::string("shardscope-far failed\n")}) {
        CAPTURE(sent);
        spill(host.folder() / "sent", sent);
        script(host.folder() / "ssh", "cat '" + (host.folder() / "sent").string() + "'\n");
        const auto began = std::chrono::steady_clock::now();
        // Files of the other end, and an answer of it.
        const ProcessResult files = host.run({"inspect", "node7:/x", "--bwlimit", "1G"});
        CHECK((files.exitCode == 3 || files.exitCode == 4));
        CHECK_FALSE(files.err.empty());
        const ProcessResult whole = host.run({"inspect", "node7:/x"});
        CHECK(whole.exitCode != 70);
        CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
    }
}

TEST_CASE("a login that says nothing ends in half a minute where nobody can be asked")
{
    const Host host;
    script(host.folder() / "ssh", "exec sleep 100\n");
    const auto began = std::chrono::steady_clock::now();
    ProcessOptions options = host.options();
    options.environment.emplace_back("SSH_ASKPASS", "");
    const ProcessResult found // without a terminal
        = runProcess({"/usr/bin/setsid", "-w", programPath(), "inspect", "node7:/x"}, options);
    CHECK(found.exitCode == 3);
    CHECK(found.err.find("the host does not answer") != std::string::npos);
    CHECK(found.err.find("ssh node7 true") != std::string::npos);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(35));
}

TEST_CASE("text of the other end controls no terminal")
{
    const Host host;
    const std::string version = nlohmann::json::parse(runShardscope({"--version", "--json"}).out)["version"];
    for (const bool isJson : {false, true}) {
        const std::string answer = isJson ? "{\"name\": \"\x7f\xc2\x9b"
                                            "2Jgone\"}\n"
                                          : "\x1b[2J\xc2\x9b"
                                            "2Jgone\n";
        spill(host.folder() / "sent",
            "shardscope-far ready\n"
                + frame(R"({"id":0,"reply":"hello","protocol":1,"version":")" + version + "\"}")
                + frame(R"({"id":2,"reply":"message"})", "\x1b]0;title\x07 warning\n")
                + frame(R"({"id":2,"reply":"data"})", answer) + frame(R"({"id":2,"reply":"done","exit":0})"));
        script(host.folder() / "ssh", "cat '" + (host.folder() / "sent").string() + "'; sleep 5\n");
        const ProcessResult found
            = host.run(isJson ? Words{"inspect", "node7:/x", "--json"} : Words{"inspect", "node7:/x"});
        CHECK(found.exitCode == 0);
        for (const char control : {'\x1b', '\x9b', '\x7f'})
            CHECK((found.out + found.err).find(control) == std::string::npos);
        CHECK(found.out.find("gone") != std::string::npos);
    }
}

TEST_CASE(
    "an answer of the other end without an exit status, or with none that this program has, is an error")
{
    const Host host;
    const std::string version = nlohmann::json::parse(runShardscope({"--version", "--json"}).out)["version"];
    for (const char* exit : {"", R"(,"exit":255)", R"(,"exit":7)", R"(,"exit":256)", R"(,"exit":-1)",
             R"(,"exit":4294967296)", R"(,"exit":"0")"}) {
        CAPTURE(exit);
        spill(host.folder() / "sent",
            "shardscope-far ready\n"
                + frame(R"({"id":0,"reply":"hello","protocol":1,"version":")" + version + "\"}")
                + frame(R"({"id":2,"reply":"data"})", "{}")
                + frame(R"({"id":2,"reply":"done")" + std::string(exit) + "}"));
        script(host.folder() / "ssh", "cat '" + (host.folder() / "sent").string() + "'; sleep 5\n");
        for (const Words& words :
            {Words{"inspect", "node7:/x", "--json"}, Words{"inspect", "node7:/x"}, Words{"jobs", "node7:"}}) {
            const ProcessResult found = host.run(words);
            CHECK(found.exitCode == 3);
        }
    }
}

TEST_CASE("an answer of the other end that is no JSON object is an error where JSON was asked for")
{
    const Host host;
    const std::string version = nlohmann::json::parse(runShardscope({"--version", "--json"}).out)["version"];
    for (const char* answer : {"", "{\"path\": ", "[1]", "{}{}", "\x1b[2J{}", "{\"a\": \"\xff\"}"}) {
        CAPTURE(answer);
        spill(host.folder() / "sent",
            "shardscope-far ready\n"
                + frame(R"({"id":0,"reply":"hello","protocol":1,"version":")" + version + "\"}")
                + frame(R"({"id":2,"reply":"data"})", answer) + frame(R"({"id":2,"reply":"done","exit":0})"));
        script(host.folder() / "ssh", "cat '" + (host.folder() / "sent").string() + "'; sleep 5\n");
        const ProcessResult found = host.run({"inspect", "node7:/x", "--json"});
        CHECK(found.exitCode == 3);
        CHECK(nlohmann::json::parse(found.out)["schema"] == "shardscope/error/1");
    }
}

TEST_CASE("a connection that is cut at any moment leaves an error and no half output")
{
    const Host host;
    const std::string local = samplePath("zero3-w4").string();
    const std::string ssh = slurp(host.folder() / "ssh");
    const TemporaryFolder folder;
    size_t whole = 0;
    size_t cut = 0;
    for (int step = 0; step < 30; ++step) {
        const size_t bytes = size_t{60} << (step % 15);
        CAPTURE(bytes);
        // Of what the other end sends only so many bytes arrive.
        script(host.folder() / "cut",
            "env -i HOME='" + host.home().string() + "' PATH='" + (host.folder() / "bin").string()
                + ":/usr/bin:/bin' sh -c \"$2\" | { /usr/bin/dd status=none bs=1 count="
                + std::to_string(bytes) + "; kill -9 0; }\n");
        script(host.folder() / "ssh", "exec setsid -w '" + (host.folder() / "cut").string() + "' \"$@\"\n");
        const std::string out = (folder / ("out" + std::to_string(step))).string();
        const ProcessResult result = step < 15
            ? host.run({"inspect", far(local), "--json", "--bwlimit", "100G"})
            : host.run({"reshard", far(local), out, "-w", "3"});
        if (result.exitCode == 0) {
            ++whole;
            continue;
        }
        ++cut;
        CHECK(result.exitCode == 3);
        if (step < 15) {
            CHECK(nlohmann::json::parse(result.out)["schema"] == "shardscope/error/1");
        } else {
            CHECK_FALSE(fs::exists(fs::path(out) / "latest"));
            for (const auto& entry : fs::exists(out) ? fs::directory_iterator(out) : fs::directory_iterator())
                CHECK(entry.path().filename().string().starts_with('.'));
            script(host.folder() / "ssh", ssh.substr(ssh.find('\n') + 1));
            CHECK(
                host.run({"reshard", far(local), out, "-w", "3"}).exitCode == 0); // the same command goes on
        }
    }
    CHECK(cut > 8);
    CHECK(whole > 1);
}

TEST_CASE("a real sshd serves as the other host")
{
    if (!isInstalled("/usr/sbin/sshd"))
        return;
    const Host host;
    const fs::path& folder = host.folder().path();
    for (const char* key : {"host_key", "user_key"})
        REQUIRE(runProcess(
                    {"/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", (folder / key).string()})
                    .exitCode
            == 0);
    if (::geteuid() == 0)
        fs::create_directories("/run/sshd"); // which sshd wants; its service makes it at each start
    spill(folder / "sshd_config",
        "HostKey " + (folder / "host_key").string() + "\nAuthorizedKeysFile "
            + (folder / "user_key.pub").string() + "\nStrictModes no\nUsePAM no\nPidFile none\nSetEnv PATH="
            + (folder / "bin").string() + ":/usr/bin:/bin HOME=" + host.home().string() + "\n");
    spill(folder / "ssh_config",
        "Host node7\n  ProxyCommand /usr/sbin/sshd -i -f " + (folder / "sshd_config").string()
            + "\n  IdentityFile " + (folder / "user_key").string()
            + "\n  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  "
              "LogLevel ERROR\n");
    const ProcessOptions options{
        .environment = {{"SHARDSCOPE_SSH", "ssh -F '" + (folder / "ssh_config").string() + "'"}}};
    const std::string local = samplePath("zero3-w4").string();
    const ProcessResult found = runShardscope({"inspect", far(local), "--json"}, options);
    CAPTURE(found.err);
    CHECK(found.exitCode == 0);
    CHECK(found.out == runShardscope({"inspect", local, "--json"}).out);
    const ProcessResult same = runShardscope({"diff", far(local), local}, options);
    CHECK(same.exitCode == 0);
    CHECK(same.err.find("values are read from node7") != std::string::npos);
    const std::string other = samplePath("zero2-w2").string();
    const ProcessResult there = runShardscope({"diff", far(local), far(other), "--json"}, options);
    CHECK(there.exitCode == 1);
    CHECK(there.err.empty());
    CHECK(nlohmann::json::parse(there.out) == answerOf({"diff", local, other}, 1));
    const ProcessResult job
        = runShardscope({"reshard", far(local), far(folder / "out"), "-w", "3", "--json"}, options);
    CAPTURE(job.err);
    CHECK(job.exitCode == 0);
    CHECK(runShardscope({"verify", (folder / "out").string(), "--against", local}).exitCode == 0);
    CHECK(runShardscope({"jobs", "node7:"}, options).out.find("ended, exit status 0") != std::string::npos);
    const ProcessResult absent = runShardscope({"inspect", "node8:/x"}, options);
    CHECK(absent.exitCode == 3);
    CHECK(absent.err.find("node8") != std::string::npos);
}
