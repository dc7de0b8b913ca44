// SPDX-License-Identifier: Apache-2.0
// What is described once is the JSON and its schema.
#include "core/describe/json_out.h"
#include "core/describe/schema_out.h"
#include "tests/support/json_schema.h"

#include <doctest/doctest.h>

#include <cmath>

using namespace shardscope;
using Json = nlohmann::json;

namespace {

enum class Form { Whole, Cut };

std::string_view formName(Form form)
{
    return form == Form::Cut ? "cut" : "whole";
}

struct Piece {
    std::string name;
    Form form = Form::Whole;
    std::optional<uint64_t> bytes;
};

void describe(auto& out, const Piece& piece)
{
    out.is("Piece", "A piece of something.");
    out.name("name", piece.name, "from a file");
    out.word("form", piece.form, formName);
    out.field("bytes", piece.bytes);
}

struct Answer {
    std::vector<Piece> pieces;
    double mean = 0;
    bool failed = false;
    std::optional<Piece> first;
    std::vector<std::pair<std::string, std::vector<int>>> numbers;
    std::string reason;
};

void describeAnswer(auto& out, const Answer& answer)
{
    out.answer("try", "TryAnswer", "Everything.");
    out.either(
        answer.failed,
        [&] {
            out.wordOrNull("reason", answer.reason, {"full", "slow"});
        },
        [&] {
            out.field("pieces", answer.pieces);
            out.field("mean", answer.mean);
        });
    out.optional("first", answer.first);
    out.maybe(!answer.numbers.empty(), [&] { out.field("numbers", answer.numbers); });
    out.object("limits", [&](auto& limits) { limits.field("most", 3, between(0, 5)); });
}

std::string textOf(const Answer& answer)
{
    std::string out;
    writeObject(
        [&](std::string_view part) { out += part; }, [&](JsonOut& json) { describeAnswer(json, answer); });
    return out;
}

std::vector<std::string> errorsOf(const Json& json)
{
    static const Json kSchema
        = Json::parse(schemaOf("try", [](SchemaOut& schema) { describeAnswer(schema, {}); }));
    return test::schemaErrors(kSchema, json, true);
}

} // namespace

TEST_CASE("fields are written in the order in which they are described")
{
    CHECK(textOf({{{"a", Form::Cut, 7}, {"b\xff", Form::Whole, {}}}, std::nan(""), false, {},
              {{"x", {1, -2}}}, {}})
        == "{\"schema\":\"shardscope/try/"
           "1\",\"pieces\":[{\"name\":\"a\",\"form\":\"cut\",\"bytes\":7},{\"name\":\"b\uFFFD\","
           "\"name_hex\":\"62ff\",\"form\":\"whole\",\"bytes\":null}],\"mean\":\"nan\",\"numbers\":{\"x\":[1,"
           "-2]},"
           "\"limits\":{\"most\":3}}\n");
    CHECK(textOf({{}, 0, true, Piece{"c", Form::Whole, 1}, {}, {}})
        == "{\"schema\":\"shardscope/try/"
           "1\",\"reason\":null,\"first\":{\"name\":\"c\",\"form\":\"whole\",\"bytes\":1},"
           "\"limits\":{\"most\":3}}\n");
}

TEST_CASE("the schema accepts what is written, and nothing else")
{
    const Json good = Json::parse(textOf({{{"a\xff", Form::Cut, 7}}, 1.5, false, Piece(), {{"x", {1}}}, {}}));
    const Json failed = Json::parse(textOf({{}, 0, true, {}, {}, "slow"}));
    CHECK(errorsOf(good).empty());
    CHECK(errorsOf(failed).empty());
    for (const auto& [place, value] : std::initializer_list<std::pair<const char*, Json>>{
             {"/schema", "shardscope/other/1"}, {"/pieces/0/form", "round"}, {"/pieces/0/bytes", -1},
             {"/pieces/0/bytes", "7"}, {"/pieces/0/name", nullptr}, {"/mean", nullptr}, {"/mean", "none"},
             {"/first", nullptr}, {"/numbers/x", {"1"}}, {"/limits/most", 6}, {"/limits", Json::object()},
             {"/reason", "slow"}, {"/more", 1}}) {
        Json bad = good;
        bad[Json::json_pointer(place)] = value;
        INFO(place, " ", value.dump());
        CHECK(!errorsOf(bad).empty());
    }
    for (const char* place :
        {"/schema", "/pieces", "/pieces/0/name", "/pieces/0/bytes", "/mean", "/limits"}) {
        Json bad = good;
        const Json::json_pointer pointer(place);
        bad[pointer.parent_pointer()].erase(pointer.back());
        INFO(place);
        CHECK(!errorsOf(bad).empty());
    }
    Json bad = failed;
    bad["reason"] = "other";
    CHECK(!errorsOf(bad).empty());
}

TEST_CASE("titles and texts are in the schema")
{
    const Json schema = Json::parse(schemaOf("try", [](SchemaOut& out) { describeAnswer(out, {}); }));
    CHECK(schema["$id"] == "urn:shardscope:try:1");
    CHECK(schema["title"] == "TryAnswer");
    CHECK(schema["description"] == "Everything.");
    CHECK(schema["properties"]["pieces"]["items"]["$ref"] == "#/$defs/Piece");
    CHECK(schema["$defs"]["Piece"]["properties"]["name"]["description"] == "from a file");
    CHECK(schema["$defs"]["Piece"]["properties"]["form"]["enum"] == Json{"whole", "cut"});
}
