// SPDX-License-Identifier: Apache-2.0
// `param_alignment_paddings`: stock DeepSpeed compares the whole list with its own, and refuses a file whose
// list differs. Every written file has the list of its own layout, not a copy of the source's.
#include "core/torchfile/pickle/pickle_values.h"
#include "tests/core/plan/repair/repair_fixture.h"

#include <array>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr int kAdded = 300; ///< more than what the reader leaves out
const Way kPaddings{"optimizer_state_dict", "param_alignment_paddings"};

std::string addedName(int i)
{
    return "added." + std::to_string(i);
}

/// The mapping with kAdded more entries.
void extend(Surgery& surgery, const Way& way, const std::function<NodeId()>& value)
{
    const auto items = mappingItems(surgery.graph(), surgery.at(way));
    const NodeId made = surgery.composer().orderedDict();
    for (size_t i = 0; i + 1 < items.size(); i += 2)
        surgery.builder().setItem(
            made, surgery.composer().import(items[i]), surgery.composer().import(items[i + 1]));
    for (int i = 0; i < kAdded; ++i)
        surgery.builder().setItem(made, surgery.builder().string(addedName(i)), value());
    surgery.set(way, made);
}

NodeId zeros(PickleBuilder& builder, const std::vector<size_t>& counts)
{
    const NodeId list = builder.list();
    for (const size_t count : counts)
        builder.append(list, builder.list(std::vector<NodeId>(count, builder.integer(0))));
    return list;
}

/// As they are in the file: nothing is left out.
std::vector<size_t> countsIn(const fs::path& file)
{
    JobContext job;
    const auto opened
        = TorchFile::open(io::realFileSystem(), io::Path(file.string()), ReadMode::Tolerant, job);
    REQUIRE(opened);
    const PickleGraph& graph = (*opened)->pickle();
    const NodeId wrapper = lookup(graph, graph.root(), "optimizer_state_dict");
    const NodeId list = lookup(graph, wrapper, "param_alignment_paddings");
    REQUIRE(list != kNoNode);
    REQUIRE(graph.kind(list) == NodeKind::List);
    std::vector<size_t> out;
    for (const NodeId group : sequenceItems(graph, list))
        out.push_back(sequenceItems(graph, group).size());
    return out;
}

/// Parameters without elements make a long list of a small sample. Returns the counts of every rank.
std::vector<size_t> addParameters(const Patchable& sample)
{
    std::vector<size_t> counts = countsIn(sample.tag() / sample.filesLike("optim_states.pt").front());
    counts.front() += kAdded;
    sample.operateOnAll("model_states.pt", [](Surgery& surgery) {
        extend(surgery, {"param_shapes", 0},
            [&] { return surgery.builder().tuple(std::array{surgery.builder().integer(0)}); });
        extend(surgery, {"module"},
            [&] { return surgery.composer().smallTensor(DType::BFloat16, {0}, std::string()); });
    });
    sample.operateOnAll("optim_states.pt",
        [&](Surgery& surgery) { surgery.set(kPaddings, zeros(surgery.builder(), counts)); });
    return counts;
}

void checkLists(const fs::path& run, const std::vector<size_t>& counts)
{
    size_t files = 0;
    for (const auto& entry : fs::recursive_directory_iterator(run)) {
        if (!entry.path().string().ends_with("optim_states.pt"))
            continue;
        CAPTURE(entry.path().filename().string());
        CHECK(countsIn(entry.path()) == counts);
        ++files;
    }
    CHECK(files > 1);
}

ReshardOptions toRanks(uint32_t ranks)
{
    ReshardOptions options;
    options.worldSize = ranks;
    return options;
}

} // namespace

TEST_CASE("a lost first rank of a model with many parameters is written with the whole list of paddings")
{
    for (const std::string sample : {"zero1-w2", "zero2-w2"}) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        const std::vector<size_t> counts = addParameters(damaged);
        checkLists(damaged.tag(), counts);
        fs::remove(damaged.tag() / damaged.filesLike("optim_states.pt").front());
        RepairOptions options;
        options.fixes = {"rank-missing"};
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        const Repaired repaired = repair(damaged, options, folder / "repaired");
        checkLists(folder / "repaired", counts);
        rewrite(repaired.copy, toRanks(3), (folder / "three").string());
        checkLists(folder / "three", counts);
    }
}

TEST_CASE("a list of paddings that is empty or too short on disk is read, and written in full")
{
    for (const bool isShort : {false, true}) {
        CAPTURE(isShort);
        const Patchable damaged("zero2-w2");
        std::vector<size_t> counts = countsIn(damaged.tag() / damaged.filesLike("optim_states.pt").front());
        const std::vector<size_t> right = counts;
        if (isShort)
            counts.front() -= 1;
        else
            counts.clear();
        damaged.operateOnAll("optim_states.pt",
            [&](Surgery& surgery) { surgery.set(kPaddings, zeros(surgery.builder(), counts)); });
        const TemporaryFolder folder(TemporaryFolder::Where::Memory);
        rewrite(openForPlan(io::Path(damaged.tag().string())), toRanks(3), (folder / "three").string());
        checkLists(folder / "three", right);
    }
}

TEST_CASE("a source of a release that did not have the list does not get one")
{
    const TemporaryFolder folder(TemporaryFolder::Where::Memory);
    rewrite(openForPlan(planSample("ds0144-zero2-w2")), toRanks(3), (folder / "three").string());
    for (const auto& entry : fs::recursive_directory_iterator(folder / "three")) {
        if (!entry.path().string().ends_with("optim_states.pt"))
            continue;
        JobContext job;
        const auto opened
            = TorchFile::open(io::realFileSystem(), io::Path(entry.path().string()), ReadMode::Tolerant, job);
        REQUIRE(opened);
        const PickleGraph& graph = (*opened)->pickle();
        CHECK(lookup(graph, lookup(graph, graph.root(), "optimizer_state_dict"), "param_alignment_paddings")
            == kNoNode);
    }
}
