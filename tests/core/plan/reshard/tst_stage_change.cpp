// SPDX-License-Identifier: Apache-2.0
// Plans to another ZeRO stage on checkpoints that stock DeepSpeed wrote.
#include "core/compare/digest/state_digest.h"
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/plan_fixture.h"
#include "tests/support/temporary_folder.h"

#include <doctest/doctest.h>

#include <map>

using namespace shardscope;
using namespace shardscope::test;

namespace {

constexpr const char* kAll[] = {"zero1-w2", "zero2-w2", "bf16opt-w2", "zero3-w4", "ds0144-zero2-w2",
    "ds0144-zero3-w3", "roundrobin-w3", "aligned-w2"};

/// Digests of the 16-bit copies, by name.
std::map<std::string, std::string> copiesOf(const CheckpointPtr& checkpoint)
{
    JobContext job;
    const auto scan = scanCheckpoint(io::realFileSystem(), checkpoint, 2, {}, job);
    REQUIRE(scan.has_value());
    const TensorTable table(checkpoint);
    std::map<std::string, std::string> out;
    for (uint32_t i = 0; i < table.size(); ++i) {
        if (table.entry(i).state == "weight")
            out[checkpoint->params[index(table.entry(i).param)].name] = scan->tensors[i].text();
    }
    return out;
}

/// Keys of the mapping that the optimizer's state is wrapped in.
std::vector<std::string> wrapperKeys(const Checkpoint& checkpoint)
{
    const PickleGraph& graph = checkpoint.file(checkpoint.templateOptim).content->pickle();
    const auto items = mappingItems(graph, checkpoint.optimWrapper);
    std::vector<std::string> out;
    for (size_t i = 0; i + 1 < items.size(); i += 2)
        out.emplace_back(asString(graph, items[i]).value_or("?"));
    return out;
}

} // namespace

TEST_CASE("every stage converts to every other with the same training state")
{
    for (const char* name : kAll) {
        const CheckpointPtr source = openForPlan(planSample(name));
        for (const int stage : {1, 2, 3}) {
            for (const uint32_t ranks : {1u, 3u, 64u}) {
                CAPTURE(name);
                CAPTURE(stage);
                CAPTURE(ranks);
                const TemporaryFolder folder;
                const CheckpointPtr result = rewrite(
                    source, {.worldSize = ranks, .stage = stage, .subGroupSize = {}}, folder.path());
                CHECK(result->zeroStage == stage);
                CHECK(result->parallel.dp == ranks);
                CHECK(result->precision == source->precision);
                checkSameState(result, source);
            }
        }
    }
}

TEST_CASE("a rebuilt file has the keys of stock's own, in the same order")
{
    const TemporaryFolder folder;
    const auto zero2 = openForPlan(planSample("zero2-w2"));
    const auto zero3 = openForPlan(planSample("zero3-w4"));
    CHECK(wrapperKeys(*rewrite(zero2, {.worldSize = 2, .stage = 3}, folder.path() / "a"))
        == wrapperKeys(*zero3));
    auto made = wrapperKeys(*rewrite(zero3, {.worldSize = 2, .stage = 2}, folder.path() / "b"));
    auto stock = wrapperKeys(*zero2);
    // ZeRO-3 does not record the first key. The second says that nothing is aligned, and so does its absence.
    std::erase(stock, "clip_grad");
    std::erase(stock, "param_alignment_paddings");
    CHECK(made == stock);
}

TEST_CASE("16-bit copies are cast from the masters as training casts them")
{
    for (const char* name : {"zero1-w2", "zero2-w2", "bf16opt-w2"}) {
        CAPTURE(name);
        const TemporaryFolder folder;
        const CheckpointPtr source = openForPlan(planSample(name));
        const auto between = rewrite(source, {.worldSize = 3, .stage = 3}, folder.path() / "between");
        for (const WholeTensor& whole : between->whole)
            CHECK(between->params[index(whole.param)].role != ParamRole::Trainable);
        const auto back = rewrite(between, {.worldSize = 2, .stage = 2}, folder.path() / "back");
        CHECK(copiesOf(back) == copiesOf(source));
    }
}

TEST_CASE("frozen parameters are partitioned under ZeRO-3 and whole below it")
{
    const TemporaryFolder folder;
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const auto count = [](const Checkpoint& checkpoint, UnitKind kind) {
        return std::count_if(checkpoint.units.begin(), checkpoint.units.end(),
            [kind](const FlatUnit& unit) { return unit.kind == kind; });
    };
    const auto split = rewrite(source, {.worldSize = 3, .stage = 3}, folder.path() / "a");
    CHECK(count(*source, UnitKind::Frozen) == 0);
    CHECK(count(*split, UnitKind::Frozen) > 0);
    for (const int stage : {1, 2}) {
        const auto whole
            = rewrite(split, {.worldSize = 2, .stage = stage}, folder.path() / std::to_string(stage));
        CHECK(count(*whole, UnitKind::Frozen) == 0);
        checkSameState(whole, source);
    }
}

TEST_CASE("ZeRO-3 targets have the requested sub-group size, or the configured one")
{
    const CheckpointPtr source = openForPlan(planSample("zero2-w2"));
    const TemporaryFolder folder;
    const auto cut = rewrite(source, {.worldSize = 2, .stage = 3, .subGroupSize = 500}, folder.path() / "a");
    CHECK(
        cut->units.size() > rewrite(source, {.worldSize = 2, .stage = 3}, folder.path() / "b")->units.size());
    JobContext job;
    const auto wrong
        = planReshard(io::realFileSystem(), source, {.worldSize = 2, .stage = 2, .subGroupSize = 500}, job);
    REQUIRE(!wrong.has_value());
    CHECK(wrong.error().code == ErrorCode::Usage);
}

TEST_CASE("the bf16 prefix records the engine's precision, not the model's dtype")
{
    // A model that the user's code cast to bfloat16: its optimizer files have no prefix.
    const TemporaryFolder folder;
    const io::Path run = folder.path() / "run";
    std::filesystem::copy(planSample("zero2-w2"), run, std::filesystem::copy_options::recursive);
    const CheckpointPtr before = openForPlan(run);
    for (const FileId id : before->optimFiles) {
        const io::Path path = before->file(id).path;
        std::filesystem::rename(path, path.parent_path() / path.filename().string().substr(5));
    }
    const CheckpointPtr source = openForPlan(run);
    REQUIRE(source->precision == "bf16");
    REQUIRE(source->file(source->templateOptim).name == "zero_pp_rank_0_mp_rank_00_optim_states.pt");
    for (const int stage : {1, 3}) {
        const auto made
            = rewrite(source, {.worldSize = 2, .stage = stage}, folder.path() / std::to_string(stage));
        CHECK(made->file(made->templateOptim).name == "zero_pp_rank_0_mp_rank_00_optim_states.pt");
    }
}
