// SPDX-License-Identifier: Apache-2.0
// Weights in safetensors files: valid ones are read, invalid ones are refused.
#include "core/torchfile/formats/safetensors_file.h"
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// A file as the format asks for: length, header, data.
std::string fileOf(const std::string& header, const std::string& data)
{
    std::string out;
    for (size_t i = 0; i < 8; ++i)
        out += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xFF);
    return out + header + data;
}

std::string tensor(
    const std::string& name, const std::string& type, const std::string& shape, size_t begin, size_t end)
{
    return "\"" + name + R"(":{"dtype":")" + type + R"(","shape":)" + shape + R"(,"data_offsets":[)"
        + std::to_string(begin) + "," + std::to_string(end) + "]}";
}

std::string floats(std::initializer_list<float> values)
{
    std::string out;
    for (const float value : values)
        out.append(reinterpret_cast<const char*>(&value), sizeof value);
    return out;
}

const std::string kTwo = "{" + tensor("a", "F32", "[2,2]", 0, 16) + ","
    + tensor("b.weight", "BF16", "[3]", 16, 22) + R"(,"__metadata__":{"format":"pt"}}  )";
const std::string kTwoData = floats({1, 2, 3, 4}) + std::string(6, '\x40');

void checkTwo(const fs::path& path)
{
    const Json inspected = runVerb({"inspect", path}, 0);
    CHECK(inspected.at("kind") == "weights");
    CHECK(inspected.at("supported") == true);
    CHECK(inspected.at("parameters").at("elements") == 7);
    const Json params = runVerb({"params", path}, 0).at("parameters");
    REQUIRE(params.size() == 2);
    CHECK(params[0].at("name") == "a");
    CHECK(params[0].at("shape") == Json::array({2, 2}));
    CHECK(params[1].at("dtype") == "bfloat16");
    CHECK(runVerb({"show", path, "a#weight[1:3]"}, 0).at("values") == Json::array({2.0, 3.0}));
    runVerb({"layout", path}, 0);
    runVerb({"layout", path, "--param", "b.weight"}, 0);
    CHECK(!runVerb({"files", path}, 0).at("files").empty());
}

} // namespace

TEST_CASE("a safetensors file opens as weights, and is not rewritten")
{
    const TemporaryFolder folder;
    const fs::path file = folder / "any.safetensors";
    spill(file, fileOf(kTwo, kTwoData));
    checkTwo(file);
    const auto before = traceOf(folder / "");
    CHECK(runVerb({"reshard", file, folder / "out", "-w", "2"}, 4)
              .at("message")
              .get<std::string>()
              .find("no optimizer state")
        != std::string::npos);
    runVerb({"convert", file, folder / "out", "--to", "universal"}, 4);
    runVerb({"verify", file}, 4);
    CHECK(traceOf(folder / "") == before);
    spill(folder / "empty.safetensors", fileOf("{}", ""));
    CHECK(runVerb({"params", folder / "empty.safetensors"}, 0).at("parameters").empty());
}

TEST_CASE("sharded weights open by their index, and by their folder")
{
    const TemporaryFolder folder;
    const fs::path model = folder / "model";
    spill(model / "model-00001-of-00002.safetensors",
        fileOf("{" + tensor("a", "F32", "[2,2]", 0, 16) + "}", floats({1, 2, 3, 4})));
    const fs::path second = model / "model-00002-of-00002.safetensors";
    spill(second, fileOf("{" + tensor("b.weight", "BF16", "[3]", 0, 6) + "}", std::string(6, '\x40')));
    const fs::path index = model / "model.safetensors.index.json";
    spill(index,
        R"({"metadata":{"total_size":22},"weight_map":{"a":"model-00001-of-00002.safetensors",)"
        R"("b.weight":"model-00002-of-00002.safetensors"}})");
    checkTwo(index);
    checkTwo(model);
    fs::remove(second);
    const Json inspected = runVerb({"inspect", model}, 0);
    CHECK(inspected.dump().find("model-00002-of-00002.safetensors") != std::string::npos);
    CHECK(inspected.dump().find("does not exist") != std::string::npos);
    CHECK(runVerb({"params", model}, 0).at("parameters").size() == 1);
    spill(second, "torn");
    CHECK(runVerb({"inspect", model}, 0).dump().find("cannot be used") != std::string::npos);
}

