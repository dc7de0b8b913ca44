// SPDX-License-Identifier: Apache-2.0
// What stock DeepSpeed's loaders check: a violation of every numbered check is planted on a real sample.
#include "core/doctor/loader_checks.h"

#include "core/checkpoint/open/open.h"
#include "core/doctor/diagnosis.h"
#include "tests/support/damages.h"
#include "tests/support/faulting_file_system.h"
#include "tests/support/waiting_file_system.h"

#include <array>
#include <optional>
#include <set>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

using Id = LoaderCheckId;

struct Planted {
    Id check = Id::ModuleKey;
    const char* sample = "";
    const char* ending = "";
    std::function<void(Surgery&)> edit;
};

const Way kWrapper{"optimizer_state_dict"};
constexpr const char* kModel = "model_states.pt";
constexpr const char* kOptim = "optim_states.pt";
constexpr const char* kRank1Model = "zero_pp_rank_1_mp_rank_00_model_states.pt";
constexpr const char* kUniversal = "zero/optimizer_state.pt";

std::function<void(Surgery&)> without(Way mapping, const char* key)
{
    return [mapping = std::move(mapping), key](Surgery& surgery) { surgery.remove(mapping, key); };
}

std::function<void(Surgery&)> withText(Way way, const char* text)
{
    return
        [way = std::move(way), text](Surgery& surgery) { surgery.set(way, surgery.builder().string(text)); };
}

std::function<void(Surgery&)> emptyList(Way way)
{
    return [way = std::move(way)](Surgery& surgery) { surgery.set(way, surgery.builder().list()); };
}

/// A configured scheduler, and `lr_scheduler` as it is given; without the key where it is kNoNode.
void addSchedulerWith(Surgery& surgery, NodeId state)
{
    PickleBuilder& builder = surgery.builder();
    const NodeId scheduler = builder.dict();
    builder.setItem(scheduler, builder.string("type"), builder.string("WarmupLR"));
    const NodeId config = builder.dict();
    builder.setItem(config, builder.string("scheduler"), scheduler);
    const NodeId root = builder.dict();
    const PickleGraph& graph = surgery.graph();
    const auto items = mappingItems(graph, graph.root());
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto key = asString(graph, items[i]);
        if (key != "lr_scheduler" && key != "ds_config")
            builder.setItem(
                root, surgery.composer().import(items[i]), surgery.composer().import(items[i + 1]));
    }
    builder.setItem(root, builder.string("ds_config"), config);
    if (state != kNoNode)
        builder.setItem(root, builder.string("lr_scheduler"), state);
    surgery.set({}, root);
}

void addScheduler(Surgery& surgery)
{
    addSchedulerWith(surgery, kNoNode);
}

/// The first trainable parameter's placeholder has an element.
void fillFirstPlaceholder(Surgery& surgery)
{
    const PickleGraph& graph = surgery.graph();
    const auto shapes = mappingItems(graph, surgery.at({"param_shapes", 0}));
    const std::string name(*asString(graph, shapes[0]));
    surgery.set(
        {"module", name.c_str()}, surgery.composer().smallTensor(DType::BFloat16, {1}, std::string(2, '\0')));
}

/// Any mapping without its first entry.
std::function<void(Surgery&)> withoutFirst(Way way)
{
    return [way = std::move(way)](Surgery& surgery) {
        const NodeId left = surgery.builder().dict();
        const auto items = mappingItems(surgery.graph(), surgery.at(way));
        for (size_t i = 2; i + 1 < items.size(); i += 2)
            surgery.builder().setItem(
                left, surgery.composer().import(items[i]), surgery.composer().import(items[i + 1]));
        surgery.set(way, left);
    };
}

void addSchedulerWithoutState(Surgery& surgery)
{
    addSchedulerWith(surgery, surgery.builder().none());
}

