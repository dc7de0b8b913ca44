// SPDX-License-Identifier: Apache-2.0
// Files of saved plans that were edited or damaged.
#include "core/plan/saved/saved_plan.h"
#include "tests/core/plan/plan_fixture.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace shardscope;
using test::openForPlan;
using test::planFor;
using test::planSample;
using Json = nlohmann::ordered_json;

namespace {

Json savedReshard()
{
    const CheckpointPtr source = openForPlan(planSample("pipeline-w4"));
    const ReshardOptions options{.worldSize = 3, .stageLayers = {0, 3, 5, 7}, .tiedLayers = {"embed=0,6"}};
    const auto plan = planFor(source, options);
    Json out = Json::parse(savedPlanText(savePlan(*plan, *source, {}, "/somewhere")));
    out["options"]["sub_group_size"] = 1000;
    return out;
}

/// The error of a plan whose value at `where` is `value`, spelled in JSON.
Error errorWith(Json saved, const char* where, const std::string& value)
{
    const std::string mark = "MARK OF THE VALUE";
    saved[Json::json_pointer(where)] = mark;
    std::string text = saved.dump();
    text.replace(text.find('"' + mark + '"'), mark.size() + 2, value);
    const auto parsed = parseSavedPlan(text, "plan.json");
    REQUIRE_FALSE_MESSAGE(parsed.has_value(), where, " ", value);
    return parsed.error();
}

} // namespace

TEST_CASE("a number in a saved plan that is out of range is a usage error that names it")
{
    const Json saved = savedReshard();
    for (const char* where : {"/options/world_size", "/options/stage_layers/1", "/options/sub_group_size",
             "/sources/0/bytes", "/sources/0/modified_ns", "/files/0/bytes"}) {
        for (const char* value : {"1e45", "-1e45", "1.5", "18446744073709551616", "\"7\"", "true", "[]"}) {
            const Error error = errorWith(saved, where, value);
            INFO(describe(error));
            CHECK(error.code == ErrorCode::Usage);
            const std::string path = where;
            const bool isOfList = path.ends_with("/1");
            const std::string name = isOfList ? "stage_layers" : path.substr(path.rfind('/') + 1);
            CHECK(error.message.find('`' + name + '`') != std::string::npos);
        }
    }
    for (const char* where : {"/options/world_size", "/options/stage_layers/1", "/sources/0/bytes"})
        CHECK(errorWith(saved, where, "-1").code == ErrorCode::Usage);
    CHECK(errorWith(saved, "/options/world_size", "4294967296").code == ErrorCode::Usage);
}

TEST_CASE("a path in a saved plan is absolute and has no byte 0")
{
    const Json saved = savedReshard();
    for (const char* where : {"/destination", "/source"}) {
        for (const char* value : {"\"\"", "\"a/b\"", "\".\"", "\"/a\\u0000b\"", "\"\\u0000\"", "3", "null"}) {
            const Error error = errorWith(saved, where, value);
            INFO(describe(error));
            CHECK(error.code == ErrorCode::Usage);
        }
        CHECK(errorWith(saved, where, "\"\"").message.find(where + 1) != std::string::npos);
    }
    Json hex = saved;
    hex["destination_hex"] = "2f6";
    CHECK_FALSE(parseSavedPlan(hex.dump(), "plan.json").has_value());
    hex["destination_hex"] = "2f0061";
    CHECK_FALSE(parseSavedPlan(hex.dump(), "plan.json").has_value());
    hex["destination_hex"] = "2f61ff";
    const auto parsed = parseSavedPlan(hex.dump(), "plan.json");
    REQUIRE(parsed.has_value());
    CHECK(parsed->destination == "/a\xff");
}

TEST_CASE("a saved plan may be nested to any depth")
{
    const Json saved = savedReshard();
    const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    CHECK(errorWith(saved, "/options", deep).code == ErrorCode::Usage);
    CHECK(errorWith(saved, "/options", "{\"format\": " + deep + "}").code == ErrorCode::Usage);
}

TEST_CASE("a saved plan keeps the checksums of its sources")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto plan = planFor(source, {.worldSize = 3});
    const auto parsed
        = parseSavedPlan(savedPlanText(savePlan(*plan, *source, {}, "/somewhere")), "plan.json");
    REQUIRE(parsed.has_value());
    CHECK(checkSavedPlan(*parsed, *plan));
    for (size_t i = 0; i < parsed->sources.size(); ++i) {
        SavedPlan other = *parsed;
        other.sources[i].records[3] = other.sources[i].records[3] == '0' ? '1' : '0';
        const Status status = checkSavedPlan(other, *plan);
        REQUIRE_FALSE(status);
        CHECK(status.error().code == ErrorCode::SourceChanged);
        CHECK(status.error().message.find(parsed->sources[i].name) != std::string::npos);
        other.sources[i].records.clear(); // as in files of older releases
        CHECK(checkSavedPlan(other, *plan));
    }
}
