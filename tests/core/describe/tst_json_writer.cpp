// SPDX-License-Identifier: Apache-2.0
#include "core/describe/json_writer.h"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <limits>

using namespace shardscope;
using Json = nlohmann::json;

TEST_CASE("numbers keep their values")
{
    const std::string text = jsonText([](JsonWriter& json) {
        json.beginArray();
        json.value(std::numeric_limits<uint64_t>::max());
        json.value(std::numeric_limits<int64_t>::min());
        json.value(1.0);
        json.value(0.1);
        json.value(-0.0);
        json.value(1e300);
        json.value(static_cast<double>(0.1F));
        json.value(std::numeric_limits<double>::quiet_NaN());
        json.value(std::numeric_limits<double>::infinity());
        json.value(-std::numeric_limits<double>::infinity());
        json.value(true);
        json.value(std::optional<uint32_t>());
        json.endArray();
    });
    CHECK(text
        == "[18446744073709551615,-9223372036854775808,1.0,0.1,-0.0,1e+300,0.10000000149011612,\"nan\","
           "\"inf\","
           "\"-inf\",true,null]");
    CHECK(Json::parse(text)[6].get<double>() == static_cast<double>(0.1F));
}

TEST_CASE("any bytes make valid JSON, and names keep theirs as hex")
{
    std::string all;
    for (int byte = 1; byte < 256; ++byte)
        all += static_cast<char>(byte);
    const std::string text = jsonText([&](JsonWriter& json) {
        json.beginObject();
        json.nameField("name", all);
        json.nameField("plain", "Ü\"\\\n\x1b");
        json.field(all, 1);
        json.endObject();
    });
    const Json object = Json::parse(text);
    CHECK(object.at("name_hex").get<std::string>().size() == 2 * all.size());
    CHECK(object.at("plain") == "Ü\"\\\n\x1b");
    CHECK(!object.contains("plain_hex"));
    CHECK(object.at("name").get<std::string>().substr(0, 127) == all.substr(0, 127));
}

TEST_CASE("long answers are written in pieces, and the pieces together are the answer")
{
    std::string out;
    size_t pieces = 0;
    size_t longest = 0;
    {
        JsonWriter json([&](std::string_view piece) {
            out += piece;
            ++pieces;
            longest = std::max(longest, piece.size());
        });
        json.beginArray();
        for (int i = 0; i < 100'000; ++i) {
            json.beginObject();
            json.field("i", i);
            json.nullField("nothing");
            json.endObject();
        }
        json.endArray();
    }
    CHECK(Json::parse(out).size() == 100'000);
    CHECK(pieces > 10);
    CHECK(longest < 200'000);
}