TEST_CASE("an index that leads out of its folder, or is not an index")
{
    for (const std::string map : {R"({"weight_map":{"a":"../secret.safetensors"}})",
             R"({"weight_map":{"a":"/etc/passwd"}})", R"({"weight_map":{"a":7}})", R"({"weight_map":[]})",
             "{}", "[", R"({"weight_map":{"a":".hidden"}})", R"({"weight_map":{"a":""}})"}) {
        CAPTURE(map);
        const TemporaryFolder folder;
        spill(folder / "model.safetensors.index.json", map);
        checkRow(folder / "model.safetensors.index.json", kNothingHere, "index", folder);
    }
}

TEST_CASE("malicious headers")
{
    const std::string huge = "18446744073709551615";
    const std::vector<std::tuple<std::string, std::string, std::string>> cases{
        {"overlap",
            fileOf("{" + tensor("a", "F32", "[2]", 0, 8) + "," + tensor("b", "F32", "[2]", 4, 12) + "}",
                std::string(12, '\0')),
            "overlaps"},
        {"same range",
            fileOf("{" + tensor("a", "F32", "[2]", 0, 8) + "," + tensor("b", "F32", "[2]", 0, 8) + "}",
                std::string(8, '\0')),
            "overlaps"},
        {"gap", fileOf("{" + tensor("a", "F32", "[1]", 4, 8) + "}", std::string(8, '\0')), "gap"},
        {"rest", fileOf("{" + tensor("a", "F32", "[1]", 0, 4) + "}", std::string(8, '\0')), "do not fill"},
        {"beyond", fileOf("{" + tensor("a", "F32", "[4]", 0, 16) + "}", std::string(8, '\0')), "beyond"},
        {"size", fileOf("{" + tensor("a", "F32", "[3]", 0, 8) + "}", std::string(8, '\0')), "another size"},
        {"backwards", fileOf("{" + tensor("a", "F32", "[1]", 8, 4) + "}", std::string(8, '\0')),
            "before it begins"},
        {"product", fileOf("{" + tensor("a", "F32", "[4294967296,4294967296,4]", 0, 0) + "}", ""),
            "another size"},
        {"largest",
            fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[)" + huge + "," + huge + "]}}", ""),
            "another size"},
        {"too large",
            fileOf(R"({"a":{"dtype":"U8","shape":[184467440737095516160],"data_offsets":[0,0]}})", ""),
            "too large"},
        {"negative", fileOf(R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})", ""), "negative"},
        {"fraction", fileOf(R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,0]}})", ""), "fraction"},
        {"twice",
            fileOf("{" + tensor("a", "U8", "[1]", 0, 1) + "," + tensor("a", "U8", "[1]", 1, 2) + "}", "xy"),
            "twice"},
        {"two shapes", fileOf(R"({"a":{"dtype":"U8","shape":[1],"shape":[1],"data_offsets":[0,1]}})", "x"),
            "twice"},
        {"three offsets", fileOf(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,2]}})", "x"),
            "number"},
        {"no dtype", fileOf(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", "x"), "without dtype"},
        {"nested", fileOf(R"({"a":{"dtype":"U8","shape":[[1]],"data_offsets":[0,1]}})", "x"), "list"},
        {"deep", fileOf(R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}", ""),
            "list"},
        {"objects", fileOf(R"({"a":{"b":{"c":1}}})", ""), "object"},
        {"metadata", fileOf(R"({"__metadata__":{"a":1}})", ""), "number"},
        {"no object", fileOf("[]", ""), "object"},
        {"two values", fileOf("{} {}", ""), "JSON"},
        {"not UTF-8", fileOf("{\"\xff\":{}}", ""), "JSON"},
        {"cut", fileOf("{", ""), "JSON"},
        {"long header", std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{", 9), "header"},
        {"header beyond", std::string("\x40\0\0\0\0\0\0\0{}", 10), "header"},
        {"empty", "", "first field"},
        {"short", "\x01", "first field"},
    };
    for (const auto& [name, bytes, word] : cases) {
        CAPTURE(name);
        const TemporaryFolder folder;
        spill(folder / "model.safetensors", bytes);
        checkRow(folder / "model.safetensors", kNothingHere, word, folder);
    }
}

TEST_CASE("an unknown dtype is refused by name, and dimensions have a limit")
{
    const TemporaryFolder folder;
    spill(folder / "model.safetensors", fileOf("{" + tensor("a", "F4", "[2]", 0, 1) + "}", "x"));
    CHECK(runVerb({"inspect", folder / "model.safetensors"}, 4).at("message").get<std::string>().find("`F4`")
        != std::string::npos);
    std::string shape = "[1";
    for (int i = 0; i < 64; ++i)
        shape += ",1";
    const auto many = parseSafetensors("{" + tensor("a", "U8", shape + "]", 0, 1) + "}", 0, 1, "x");
    REQUIRE(!many);
    CHECK(many.error().code == ErrorCode::LimitExceeded);
}
