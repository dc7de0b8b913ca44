// SPDX-License-Identifier: Apache-2.0
// What is said of PyTorch's distributed checkpoints: they have no padding, and nothing in them records which
// parameters are frozen.
#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
using Json = nlohmann::json;

namespace {

std::string distributed(const char* name)
{
    return sourceFolder() + "/tests/data/dcp/" + name;
}

void checkNoPadding(const std::string& path)
{
    CAPTURE(path);
    const Json layout = answerOf({"layout", path});
    uint64_t elements = 0;
    for (const Json& group : layout.at("groups")) {
        CHECK(group.at("alignment") == 1);
        CHECK(group.contains("param"));
        for (const Json& rank : group.at("ranks")) {
            elements += rank.at("elements").get<uint64_t>();
            for (const auto& [state, padding] : rank.at("padding").items())
                CHECK(padding == Json{{"elements", 0}, {"kind", "none"}});
        }
    }
    CHECK(elements == answerOf({"inspect", path}).at("parameters").at("elements"));
    const std::string text = runShardscope({"layout", path}).out;
    CHECK(text.find("padding") == std::string::npos);
    CHECK(text.find("implied") == std::string::npos);
    CHECK(text.find("group -1") == std::string::npos);
    CHECK(
        text.find("model.layers.0.mlp.weight  49 elements, split by rows for 3 ranks") != std::string::npos);
}

} // namespace

TEST_CASE("a distributed checkpoint has no padding")
{
    checkNoPadding(distributed("root"));
    checkNoPadding(distributed("recipe"));
    checkNoPadding(distributed("accelerate"));
}

TEST_CASE("nothing says which parameters of a distributed checkpoint without an optimizer are frozen")
{
    const std::string path = distributed("root");
    const Json counts = answerOf({"inspect", path}).at("parameters");
    CHECK(counts.at("count") == 19);
    CHECK(counts.at("trainable") == 0);
    CHECK(counts.at("frozen") == 0);
    CHECK(counts.at("unrecorded") == 19);
    for (const Json& param : answerOf({"params", path}).at("parameters")) {
        CHECK(param.at("role") == "weight");
        CHECK(param.at("trainable").is_null());
    }
    for (const char* verb : {"inspect", "params", "layout"})
        CHECK(runShardscope({verb, path}).out.find("frozen") == std::string::npos);
    CHECK(answerOf({"inspect", distributed("recipe")}).at("parameters").at("trainable") == 19);
}
