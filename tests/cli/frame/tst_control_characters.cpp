// SPDX-License-Identifier: Apache-2.0
// Names in files and paths can contain control characters. None of them reaches a terminal.
#include "tests/cli/cli_fixture.h"
#include "tests/support/damages.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kEvil = "evil\x1b[31m\nname";
const std::string kEvilInAddress = "evil%1B%5B31m%0Aname";
const std::string kTrained = "layers.0.attention.wo.weight";

bool contains(const std::string& text, const std::string& part)
{
    return text.find(part) != std::string::npos;
}

/// Everything that the program prints is free of escape characters and of the name's line break.
void checkPrinted(const Words& words, int exitCode)
{
    CAPTURE(words[0]);
    const ProcessResult result = runShardscope(words);
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.exitCode == exitCode);
    for (const std::string& text : {result.out, result.err}) {
        CHECK(!contains(text, "\x1b"));
        CHECK(!contains(text, "\nname"));
    }
    const std::string all = result.out + result.err;
    CHECK((contains(all, "evil\\x1b[31m\\x0aname") || contains(all, kEvilInAddress)));
}

/// A run folder, its tag, a further file and a parameter have the name.
fs::path evilRun(const TemporaryFolder& folder)
{
    const Patchable source("zero2-w2");
    source.operateOnAll("model_states.pt", [](Surgery& surgery) {
        surgery.rename({"module"}, kTrained, kTrained + kEvil);
        surgery.rename({"param_shapes", 0}, kTrained, kTrained + kEvil);
    });
    const fs::path run = folder / ("run" + kEvil);
    fs::create_directory(run);
    fs::copy(source.tag(), run / ("tag" + kEvil), fs::copy_options::recursive);
    spill(run / ("tag" + kEvil) / ("notes" + kEvil), "x");
    spill(run / "latest", "tag" + kEvil);
    return run;
}

} // namespace

TEST_CASE("no control character of a name reaches a terminal")
{
    const TemporaryFolder folder;
    const std::string run = evilRun(folder);
    const std::string parameter = kTrained + kEvilInAddress;
    checkPrinted({"inspect", run, "-v"}, 0);
    checkPrinted({"params", run, "-v"}, 0);
    checkPrinted({"files", run, "--records", "-v"}, 0);
    checkPrinted({"layout", run, "-v", "--param", kTrained + kEvil}, 0);
    checkPrinted({"layout", run, "-v", "--address", parameter + "#fp32"}, 0);
    checkPrinted({"show", run, parameter + "#fp32", "-v", "--npy", folder / ("values" + kEvil)}, 0);
    checkPrinted({"stats", run, "-v"}, 0);
    checkPrinted({"diff", run, samplePath("zero2-w2"), "-v"}, 1);
    checkPrinted({"check", run, "-v"}, 0);
    checkPrinted({"fingerprint", run, "-v"}, 0);
    checkPrinted({"verify", run, "-v"}, 0);
}

TEST_CASE("no control character of a name reaches a terminal from commands that write")
{
    const TemporaryFolder folder;
    const std::string run = evilRun(folder);
    const auto out = [&](const std::string& name) { return (folder / (name + kEvil)).string(); };
    checkPrinted({"reshard", run, out("resharded"), "--world-size", "3", "-v"}, 0);
    checkPrinted({"reshard", run, out("resharded"), "--world-size", "3", "-v"}, 0); // done before
    checkPrinted({"reshard", run, out("resharded"), "--world-size", "2", "-v"}, 5); // exists
    checkPrinted({"convert", run, out("converted"), "--to", "universal", "-v"}, 0);
    checkPrinted({"export", run, out("exported"), "-v"}, 0);
    checkPrinted({"export", run, out("some"), "--only", kEvil, "-v"}, 2);
    checkPrinted({"repair", run, out("repaired"), "--set", "step=9", "-v"}, 0);
    checkPrinted({"skeleton", run, out("skeleton") + ".zip", "-v"}, 0);
    checkPrinted({"plan", "reshard", run, out("later"), "--world-size", "3", "-o", out("plan"), "-v"}, 0);
    checkPrinted({"run", out("plan"), "-v"}, 0);
    checkPrinted({"run", out("no plan"), "-v"}, 3);
    checkPrinted({"inspect", run, "--tag", "other" + kEvil}, 3);
    checkPrinted({"inspect", run, "--" + kEvil}, 2);
}
