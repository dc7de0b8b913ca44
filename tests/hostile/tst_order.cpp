// SPDX-License-Identifier: Apache-2.0
// Records of the order of parameters in the flat buffers that contradict each other.
#include "tests/hostile/hostile_fixture.h"

#include "core/base/finding_codes.h"
#include "core/torchfile/pickle/pickle_values.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

const std::string kModel = "global_step4/mp_rank_00_model_states.pt";
const std::string kOptim = "global_step4/bf16_zero_pp_rank_";
const Words kOption{"ds_config", "zero_optimization", "round_robin_gradients"};
const Words kPaddings{"optimizer_state_dict", "param_alignment_paddings"};

std::string optimFile(int rank)
{
    return kOptim + std::to_string(rank) + "_mp_rank_00_optim_states.pt";
}

void setOption(const fs::path& model, bool on)
{
    replaceAt(model, kOption, [on](PickleBuilder& b) { return b.boolean(on); });
}

/// The configuration as releases before 0.18.6 record it when they were given a file.
void hideConfig(const fs::path& model)
{
    replaceAt(model, {"ds_config"}, [](PickleBuilder& b) { return b.string("/home/me/ds_config.json"); });
}

CheckpointPtr opened(const fs::path& path)
{
    auto checkpoint = openFull(path);
    REQUIRE(checkpoint.has_value());
    return *checkpoint;
}

std::vector<std::string> namesOfGroup(const Checkpoint& checkpoint, size_t group)
{
    std::vector<std::string> out;
    for (const ParamId id : checkpoint.units[group].params)
        out.push_back(checkpoint.params[index(id)].name);
    return out;
}

size_t findingsOf(const Checkpoint& checkpoint, std::string_view code, Severity severity)
{
    return static_cast<size_t>(std::count_if(checkpoint.findings.begin(), checkpoint.findings.end(),
        [&](const Finding& finding) { return finding.code == code && finding.severity == severity; }));
}

/// Every file below, by name: to compare two targets.
std::map<std::string, std::string> bytesBelow(const fs::path& folder)
{
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file() && entry.path().filename() != "shardscope.json")
            out[fs::relative(entry.path(), folder).string()] = slurp(entry.path());
    }
    return out;
}

/// Lists the parameters of every group in the order that they have in `module`.
void listAsInModule(const fs::path& model)
{
    editPickle(model, [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        const auto modules = mappingItems(graph, lookup(graph, graph.root(), "module"));
        PickleImporter copies(builder, graph);
        for (const NodeId group : sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"))) {
            const NodeId dict = builder.dict();
            for (size_t i = 0; i + 1 < modules.size(); i += 2) {
                const auto name = asString(graph, modules[i]);
                const NodeId shape = lookup(graph, group, *name);
                if (shape != kNoNode)
                    builder.setItem(dict, builder.string(*name), copies.import(shape));
            }
            importer.substitute(group, dict);
        }
    });
}

} // namespace

TEST_CASE("round_robin_gradients is on in the configuration only")
{
    const TemporaryFolder folder;
    const fs::path stage1 = copySample("zero1-w2", folder);
    setOption(stage1 / "global_step7/mp_rank_00_model_states.pt", true);
    checkRow(stage1, kOneFileBad, "param-order", folder);
    const Words allowed{"reshard", stage1, folder / "out", "-w", "3", "--dry-run", "--allow", "param-order"};
    CHECK(runVerb(allowed, 0).dump().find("round_robin_gradients") != std::string::npos);
    const fs::path bf16 = copySample("bf16opt-w2", folder); // BF16_Optimizer does not apply it
    setOption(bf16 / kModel, true);
    checkRow(bf16, kFine, "bf16", folder);
    CHECK_FALSE(opened(bf16)->roundRobin);
}

TEST_CASE("round_robin_gradients is not on in the configuration, and the places show it")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("roundrobin-w3", folder);
    setOption(run / kModel, false);
    const CheckpointPtr checkpoint = opened(run);
    CHECK(checkpoint->roundRobin);
    CHECK(checkpoint->complete);
    CHECK(findingsOf(*checkpoint, code::kParamOrder, Severity::Warning) == 1);
    CHECK(namesOfGroup(*checkpoint, 0) == namesOfGroup(*opened(samplePath("roundrobin-w3")), 0));
}

TEST_CASE("a configuration that is not recorded leaves the order to the places, then to the names")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("roundrobin-w3", folder);
    hideConfig(run / kModel);
    CHECK(opened(run)->roundRobin);
    runVerb({"reshard", run, folder / "two", "-w", "2"}, 0);
    CHECK(opened(folder / "two")->roundRobin); // its mappings are right, so only names show it
    runVerb({"reshard", folder / "two", folder / "three", "-w", "3"}, 0);
    runVerb({"reshard", run, folder / "straight", "-w", "3"}, 0);
    CHECK(bytesBelow(folder / "three") == bytesBelow(folder / "straight"));

    const fs::path without = copySample("zero2-w2", folder);
    hideConfig(without / "global_step6/mp_rank_00_model_states.pt");
    CHECK_FALSE(opened(without)->roundRobin);
    const auto plan = runVerb({"reshard", without, folder / "out", "-w", "3", "--dry-run"}, 0);
    CHECK(plan.dump().find("must have it off") != std::string::npos);
}

TEST_CASE("masters that are not in the recorded order are found, and the order that fits is named")
{
    const TemporaryFolder folder;
    const fs::path copy = copySample("roundrobin-w3", folder);
    listAsInModule(copy / kModel);
    hideConfig(copy / kModel);
    // The mappings agree with the list then, and the lengths are the same: only values show it.
    for (int rank = 0; rank < 3; ++rank)
        replaceAt(copy / optimFile(rank), {"optimizer_state_dict", "param_slice_mappings"},
            [](PickleBuilder& b) { return b.list(); });
    checkRow(copy, kOneFileBad, "the order that round_robin_gradients gives", folder);
}

TEST_CASE("an aligned layout of which one rank records other padding, or all do")
{
    const TemporaryFolder folder;
    const auto spoil = [](const fs::path& file) {
        editPickle(file, [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
            const auto groups = sequenceItems(graph, lookup(graph, wrapper, "param_alignment_paddings"));
            const auto items = sequenceItems(graph, groups.back());
            REQUIRE(items.size() > 2);
            std::vector<NodeId> changed(items.size(), builder.integer(-3));
            importer.substitute(groups.back(), builder.list(changed));
        });
    };
    const fs::path run = copySample("aligned-w2", folder);
    REQUIRE(opened(run)->complete);
    spoil(run / optimFile(1));
    checkRow(run, {0, 0, 1, 6, false}, "padding between its parameters", folder);
    spoil(run / optimFile(0));
    checkRow(run, kModelUnreadable, "padding between its parameters", folder);
}

TEST_CASE("without its list of paddings an aligned checkpoint is not taken for an aligned one")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("aligned-w2", folder);
    for (int rank = 0; rank < 2; ++rank)
        replaceAt(run / optimFile(rank), kPaddings, [](PickleBuilder& b) { return b.none(); });
    checkRow(run, kModelUnreadable, "do not fit", folder);
}