/// As if the run's other files had the other precision's names.
void setFp16(Surgery& surgery)
{
    PickleBuilder& builder = surgery.builder();
    const NodeId fp16 = builder.dict();
    builder.setItem(fp16, builder.string("enabled"), builder.boolean(true));
    const NodeId config = builder.dict();
    builder.setItem(config, builder.string("fp16"), fp16);
    surgery.set({"ds_config"}, config);
}

/// Six elements more than the partition has.
void lengthenMoment(Surgery& surgery)
{
    surgery.editTensor({"optimizer_state_dict", "base_optimizer_state", "state", 0, "exp_avg"},
        [](std::string& elements) { elements.append(24, '\0'); });
}

void addManyRecords(Surgery& surgery)
{
    const NodeId list = surgery.builder().list();
    for (int i = 0; i < 4'200; ++i)
        surgery.builder().append(list, surgery.composer().smallTensor(DType::UInt8, {1}, "x"));
    surgery.add({}, "many", list);
}

const std::vector<Planted>& planted()
{
    static const std::vector<Planted> kAll{
        {Id::ModelFileCount, "zero2-w2", kModel,
            [](Surgery& surgery) {
                surgery.set({"mp_world_size"}, 3);
                surgery.set({"checkpoint_parallel_dimensions", "tp_degree"}, 3);
            }},
        {Id::ModuleKey, "zero2-w2", kModel, without({}, "module")},
        {Id::ModulePlaceholders, "zero3-w4", kModel, fillFirstPlaceholder},
        {Id::DataParallelSize, "zero2-w2", kModel, without({}, "dp_world_size")},
        {Id::GlobalSteps, "zero2-w2", kModel, without({}, "global_steps")},
        {Id::GlobalSteps, "stage0-fp32", kModel, without({}, "global_steps")},
        {Id::SkippedSteps, "zero3-w4", kModel, without({}, "skipped_steps")},
        {Id::ModelParallelSize, "zero2-w2", kModel, without({}, "mp_world_size")},
        {Id::Scheduler, "zero2-w2", kModel, addScheduler},
        {Id::NumExperts, "experts-w4", "mp_rank_00_model_states.pt", without({}, "num_experts")},
        {Id::ShardVersion, "zero2-w2", kOptim, without(kWrapper, "ds_version")},
        {Id::ShardVersion, "zero1-w2", kOptim, withText({"optimizer_state_dict", "ds_version"}, "unknown")},
        {Id::BaseOptimizer, "zero2-w2", kOptim, without(kWrapper, "base_optimizer_state")},
        {Id::BaseOptimizerGroups, "zero2-w2", kOptim,
            emptyList({"optimizer_state_dict", "base_optimizer_state", "param_groups"})},
        {Id::BaseOptimizerParams, "zero2-w2", kOptim,
            emptyList({"optimizer_state_dict", "base_optimizer_state", "param_groups", 0, "params"})},
        {Id::AlignmentPaddings, "zero2-w2", kOptim,
            emptyList({"optimizer_state_dict", "param_alignment_paddings"})},
        {Id::Scaler, "zero3-w4", kOptim, without(kWrapper, "overflow")},
        {Id::TorchOptimizer, "zero3-w4", "rank_1_mp_rank_00_optim_states.pt",
            [](Surgery& s) { s.rename(kWrapper, "optimizer_state_dict", "other"); }},
        {Id::SubGroups, "zero3-w4", "rank_1_mp_rank_00_optim_states.pt",
            [](Surgery& s) {
                const auto masters
                    = sequenceItems(s.graph(), s.at({"optimizer_state_dict", "fp32_flat_groups"}));
                const NodeId list = s.builder().list();
                for (size_t i = 0; i < masters.size() + 1; ++i)
                    s.builder().append(list, s.composer().import(masters[i % masters.size()]));
                s.set({"optimizer_state_dict", "fp32_flat_groups"}, list);
            }},
        {Id::SubGroupParams, "zero3-w4", "rank_1_mp_rank_00_optim_states.pt",
            emptyList({"optimizer_state_dict", "optimizer_state_dict", "param_groups", 0, "params"})},
        {Id::SchedulerState, "zero2-w2", kModel, addSchedulerWithoutState},
        {Id::FrozenFragments, "zero2-w2", kModel, withoutFirst({"frozen_param_fragments"})},
        {Id::PrecisionPrefix, "zero2-w2", kModel, setFp16},
        {Id::OptimizerKey, "zero2-w2", kOptim, without({}, "optimizer_state_dict")},
        {Id::Masters, "zero2-w2", kOptim, without(kWrapper, "single_partition_of_fp32_groups")},
        {Id::StateLength, "zero2-w2", kOptim, lengthenMoment},
        {Id::SubGroupState, "zero3-w4", kOptim,
            withoutFirst({"optimizer_state_dict", "optimizer_state_dict", "state"})},
        {Id::Stage0Optimizer, "stage0-fp32", kModel, without({}, "optimizer")},
        {Id::UniversalGroups, "zero2-universal-w2", kUniversal, without({}, "param_groups")},
        {Id::UniversalVersion, "zero2-universal-w2", kUniversal, without({}, "ds_version")},
        {Id::UniversalGroups, "zero3-universal-w3", kUniversal,
            emptyList({"optimizer_state_dict", "param_groups"})},
        {Id::UniversalStep, "zero3-universal-w3", kUniversal,
            without({"optimizer_state_dict", "state", 0}, "step")},
        {Id::UniversalStep, "zero3-universal-w3", kUniversal,
            withoutFirst({"optimizer_state_dict", "state"})},
        // Each ZeRO-3 rank reads a model file of its own.
        {Id::ModuleKey, "zero3-w4", kRank1Model, without({}, "module")},
        {Id::DataParallelSize, "zero3-w4", kRank1Model, without({}, "dp_world_size")},
        {Id::GlobalSteps, "zero3-w4", kRank1Model, without({}, "global_steps")},
        {Id::SkippedSteps, "zero3-w4", kRank1Model, without({}, "skipped_steps")},
        {Id::ModelParallelSize, "zero3-w4", kRank1Model, without({}, "mp_world_size")},
        {Id::Scheduler, "zero3-w4", kRank1Model, addScheduler},
        {Id::SchedulerState, "zero3-w4", kRank1Model, addSchedulerWithoutState},
        {Id::FrozenFragments, "zero3-w4", kRank1Model, withoutFirst({"frozen_param_fragments"})},
        {Id::ModulePlaceholders, "zero3-w4", kRank1Model, fillFirstPlaceholder},
    };
    return kAll;
}

/// The samples of universal folders have the native tag next to them, which `latest` names.
std::string tagOf(std::string_view sample)
{
    if (sample == "zero2-universal-w2")
        return "global_step5_universal";
    return sample == "zero3-universal-w3" ? "global_step3_universal" : "";
}

std::string labelOf(Id id)
{
    return "loader check " + std::to_string(static_cast<int>(id)) + " ";
}

} // namespace

