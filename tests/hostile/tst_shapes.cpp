// SPDX-License-Identifier: Apache-2.0
// A model file with param_shapes that do not match the partitions on disk: damage, not another kind of
// checkpoint.
#include "tests/hostile/hostile_fixture.h"

#include "core/torchfile/pickle/pickle_values.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

struct Sample {
    const char* name;
    const char* model; ///< the file whose param_shapes are read
};

constexpr Sample kZero1{"zero1-w2", "global_step7/mp_rank_00_model_states.pt"};
constexpr Sample kZero2{"zero2-w2", "global_step6/mp_rank_00_model_states.pt"};
constexpr Sample kBf16{"bf16opt-w2", "global_step4/mp_rank_00_model_states.pt"};
constexpr Sample kZero3{"zero3-w4", "global_step5/zero_pp_rank_0_mp_rank_00_model_states.pt"};

/// torch.Size of these numbers.
NodeId sizeOf(PickleBuilder& builder, std::initializer_list<int64_t> numbers)
{
    std::vector<NodeId> items;
    for (const int64_t number : numbers)
        items.push_back(builder.integer(number));
    const NodeId arguments[] = {builder.tuple(items)};
    return builder.reduce(builder.global("torch", "Size"), builder.tuple(arguments));
}

/// The first group's names and shapes, key and value in turn.
std::span<const NodeId> firstGroup(const PickleGraph& graph)
{
    const auto groups = sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"));
    REQUIRE(!groups.empty());
    return mappingItems(graph, groups[0]);
}

/// Gives the first parameter of the first group another shape.
void reshape(const fs::path& model, std::initializer_list<int64_t> shape)
{
    editPickle(model, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        importer.substitute(firstGroup(graph)[1], sizeOf(builder, shape));
    });
}

void checkDamaged(const Sample& sample, const std::string& word, const PickleEdit& edit)
{
    CAPTURE(std::string(sample.name));
    const TemporaryFolder folder;
    const fs::path run = copySample(sample.name, folder);
    editPickle(run / sample.model, edit);
    checkRow(run, kModelUnreadable, word, folder);
    const auto error = runVerb({"params", run}, 3);
    CHECK(error.at("code") == "damaged");
    CHECK(error.at("path").get<std::string>().find(run.string()) == 0);
    CHECK(!error.at("hint").get<std::string>().empty());
    // Allowing findings does not help if there is no model.
    runVerb({"reshard", run, folder / "out", "-w", "3", "--allow", "tensor-invalid"}, 6);
    CHECK(!fs::exists(folder / "out"));
}

} // namespace

TEST_CASE("a parameter of 2^60 elements")
{
    for (const Sample& sample : {kZero1, kZero2, kBf16, kZero3})
        checkDamaged(sample, "do not fit", [](const auto& graph, auto& builder, auto& importer) {
            importer.substitute(firstGroup(graph)[1], sizeOf(builder, {int64_t{1} << 60}));
        });
}

TEST_CASE("more elements than 64 bits can count")
{
    for (const Sample& sample : {kZero1, kZero2, kBf16, kZero3})
        checkDamaged(sample, "param_shapes", [](const auto& graph, auto& builder, auto& importer) {
            importer.substitute(firstGroup(graph)[1], sizeOf(builder, {int64_t{1} << 40, int64_t{1} << 40}));
        });
}

TEST_CASE("a negative size")
{
    for (const Sample& sample : {kZero2, kZero3})
        checkDamaged(sample, "param_shapes", [](const auto& graph, auto& builder, auto& importer) {
            importer.substitute(firstGroup(graph)[1], sizeOf(builder, {-4, -4}));
        });
}

TEST_CASE("a parameter that is a thousand rows longer, or empty")
{
    for (const Sample& sample : {kZero1, kZero2, kBf16, kZero3}) {
        for (const int64_t rows : {int64_t{1000}, int64_t{0}})
            checkDamaged(sample, "do not fit", [&](const auto& graph, auto& builder, auto& importer) {
                importer.substitute(firstGroup(graph)[1], sizeOf(builder, {rows, 999}));
            });
    }
}

TEST_CASE("two parameters with each other's shapes: the lengths fit, the recorded places do not")
{
    for (const Sample& sample : {kZero1, kZero2, kBf16})
        checkDamaged(sample, "in no order", [](const auto& graph, auto& builder, auto& importer) {
            const auto group = firstGroup(graph);
            for (size_t i = 3; i < group.size(); i += 2) {
                const auto first = asShape(graph, group[1]);
                const auto other = asShape(graph, group[i]);
                if (elementCount(*first) == elementCount(*other))
                    continue;
                PickleImporter copies(builder, graph);
                const NodeId swapped = copies.import(group[i]);
                importer.substitute(group[i], copies.import(group[1]));
                importer.substitute(group[1], swapped);
                return;
            }
            FAIL("all parameters of the sample have one size");
        });
}

TEST_CASE("a parameter that is listed twice")
{
    for (const Sample& sample : {kZero2, kZero3})
        checkDamaged(sample, "param_shapes", [](const auto& graph, auto& builder, auto& importer) {
            const auto group = firstGroup(graph);
            const auto name = asString(graph, group[0]);
            importer.substitute(group[2], builder.string(*name));
        });
}

TEST_CASE("the shapes of a model file of a larger model")
{
    const TemporaryFolder folder;
    const fs::path run = copySample(kZero2.name, folder);
    reshape(run / kZero2.model, {512, 64});
    // Configured round robin or not, no order of these shapes gives what is on disk.
    replaceAt(run / kZero2.model, {"ds_config", "zero_optimization", "round_robin_gradients"},
        [](PickleBuilder& b) { return b.boolean(true); });
    checkRow(run, kModelUnreadable, "do not fit", folder);
}
