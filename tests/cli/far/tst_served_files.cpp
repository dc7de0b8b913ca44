// SPDX-License-Identifier: Apache-2.0
// Files that `serve` reads for a client on another host.
#include "core/serve/file_calls.h"
#include "tests/cli/served.h"

using namespace shardscope;
using namespace shardscope::test;

namespace {

/// The results of these calls, and the data of all of them.
std::vector<FileResult> called(const std::vector<FileCall>& calls, std::string& data)
{
    Served served;
    const uint64_t id = served.ask(asking(ask::kFiles), fileCallsText(calls));
    ProcessResult result;
    auto answers = served.answers(result);
    REQUIRE(answers[id].last.reply == reply::kDone);
    CHECK(schemaErrors(readSchema("serve-files"), nlohmann::json::parse(fileCallsText(calls)), true).empty());
    CHECK(schemaErrors(readSchema("serve-file-results"), nlohmann::json::parse(answers[id].payload), true)
              .empty());
    const auto found = parseFileResults(answers[id].payload, calls);
    REQUIRE(found.has_value());
    data = answers[id].data;
    return *found;
}

} // namespace

TEST_CASE("files are read only if they are those that were opened")
{
    const TemporaryFolder folder;
    const std::string path = (folder / "file").string();
    spill(path, "0123456789");
    std::string data;
    const io::FileIdentity opened = called({{std::string(call::kOpen), path}}, data).at(0).info.identity;
    const std::vector<FileCall> calls{{std::string(call::kRead), path, opened, 2, 3},
        {std::string(call::kRead), path, opened, 9, 1}, {std::string(call::kUnchanged), path, opened}};
    for (const FileResult& result : called(calls, data))
        CHECK_FALSE(result.error.has_value());
    CHECK(data == "2349");
    spill(path, "01234567890"); // another version
    for (const FileResult& result : called(calls, data)) {
        REQUIRE(result.error.has_value());
        CHECK(result.error->code == ErrorCode::SourceChanged);
    }
    CHECK(data.empty());
}

TEST_CASE("one call of many that fails is a result like others")
{
    const TemporaryFolder folder;
    const std::string path = (folder / "file").string();
    spill(path, "text");
    std::string data;
    const auto found = called(
        {{std::string(call::kSmall), path, {}, 0, 100}, {std::string(call::kStat), path + "x"},
            {std::string(call::kList), "relative"}, {std::string(call::kList), "host:/x"},
            {std::string(call::kOpen), folder.path().string()}, {std::string(call::kSmall), path, {}, 0, 3},
            {std::string(call::kList), folder.path().string()}},
        data);
    CHECK(data == "text");
    CHECK(found[0].bytes == 4);
    CHECK(found[1].error->code == ErrorCode::NotFound);
    CHECK(found[2].error->code == ErrorCode::Usage);
    CHECK(found[3].error->code == ErrorCode::Usage); // no third host
    CHECK(found[4].error.has_value());
    CHECK(found[5].error->code == ErrorCode::LimitExceeded);
    REQUIRE(found[6].entries.size() == 1);
    CHECK(found[6].entries[0].name == "file");
}