TEST_CASE("a violation of every loader check is found under the check's number")
{
    for (const Planted& one : planted()) {
        CAPTURE(loaderCheck(one.check).name);
        CAPTURE(one.sample);
        const Patchable damaged(one.sample, tagOf(one.sample));
        if (fs::exists(damaged.tag() / one.ending))
            damaged.operate(one.ending, one.edit); // not the experts' files, which have the same name ending
        else
            damaged.operateOnAll(one.ending, one.edit);
        const CheckResult result = damaged.check();
        std::string found;
        bool named = false;
        for (const DoctorFinding& finding : result.findings) {
            found += std::string(finding.finding.code) + " " + textOf(finding) + "\n";
            named = named
                || (finding.finding.code == kLoaderRefuses
                    && textOf(finding).find(labelOf(one.check)) != std::string::npos);
        }
        CAPTURE(found);
        CHECK(named);
    }
}

// Of such files the reader keeps no content: many ranks of them would fill memory.
TEST_CASE("ZeRO-3 model files with very many records are checked on every rank")
{
    const std::vector<std::pair<Id, std::function<void(Surgery&)>>> edits{
        {Id::DataParallelSize, without({}, "dp_world_size")},
        {Id::Scheduler, addScheduler},
        {Id::FrozenFragments, withoutFirst({"frozen_param_fragments"})},
        {Id::ModulePlaceholders, fillFirstPlaceholder},
    };
    for (const auto& [check, edit] : edits) {
        CAPTURE(loaderCheck(check).name);
        const Patchable damaged("zero3-w4");
        damaged.operateOnAll(kModel, addManyRecords);
        CHECK(findingOf(damaged.check(), kLoaderRefuses) == nullptr);
        damaged.operate(kRank1Model, edit);
        const CheckResult result = damaged.check();
        const DoctorFinding& found = requireFinding(result, kLoaderRefuses);
        CHECK(textOf(found).find(labelOf(check)) != std::string::npos);
        CHECK(found.finding.where.text() == kRank1Model);
    }
}

