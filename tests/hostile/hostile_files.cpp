// SPDX-License-Identifier: Apache-2.0
#include "tests/hostile/hostile_files.h"

#include "tests/hostile/run_here.h"

#include <doctest/doctest.h>

namespace shardscope::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

/// A finding of severity error about the file, with the word in it or its evidence.
bool hasErrorAbout(const Json& findings, const std::string& file, const std::string& word)
{
    for (const Json& finding : findings) {
        const std::string text = finding.dump(-1, ' ', false, Json::error_handler_t::replace);
        if (finding.at("severity") == "error" && text.find(file) != std::string::npos
            && text.find(word) != std::string::npos)
            return true;
    }
    return false;
}

void checkFile(const std::string& file, const std::string& word, const Row& row, const DamageFile& damage)
{
    CAPTURE(file);
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    damage(run / file);
    checkRow(run, row, word, folder);
    const std::string name = fs::path(file).filename().string();
    const Json findings = runVerb({"inspect", run}, 0).at("findings");
    CAPTURE(findings.dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 3000));
    CHECK(hasErrorAbout(findings, name, word));
    const Json refused = runVerb({"reshard", run, folder / "out", "-w", "3"}, 6);
    CHECK(refused.at("message").get<std::string>().find(name) != std::string::npos);
    // The file alone, without its checkpoint: listed or refused, without a crash.
    fs::create_directory(folder / "alone");
    fs::copy_file(run / file, folder / "alone/weights.pt");
    const int alone = runHereOrThere({"inspect", folder / "alone/weights.pt", "--json"}).exitCode;
    CHECK((alone == 0 || alone == 3));
}

void checkHarmlessFile(const std::string& file, const std::string& word, const DamageFile& damage)
{
    CAPTURE(file);
    const TemporaryFolder folder;
    const fs::path run = copySample("zero2-w2", folder);
    damage(run / file);
    checkRow(run, kFine, word, folder);
    const auto before = traceOf(run);
    CHECK(runHereOrThere({"reshard", run, folder / "out", "-w", "3"}).exitCode == 0);
    CHECK(runHereOrThere({"verify", folder / "out", "--against", samplePath("zero2-w2")}).exitCode == 0);
    CHECK(traceOf(run) == before);
}

} // namespace

void checkUnreadable(const std::string& name, const std::string& word, const DamageFile& damage)
{
    checkReadable(name, word, kOneFileBad, kModelUnreadable, damage);
}

void checkReadable(const std::string& name, const std::string& word, const Row& optim, const Row& model,
    const DamageFile& damage)
{
    CAPTURE(name);
    checkFile(kOptimFile, word, optim, damage);
    checkFile(kModelFile, word, model, damage);
}

void checkHarmless(const std::string& name, const std::string& word, const DamageFile& damage)
{
    CAPTURE(name);
    checkHarmlessFile(kOptimFile, word, damage);
    checkHarmlessFile(kModelFile, word, damage);
}

} // namespace shardscope::test
