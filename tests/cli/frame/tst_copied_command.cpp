// SPDX-License-Identifier: Apache-2.0
// --copy: what the terminal is asked to put into its clipboard.
#include "tests/cli/far/far_host_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Variables = std::vector<std::pair<std::string, std::string>>;

namespace {

/// On a terminal of this machine, and with more variables.
ProcessOptions terminal(const Variables& more = {})
{
    ProcessOptions out{.environment
        = {{"TERM", "xterm"}, {"NO_COLOR", "1"}, {"SSH_CONNECTION", ""}, {"TMUX", ""}, {"STY", ""}},
        .onTerminal = true};
    out.environment.insert(out.environment.end(), more.begin(), more.end());
    return out;
}

const Variables kThroughSsh{{"SSH_CONNECTION", "10.0.0.1 40000 10.0.0.2 22"}, {"USER", "ada"}};

size_t count(const std::string& text, const std::string& part)
{
    size_t out = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
        ++out;
    return out;
}

/// What follows OSC 52 up to its end, decoded by coreutils; empty if there is none.
std::string copied(const std::string& shown)
{
    const std::string begin = "\x1b]52;c;";
    const size_t at = shown.find(begin);
    if (at == std::string::npos)
        return {};
    const std::string encoded = shown.substr(at + begin.size(), shown.find('\a', at) - at - begin.size());
    return runProcess({"/bin/sh", "-c", "printf %s '" + encoded + "' | base64 -d"}).out;
}

std::string copiedBy(const Words& words, const Variables& more = {})
{
    const ProcessResult result = runShardscope(words, terminal(more));
    CHECK_MESSAGE(result.exitCode == 0, result.out);
    return copied(result.out);
}

} // namespace

TEST_CASE("the terminal copies the command that opens the same in the window")
{
    const std::string run = samplePath("zero3-w4").string();
    CHECK(copiedBy({"inspect", run, "--copy"}) == "shardscope-gui --page overview " + run);
    CHECK(copiedBy({"params", run, "--copy", "--quiet"}) == "shardscope-gui --page parameters " + run);
    CHECK(copiedBy({"files", run, "--copy", "--tag", "global_step5"})
        == "shardscope-gui --page files --tag global_step5 " + run);
    CHECK(copiedBy({"show", run, "layers.0.mlp.up.weight#exp_avg[1:3]", "--copy"})
        == "shardscope-gui --page tensor --select 'layers.0.mlp.up.weight#exp_avg[1:3]' " + run);
    for (const char* option : {"--param", "--address"}) {
        CHECK(copiedBy({"layout", run, option, "layers.0.mlp.up.weight", "--copy"})
            == "shardscope-gui --page map --select layers.0.mlp.up.weight " + run);
    }
    CHECK(copiedBy({"layout", run, "--rank", "dp3", "--copy"})
        == "shardscope-gui --page map --select dp3 " + run);
    CHECK(copiedBy({"check", run, "--copy"}) == "shardscope-gui --page findings " + run);
    const ProcessResult both = runShardscope({"check", run, run, "--copy"}, terminal());
    CHECK(copied(both.out).empty());
    CHECK(both.out.find("the window opens one checkpoint") != std::string::npos);
    const ProcessResult shown = runShardscope({"inspect", run, "--copy"}, terminal());
    CHECK(
        shown.out.find("sent to the clipboard: shardscope-gui --page overview " + run) != std::string::npos);
    // The folder may be another one where it is pasted.
    const TemporaryFolder folder;
    fs::create_directory_symlink(run, folder / "it's a run");
    const ProcessResult relative
        = runProcess({"/bin/sh", "-c",
                         "cd '" + folder.path().string() + "' && '" + shardscope::programPath()
                             + "' inspect \"it's a run\" --copy"},
            terminal());
    CHECK(copied(relative.out) == "shardscope-gui --page overview " + run);
}