// Their pickles are equal, and interpreted once.
TEST_CASE("a violation that model files with very many records share is found on each of these ranks")
{
    const Patchable damaged("zero3-w4");
    damaged.operateOnAll(kModel, addManyRecords);
    const std::vector<std::string> all = damaged.filesLike(kModel);
    REQUIRE(all.size() == 4);
    const std::set<std::string> wrong{all[2], all[3]};
    for (const std::string& name : wrong)
        damaged.operate(name, without({}, "skipped_steps"));
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), damaged.run(), {}, job);
    REQUIRE(opened);
    WaitingFileSystem counting(std::chrono::microseconds(0));
    std::vector<LoaderViolation> found;
    REQUIRE(findLoaderViolations(*opened->checkpoint, counting, job, found));
    std::set<std::string> places;
    for (const LoaderViolation& violation : found) {
        CHECK(violation.check == Id::SkippedSteps);
        places.insert(violation.where.text());
    }
    CHECK(found.size() == wrong.size());
    CHECK(places == wrong);
    CHECK(counting.rounds() <= 10); // the files are opened together
}

TEST_CASE("a model file that cannot be opened again does not count as free of violations")
{
    const Patchable damaged("zero3-w4");
    damaged.operateOnAll(kModel, addManyRecords);
    damaged.operateOnAll(kModel, without({}, "skipped_steps"));
    JobContext job;
    const auto opened = openCheckpoint(io::realFileSystem(), damaged.run(), {}, job);
    REQUIRE(opened);
    io::FaultingFileSystem broken(io::realFileSystem(), {.callNumber = 1, .repeat = true});
    std::vector<LoaderViolation> found;
    const Status looked = findLoaderViolations(*opened->checkpoint, broken, job, found);
    REQUIRE(!looked);
    CHECK(looked.error().code == ErrorCode::Unreadable);
    CHECK(found.size() == 1); // of rank 0's file, which the reader keeps
}

TEST_CASE("a file that stock's pattern for model files matches is counted")
{
    const Patchable damaged("zero2-w2");
    fs::copy_file(
        damaged.tag() / "mp_rank_00_model_states.pt", damaged.tag() / "mp_rank_00_old_model_states.pt");
    const CheckResult result = damaged.check();
    const DoctorFinding& found = requireFinding(result, kLoaderRefuses);
    CHECK(textOf(found).find(labelOf(Id::ModelFileCount)) != std::string::npos);
    CHECK(found.finding.severity == Severity::Error);
}

