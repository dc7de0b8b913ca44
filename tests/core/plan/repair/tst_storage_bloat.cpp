// SPDX-License-Identifier: Apache-2.0
// Files whose tensors are views of storages many times their size: the output holds only
// the tensors.
#include "tests/core/plan/repair/repair_fixture.h"

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* kModel = "mp_rank_00_model_states.pt";
constexpr uint64_t kColumns = 16;

/// Makes a tensor of `rows` rows a view of the last rows but one of a storage of many.
void bloat(const Patchable& damaged, const Way& tensor, uint64_t rows)
{
    constexpr uint64_t kRows = 200000;
    damaged.operate(kModel, [&](Surgery& surgery) {
        std::string elements(kRows * kColumns * 2, '\0');
        for (size_t i = 0; i < elements.size(); i += 2)
            elements[i] = static_cast<char>(i * 31 >> 5);
        surgery.set(tensor, surgery.composer().smallTensor(DType::BFloat16, {kRows, kColumns}, elements));
    });
    damaged.operate(kModel, [&](Surgery& surgery) {
        const auto arguments = surgery.graph().items(surgery.graph().arguments(surgery.at(tensor)));
        PickleBuilder& builder = surgery.builder();
        const std::vector<NodeId> shape{
            builder.integer(static_cast<int64_t>(rows)), builder.integer(kColumns)};
        surgery.composer().substitute(arguments[2], builder.tuple(shape));
        const auto first = static_cast<int64_t>((kRows - rows - 1) * kColumns);
        surgery.composer().substitute(arguments[1], builder.integer(first));
    });
}

} // namespace

TEST_CASE("the output of a bloated file holds only its tensors, bit for bit")
{
    const char* name = "positions.weight"; // frozen: nothing but the model file holds it
    const Patchable damaged("zero2-w2");
    bloat(damaged, {"module", name}, 8);
    REQUIRE(fs::file_size(damaged.tag() / kModel) > 6000000);
    const CheckpointPtr source = openForPlan(damaged.run());
    const auto values = bytesOf(*source, name, "weight");
    REQUIRE(values != bytesOf(*openForPlan(planSample("zero2-w2")), name, "weight"));

    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    const auto checkSmall = [&](const fs::path& run, const std::string& tag) {
        CAPTURE(run.string());
        const CheckpointPtr made = openForPlan(run);
        CHECK(bytesOf(*made, name, "weight") == values);
        checkSameState(made, source);
        CHECK(fs::file_size(run / tag / kModel) < 200000);
        JobContext job;
        CHECK(findingOf(examine(io::realFileSystem(), run, {}, job).value(), "storage-bloat") == nullptr);
    };
    repair(damaged, {.fixes = {"F5"}}, folder / "repaired");
    checkSmall(folder / "repaired", source->tag);
    ReshardOptions options;
    options.worldSize = 3;
    rewrite(source, options, folder / "resharded");
    checkSmall(folder / "resharded", source->tag);
    options.stage = 1;
    rewrite(source, options, folder / "staged");
    checkSmall(folder / "staged", source->tag);
}

TEST_CASE("names that share values in a bloated file share them in the output")
{
    const Patchable damaged("zero2-w2");
    bloat(damaged, {"module", "positions.weight"}, 8);
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    repair(damaged, {.fixes = {"F5"}}, folder / "repaired");
    const auto storageOf = [](const CheckpointPtr& checkpoint, const char* name) {
        const PickleGraph& graph = checkpoint->file(checkpoint->templateModel).content->pickle();
        const NodeId module = lookup(graph, graph.root(), "module");
        const auto tensor = asTensor(graph, lookup(graph, module, name));
        REQUIRE(tensor.has_value());
        return std::string(tensor->storage.key);
    };
    const CheckpointPtr made = openForPlan(folder / "repaired");
    CHECK(storageOf(made, "lm_head.weight") == storageOf(made, "tok_embeddings.weight"));
    CHECK(storageOf(made, "positions.weight") != storageOf(made, "tok_embeddings.weight"));
}

TEST_CASE("`all` does not repair an info")
{
    const Patchable damaged("zero2-w2");
    bloat(damaged, {"module", "positions.weight"}, 8);
    CHECK(refusalOf(damaged, {.fixes = {"all"}}).code == ErrorCode::NotFound);
}