TEST_CASE("through ssh, the copied command names this host")
{
    const std::string run = samplePath("zero3-w4").string();
    std::string host = runProcess({"/bin/hostname"}).out;
    host.pop_back();
    CHECK(copiedBy({"inspect", run, "--copy", "--root", run}, kThroughSsh)
        == "shardscope-gui --page overview --root ada@" + host + ":" + run + " ada@" + host + ":" + run);
    Variables odd = kThroughSsh;
    odd[1].second = "$(touch x)";
    CHECK(copiedBy({"inspect", run, "--copy"}, odd) == "shardscope-gui --page overview " + run);
}

TEST_CASE("of a checkpoint on another host, the path stays as it is")
{
    const Host host;
    fs::copy(samplePath("zero2-w2"), host.home() / "llama", fs::copy_options::recursive);
    Variables more = kThroughSsh;
    more.push_back(host.options().environment.front());
    CHECK(copiedBy({"inspect", "node7:llama", "--copy"}, more)
        == "shardscope-gui --page overview 'node7:~/llama'");
    const std::string path = far(host.home() / "llama");
    CHECK(copiedBy({"show", path, "layers.0.mlp.up.weight", "--copy", "--json"}, more)
        == "shardscope-gui --page tensor --select layers.0.mlp.up.weight " + path);
}

TEST_CASE("tmux and screen pass the codes on")
{
    const Words words{"inspect", samplePath("zero3-w4").string(), "--copy"};
    const std::string plain = copiedBy(words);
    const std::string tmux = runShardscope(words, terminal({{"TMUX", "/tmp/tmux-0/default,1,0"}})).out;
    CHECK(copied(tmux) == plain);
    CHECK(copied(tmux.substr(tmux.find("\x1bPtmux;\x1b") + 8)) == plain);
    CHECK(count(tmux, "\x1b\\") == 1);
    Words many = words;
    for (int i = 0; i < 20; ++i)
        many.insert(many.end(), {"--root", words[1]});
    std::string screen = runShardscope(many, terminal({{"STY", "1234.pts"}})).out;
    CHECK(screen.find("\x1bP\x1b]52;c;") != std::string::npos);
    CHECK(count(screen, "\x1bP") > 2);
    CHECK(count(screen, "\x1bP") == count(screen, "\x1b\\"));
    const std::string between = "\x1b\\\x1bP";
    for (size_t at = screen.find(between); at != std::string::npos; at = screen.find(between))
        screen.erase(at, between.size());
    CHECK(copied(screen) == copiedBy(many));
}

TEST_CASE("nothing is copied without a terminal, nor what should not be pasted")
{
    const std::string run = samplePath("zero3-w4").string();
    const ProcessResult piped = runShardscope({"inspect", run, "--copy"});
    CHECK(piped.exitCode == 0);
    CHECK(piped.out == runShardscope({"inspect", run}).out);
    CHECK(piped.err.find("nothing was copied") != std::string::npos);
    CHECK((piped.out + piped.err).find('\x1b') == std::string::npos);
    CHECK(copiedBy({"inspect", run, "--copy"}, {{"TERM", "dumb"}}).empty());
    CHECK(copied(runShardscope({"inspect", run + "/absent", "--copy"}, terminal()).out).empty());
    const TemporaryFolder folder;
    fs::copy(run, folder / "b\x03", fs::copy_options::recursive);
    CHECK(copiedBy({"inspect", (folder / "b\x03").string(), "--copy"}).empty());
    Words many{"inspect", run, "--copy"};
    for (int i = 0; i < 1500; ++i)
        many.insert(many.end(), {"--root", run});
    const ProcessResult longer = runShardscope(many, terminal());
    CHECK(copied(longer.out).empty());
    CHECK(longer.out.find("longer than terminals take") != std::string::npos);
    CHECK(runShardscope({"verify", run, "--copy"}).exitCode == 2);
}
