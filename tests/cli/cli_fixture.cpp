// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/cli_fixture.h"

#include "tests/support/json_schema.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace shardscope::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const fs::path kSource = sourceFolder();

std::string textOf(const Words& words)
{
    std::string out;
    for (const std::string& word : words)
        out += " " + word;
    return out;
}

Json objectOf(const Words& words, int exitCode)
{
    Words withJson{"--json"};
    withJson.insert(withJson.end(), words.begin(), words.end());
    const ProcessResult result = runShardscope(withJson);
    INFO("shardscope", textOf(withJson), "\n", result.out.substr(0, 2000), "\n", result.err.substr(0, 2000));
    CHECK(result.exitCode == exitCode);
    REQUIRE(std::count(result.out.begin(), result.out.end(), '\n') == 1);
    Json object = Json::parse(result.out, nullptr, false);
    REQUIRE(object.is_object());
    const auto name = object.at("schema").get<std::string>();
    REQUIRE(name.starts_with("shardscope/"));
    REQUIRE(name.ends_with("/1"));
    const auto errors = schemaErrors(readSchema(name.substr(11, name.size() - 13)), object, true);
    for (const std::string& error : errors)
        MESSAGE(error);
    CHECK(errors.empty());
    return object;
}

} // namespace

fs::path samplePath(const std::string& name)
{
    return kSource / "tests/data/samples" / name;
}

fs::path copySample(const std::string& name, const TemporaryFolder& folder)
{
    const fs::path copy = folder / name;
    fs::copy(samplePath(name), copy, fs::copy_options::recursive);
    return copy;
}

Json sampleTruth(const std::string& name)
{
    return Json::parse(slurp(samplePath(name + ".json")));
}

nlohmann::json findingsOf(const nlohmann::json& findings, const std::string& code)
{
    nlohmann::json out = nlohmann::json::array();
    std::copy_if(findings.begin(), findings.end(), std::back_inserter(out),
        [&](const nlohmann::json& finding) { return finding.at("code") == code; });
    return out;
}

Json readSchema(const std::string& name)
{
    static const TemporaryFolder kFolder;
    static const bool kWritten = runShardscope({"__schemas", kFolder.path().string()}).exitCode == 0;
    REQUIRE(kWritten);
    return Json::parse(slurp(kFolder.path() / (name + ".json")));
}

ProcessResult runShardscope(const Words& words, const ProcessOptions& options)
{
    Words all{programPath()};
    all.insert(all.end(), words.begin(), words.end());
    return runProcess(all, options);
}

Json answerOf(const Words& words, int exitCode)
{
    Json object = objectOf(words, exitCode);
    INFO("shardscope", textOf(words), "\n", object.dump().substr(0, 2000));
    REQUIRE(object.at("schema") != "shardscope/error/1");
    return object;
}

Json errorOf(const Words& words, int exitCode, const std::string& code)
{
    Json object = objectOf(words, exitCode);
    INFO("shardscope", textOf(words), "\n", object.dump().substr(0, 2000));
    REQUIRE(object.at("schema") == "shardscope/error/1");
    CHECK(object.at("code") == code);
    CHECK(!object.at("message").get<std::string>().empty());
    return object;
}

std::vector<std::pair<std::string, std::string>> contentOf(const fs::path& folder)
{
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string name = fs::relative(entry.path(), folder).string();
        out.emplace_back(name, entry.is_regular_file() ? slurp(entry.path()) : std::string());
    }
    std::sort(out.begin(), out.end());
    return out;
}

} // namespace shardscope::test