// The names of the parameters say that there are experts: their files are not left from another run.
TEST_CASE("without the key `num_experts` only that key is reported")
{
    for (const std::string sample : {"experts-w4", "autoep-w4", "folded-w4", "autoep-zero3-w4",
             "folded-zero3-w4", "ds0192-experts-w4", "ds0192-autoep-w4"}) {
        CAPTURE(sample);
        const Patchable damaged(sample);
        for (const std::string& name : damaged.filesLike("model_states.pt")) {
            if (!name.starts_with("layer_"))
                damaged.operate(name, without({}, "num_experts"));
        }
        const CheckResult result = damaged.check(CheckDepth::Bytes);
        const DoctorFinding& found = requireFinding(result, kLoaderRefuses);
        CHECK(textOf(found).find(labelOf(Id::NumExperts)) != std::string::npos);
        CHECK(troubles(result) == std::set<std::string>{std::string(kLoaderRefuses)});
    }
}

TEST_CASE("an expert's file with a model without experts is left from another run")
{
    constexpr const char* kExpert = "layer_0_expert_0_mp_rank_00_model_states.pt";
    const Patchable experts("experts-w4");
    const Patchable damaged("zero2-w2");
    fs::copy_file(experts.tag() / kExpert, damaged.tag() / kExpert);
    const CheckResult result = damaged.check();
    const DoctorFinding& found = requireFinding(result, "stale-file");
    CHECK(found.finding.where.text() == kExpert);
}

TEST_CASE("a universal folder of ZeRO-3 needs no param groups but those that the loader of ZeRO-3 reads")
{
    const Patchable damaged("zero3-universal-w3", tagOf("zero3-universal-w3"));
    damaged.operate(kUniversal, [](Surgery& surgery) { surgery.remove({}, "param_groups"); });
    CHECK(findingOf(damaged.check(), kLoaderRefuses) == nullptr);
}

// bf16_optimizer.py, _load_global_state, reads nothing; stage3.py, _load_global_state_stage3, no version.
TEST_CASE("a universal folder without a version is an error for engines that refuse it, and else a warning")
{
    struct Folder {
        std::string sample;
        std::vector<std::string> without;
        std::optional<Severity> expected;
    };
    const std::vector<Folder> folders{
        {"zero2-universal-w2", {"ds_version"}, Severity::Error},
        {"zero2-universal-w2", {"loss_scaler"}, {}}, // as BF16_Optimizer saves it
        {"zero2-universal-w2", {"loss_scaler", "ds_version"}, Severity::Warning},
        {"zero3-universal-w3", {}, {}}, // stock's converter writes no version
        {"zero3-universal-w3", {"fp32_flat_groups"}, Severity::Warning}, // for all stages
    };
    for (const Folder& folder : folders) {
        CAPTURE(folder.sample);
        CAPTURE(folder.without.size());
        const Patchable damaged(folder.sample, tagOf(folder.sample));
        for (const std::string& key : folder.without)
            damaged.operate(kUniversal, [&key](Surgery& surgery) { surgery.remove({}, key); });
        const CheckResult result = damaged.check();
        const DoctorFinding* found = findingOf(result, kLoaderRefuses);
        REQUIRE((found != nullptr) == folder.expected.has_value());
        if (found == nullptr)
            continue;
        CHECK(found->finding.severity == *folder.expected);
        CHECK(textOf(*found).find("ZeRO-1/2 optimizer refuse") != std::string::npos);
        CHECK(textOf(*found).find("BF16_Optimizer and ZeRO-3 do not read the key") != std::string::npos);
    }
}

TEST_CASE("every loader check has a number, a name, a diagnosis and, where it is ours, a planted violation")
{
    std::set<int> numbers;
    std::set<std::string> names;
    for (const LoaderCheck& check : loaderChecks()) {
        CAPTURE(check.name);
        CHECK(numbers.insert(static_cast<int>(check.id)).second);
        CHECK(names.insert(std::string(check.name)).second);
        CHECK(!check.function.empty());
        CHECK(!check.stockSays.empty());
        CHECK(findDiagnosis(check.code) != nullptr);
        if (check.code != kLoaderRefuses)
            continue;
        const bool isPlanted = std::any_of(
            planted().begin(), planted().end(), [&](const Planted& one) { return one.check == check.id; });
        CHECK(isPlanted);
    }
}
