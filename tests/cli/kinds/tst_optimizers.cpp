// SPDX-License-Identifier: Apache-2.0
// Every verb on optimizers with missing state or with their own storage rules.
#include "tests/cli/cli_fixture.h"

#include <doctest/doctest.h>

using namespace shardscope::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Words withOptions(Words words)
{
    for (const char* option : {"0:betas=(0.9, 0.95)", "1:betas=[0.85, 0.99]", "2:betas=0.8,0.9", "eps=1e-8",
             "1:eps=1e-7", "weight_decay=0.0", "0:weight_decay=0.1"}) {
        words.emplace_back("--optimizer-option");
        words.emplace_back(option);
    }
    return words;
}

} // namespace

TEST_CASE("missing options of an elastic checkpoint are reported by name and kept in a saved plan")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("elastic-w3");
    const Json refused = errorOf({"reshard", source, folder / "a", "-w", "2"}, 6, "refused");
    CHECK(refused.at("hint").get<std::string>().find("--optimizer-option eps=") != std::string::npos);
    errorOf({"reshard", source, folder / "a", "-w", "2", "--optimizer-option", "eps"}, 2, "usage");
    errorOf({"reshard", samplePath("zero2-w2"), folder / "a", "-w", "3", "--optimizer-option", "lr=1"}, 2,
        "usage");

    answerOf(withOptions({"reshard", source, folder / "a", "-w", "2"}));
    const Json inspected = answerOf({"inspect", folder / "a"});
    CHECK(inspected.at("param_groups").at(0).at("options").at("betas") == Json({0.9, 0.95}));
    CHECK(inspected.at("param_groups").at(2).at("options").at("weight_decay") == 0.0);
    CHECK(answerOf({"verify", folder / "a"}).at("ok") == true);
    CHECK(answerOf({"verify", folder / "a", "--against", source}).at("ok") == true);

    answerOf(withOptions({"plan", "reshard", source, folder / "b", "-w", "2", "-o", folder / "plan.json"}));
    answerOf({"run", folder / "plan.json"});
    CHECK(contentOf(folder / "a") == contentOf(folder / "b"));
    answerOf(withOptions({"convert", source, folder / "u", "--to", "universal"}));
}

TEST_CASE("every verb reads Muon's momentum when a rank keeps it for whole parameters")
{
    const TemporaryFolder folder;
    const fs::path source = samplePath("muon-w3");
    const std::string name = "layers.0.mlp.up.weight";
    const Json whole = answerOf({"show", source, name + "#momentum_buffer"});
    CHECK(whole.at("shape") == Json({24, 8}));
    answerOf({"reshard", source, folder / "a", "-w", "4"});
    CHECK(answerOf({"show", folder / "a", name + "#momentum_buffer"}).at("values") == whole.at("values"));
    CHECK(answerOf({"verify", folder / "a", "--against", source}).at("ok") == true);
    uint64_t elements = 0;
    const Json layout = answerOf({"layout", source, "--param", name});
    for (const Json& fragment : layout.at("fragments"))
        elements += fragment.at("state") == "momentum_buffer" ? fragment.at("elements").get<uint64_t>() : 0;
    CHECK(elements == 24 * 8);
    answerOf({"files", source, "--records"});
    answerOf({"params", source});
}
