// SPDX-License-Identifier: Apache-2.0
// `shardscope help`.
#include "core/report/documents/manual.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

TEST_CASE("every page of the manual is printed as it is in the source")
{
    const Json topics = answerOf({"help"}).at("topics");
    REQUIRE(topics.size() == manualPages().size());
    CHECK(topics.size() >= 13);
    CHECK(topics.front().at("topic") == "resuming");
    for (const Json& entry : topics) {
        const auto topic = entry.at("topic").get<std::string>();
        CAPTURE(topic);
        std::ifstream file(sourceFolder() + "/resources/manual/" + topic + ".md");
        const std::string text((std::istreambuf_iterator<char>(file)), {});
        REQUIRE(!text.empty());
        CHECK(runShardscope({"help", topic}).out == text);
        const Json page = answerOf({"help", topic});
        CHECK(page.at("text") == text);
        CHECK(text.starts_with("# " + page.at("title").get<std::string>() + "\n"));
        CHECK(runShardscope({"help"}).out.find(topic) != std::string::npos);
    }
}

TEST_CASE("help of a command, and of something unknown")
{
    CHECK(runShardscope({"help", "reshard"}).out == runShardscope({"reshard", "--help"}).out);
    const Json error = errorOf({"help", "concept"}, 2, "usage");
    CHECK(error.at("hint").get<std::string>().find("`concepts`") != std::string::npos);
}

TEST_CASE("the help of every command is an object with --json, as its pages are")
{
    for (const std::vector<std::string>& words :
        {std::vector<std::string>{"reshard"}, {"plan", "reshard"}, {"tags"}}) {
        std::vector<std::string> help = words;
        help.emplace_back("--help");
        const Json object = answerOf(help);
        CHECK(object.at("schema") == "shardscope/help/1");
        CHECK(object.at("text") == runShardscope(help).out);
        std::string topic = words.front();
        for (size_t i = 1; i < words.size(); ++i)
            topic += " " + words[i];
        CHECK(object.at("topic") == topic);
    }
    CHECK(answerOf({"help", "reshard"}) == answerOf({"reshard", "--help"}));
    CHECK(answerOf({"--help"}).at("topic") == "shardscope");
}

TEST_CASE("a misspelled command is found among the topics of help")
{
    const Json error = errorOf({"help", "reshrad"}, 2, "usage");
    CHECK(error.at("hint").get<std::string>().find("`reshard`") != std::string::npos);
}
