// SPDX-License-Identifier: Apache-2.0
// The schema checker of the other tests must reject wrong answers.
#include "tests/cli/cli_fixture.h"
#include "tests/support/json_schema.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

bool fits(const char* schema, const char* document, bool closed = false)
{
    return schemaErrors(Json::parse(schema), Json::parse(document), closed).empty();
}

} // namespace

TEST_CASE("each keyword accepts what is right and refuses what is wrong")
{
    CHECK(fits(R"({"type": "integer"})", "3"));
    CHECK(!fits(R"({"type": "integer"})", "3.0"));
    CHECK(!fits(R"({"type": "integer"})", "\"3\""));
    CHECK(fits(R"({"type": ["string", "null"]})", "null"));
    CHECK(!fits(R"({"type": ["string", "null"]})", "false"));
    CHECK(fits(R"({"const": "a/1"})", "\"a/1\""));
    CHECK(!fits(R"({"const": "a/1"})", "\"a/2\""));
    CHECK(!fits(R"({"enum": ["ok", "bad"]})", "\"good\""));
    CHECK(!fits(R"({"minimum": 0})", "-1"));
    CHECK(!fits(R"({"maximum": 3})", "4"));
    CHECK(!fits(R"({"required": ["a"]})", "{}"));
    CHECK(!fits(R"({"properties": {"a": {"type": "string"}}})", R"({"a": 1})"));
    CHECK(fits(R"({"properties": {"a": {"type": "string"}}})", R"({"b": 1})"));
    CHECK(!fits(R"({"properties": {"a": {"type": "string"}}})", R"({"b": 1})", true));
    CHECK(!fits(R"({"items": {"type": "string"}})", R"(["a", 1])"));
    CHECK(!fits(R"({"additionalProperties": {"type": "string"}})", R"({"x": 1})"));
    CHECK(fits(R"({"oneOf": [{"type": "number"}, {"const": "nan"}]})", "\"nan\""));
    CHECK(!fits(R"({"oneOf": [{"type": "number"}, {"const": "nan"}]})", "\"inf\""));
    CHECK(!fits(R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})", "1"));
    CHECK(fits(R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}})", "\"x\""));
    CHECK(!fits(R"({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}})", "1"));
    CHECK(!fits(R"({"$ref": "#/$defs/b", "$defs": {"a": {"type": "string"}}})", "1"));
    CHECK(!fits(R"({"pattern": "x"})", "\"x\"")); // a keyword it does not know
}

TEST_CASE("a damaged answer does not fit its schema")
{
    const Json schema = readSchema("inspect");
    const Json answer = answerOf({"inspect", samplePath("zero3-w4")});
    REQUIRE(schemaErrors(schema, answer, true).empty());
    for (const auto& [name, value] : answer.items()) {
        CAPTURE(name);
        Json lacking = answer;
        lacking.erase(name);
        const bool mayLack = name == "sub_group_size" || name == "selected";
        CHECK(schemaErrors(schema, lacking, true).empty() == mayLack);
        Json wrong = answer;
        wrong[name] = value.is_number() ? Json("7") : Json(7);
        CHECK(!schemaErrors(schema, wrong, true).empty());
    }
    Json more = answer;
    more["surprise"] = 1;
    CHECK(schemaErrors(schema, more, false).empty());
    CHECK(!schemaErrors(schema, more, true).empty());
}
