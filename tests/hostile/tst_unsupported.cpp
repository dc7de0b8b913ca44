// SPDX-License-Identifier: Apache-2.0
// Kinds that are recognised but not supported: the reason is given, and no verb guesses.
#include "tests/hostile/hostile_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

using namespace shardscope;
using namespace shardscope::test;
using namespace std::string_literals;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

const std::string kTag2 = "global_step6/";
const std::string kTag3 = "global_step3/";
const std::string kOptim = "bf16_zero_pp_rank_0_mp_rank_00_optim_states.pt";
const std::string kModel = "mp_rank_00_model_states.pt";

void checkUnsupported(const fs::path& path, const std::string& reason, const TemporaryFolder& folder)
{
    checkRow(path, kUnsupported, reason, folder);
    for (const char* const verb : {"inspect", "files"}) {
        const Json answer = runVerb({verb, path}, 0);
        CHECK(answer.at("supported") == false);
        CHECK(answer.at("why_not").get<std::string>().find(reason) != std::string::npos);
    }
    CHECK(runVerb({"params", path}, 4).at("code") == "unsupported");
}

/// A copy of a sample, changed into what this build does not interpret.
struct Case {
    const char* name;
    const char* sample;
    void (*change)(const fs::path& run);
    const char* reason;
};

void copyFile(const fs::path& from, const fs::path& to)
{
    fs::copy_file(from, to);
}

NodeId dictOf(PickleBuilder& builder, const char* key, NodeId value)
{
    const NodeId dict = builder.dict();
    builder.setItem(dict, builder.string(key), value);
    return dict;
}

fs::path elasticShard(const fs::path& run, char rank)
{
    return run / kTag3 / (std::string("bf16_zero_pp_rank_") + rank + "_mp_rank_00_optim_states.pt");
}

/// A list of AutoEP's layers, with one of five experts, which two ranks cannot divide.
NodeId oneLayer(PickleBuilder& builder)
{
    const NodeId layer = dictOf(builder, "expert_key_prefix", builder.string("layers.0.mlp.experts"));
    builder.setItem(layer, builder.string("num_experts"), builder.integer(5));
    builder.setItem(layer, builder.string("num_local_experts"), builder.integer(2));
    builder.setItem(layer, builder.string("ep_size"), builder.integer(2));
    const NodeId layers[] = {layer};
    return builder.list(layers);
}

/// What a file of AutoEP with two expert-parallel ranks records for a number of tensor slices.
NodeId folding(PickleBuilder& builder, int64_t slices)
{
    const NodeId out = dictOf(builder, "version", builder.integer(1));
    builder.setItem(out, builder.string("etp_size"), builder.integer(1));
    builder.setItem(out, builder.string("ep_size"), builder.integer(2));
    builder.setItem(out, builder.string("tp_size"), builder.integer(slices));
    builder.setItem(out, builder.string("tp_rank"), builder.integer(0));
    return out;
}

/// Gives the optimizer a further state in group 0, with the values that group 2 has: a tensor of other
/// length.
void addOddState(const fs::path& file, const char* name)
{
    editPickle(file, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        NodeId base = lookup(graph, graph.root(), "optimizer_state_dict");
        base = base == kNoNode
            ? lookup(graph, lookup(graph, graph.root(), "optimizer"), "optimizer_state_dict")
            : lookup(graph, base, "base_optimizer_state");
        const NodeId states = lookup(graph, base, "state");
        const NodeId other = lookup(graph, lookup(graph, states, int64_t{2}), "exp_avg");
        REQUIRE(other != kNoNode);
        builder.setItem(
            importer.import(lookup(graph, states, int64_t{0})), builder.string(name), importer.import(other));
    });
}

const Case kForms[] = {
    {"experts of all layers in one file", "zero2-w2",
        [](const fs::path& run) {
            copyFile(run / kTag2 / kModel, run / kTag2 / "expert_0_mp_rank_00_model_states.pt");
        },
        "0.6.0"},
    {"AutoEP with ZeRO-3", "zero3-w4",
        [](const fs::path& run) {
            for (const char rank : {'0', '1', '2', '3'})
                replaceAt(run / "global_step5"
                        / (std::string("zero_pp_rank_") + rank + "_mp_rank_00_model_states.pt"),
                    {"ds_autoep_layers"}, &oneLayer);
        },
        "not partitioned by ZeRO-3"},
    {"AutoEP without ZeRO", "stage0-fp16",
        [](const fs::path& run) {
            replaceAt(run / "global_step7" / kModel, {"ds_autoep_layers"}, &oneLayer);
        },
        "AutoEP"},
    {"AutoEP under the key before its release", "zero2-w2",
        [](const fs::path& run) { replaceAt(run / kTag2 / kModel, {"autoep_layers"}, &oneLayer); },
        "`autoep_layers`"},
    {"AutoEP folded with tensor slices in another form", "folded-w4",
        [](const fs::path& run) {
            for (const char* file : {"mp_rank_00_model_states.pt", "mp_rank_01_model_states.pt"})
                replaceAt(run / kTag3 / file, {"folding", "version"},
                    [](PickleBuilder& b) { return b.integer(2); });
        },
        "in a form that this build does not know"},
    {"AutoEP folded over more tensor slices than expert-parallel ranks", "autoep-w4",
        [](const fs::path& run) {
            replaceAt(run / kTag3 / kModel, {"folding"}, [](PickleBuilder& b) { return folding(b, 4); });
        },
        "several of them share the partition of one tensor of experts"},
    {"AutoEP folded over tensor slices that did not save", "autoep-w4",
        [](const fs::path& run) {
            replaceAt(run / kTag3 / kModel, {"folding"}, [](PickleBuilder& b) { return folding(b, 2); });
        },
        "`folding` records 2 tensor slices, where 1 model-parallel ranks saved"},
    {"AutoEP with round robin", "autoep-w4",
        [](const fs::path& run) {
            replaceAt(run / kTag3 / kModel, {"ds_config", "zero_optimization", "round_robin_gradients"},
                [](PickleBuilder& b) { return b.boolean(true); });
        },
        "round_robin_gradients"},
    {"AutoEP with ZenFlow", "autoep-w4",
        [](const fs::path& run) {
            replaceAt(run / kTag3 / kModel, {"ds_config", "zero_optimization", "zenflow"},
                [](PickleBuilder& b) { return dictOf(b, "topk_ratio", b.real(0.1)); });
        },
        "which of them ZenFlow transposes"},
    {"frozen experts of AutoEP", "autoep-w4",
        [](const fs::path& run) {
            replaceAt(run / kTag3 / kModel, {"frozen_param_shapes"},
                [](PickleBuilder& b) { return dictOf(b, "layers.0.mlp.experts.w1", b.tuple({})); });
        },
        "frozen"},
    {"AutoEP's experts placed in another way", "autoep-w4",
        [](const fs::path& run) { replaceAt(run / kTag3 / kModel, {"ds_autoep_layers"}, &oneLayer); },
        "not distributed evenly"},
    {"optimizer state on NVMe, of a stage that cannot swap", "zero2-w2",
        [](const fs::path& run) { spill(run / kTag2 / "offloaded_tensors/rank00/0_0.tensor.swp", "x"); },
        "NVMe"},
    {"ZenFlow in a stage that was not seen with it", "zero3-w4",
        [](const fs::path& run) {
            replaceAt(run / "global_step5/zero_pp_rank_0_mp_rank_00_model_states.pt",
                {"ds_config", "zero_optimization", "zenflow"},
                [](PickleBuilder& b) { return dictOf(b, "topk_ratio", b.real(0.1)); });
        },
        "ZenFlow"},
    {"ZeRO-1 of releases before 0.3.17", "zero2-w2",
        [](const fs::path& run) {
            for (const char rank : {'0', '1'})
                replaceAt(
                    run / kTag2 / (std::string("bf16_zero_pp_rank_") + rank + "_mp_rank_00_optim_states.pt"),
                    {"optimizer_state_dict", "local_sub_partitions_of_fp32_groups"},
                    [](PickleBuilder& b) { return b.list(); });
        },
        "0.3.17"},
    {"parts of the fast writer", "zero2-w2",
        [](const fs::path& run) {
            fs::rename(run / kTag2 / kModel, run / kTag2 / (kModel + "-0.2"));
            copyFile(run / kTag2 / (kModel + "-0.2"), run / kTag2 / (kModel + "-1.2"));
        },
        "fast checkpoint writer"},
    {"quantised frozen weights", "zero3-w4",
        [](const fs::path& run) {
            replaceAt(run / "global_step5/zero_pp_rank_0_mp_rank_00_model_states.pt",
                {"ds_config", "zero_optimization", "zero_quantized_nontrainable_weights"},
                [](PickleBuilder& b) { return b.boolean(true); });
        },
        "without their scales"},
    {"a legacy torch file of another protocol", "zero2-w2",
        [](const fs::path& run) {
            // torch.save(..., _use_new_zipfile_serialization=False): a stack of pickles, first this
            // number, then 1001.
            spill(run / kTag2 / kModel,
                "\x80\x02\x8a\nl\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xea\x03."
                "\x80\x02}q\x00."s);
        },
        "protocol 1002"},
    {"sub-groups over groups of ranks that nothing explains", "zero3-elastic-w3",
        [](const fs::path& run) {
            for (const char rank : {'0', '1', '2'})
                replaceAt(elasticShard(run, rank), {"optimizer_state_dict", "ds_zero_partition_groups"},
                    [](PickleBuilder& b) { return b.list(std::vector<NodeId>{}); });
        },
        "groups of their own"},
    {"experts of AutoEP that other ranks share", "autoep-zero3-w4",
        [](const fs::path& run) {
            replaceAt(elasticShard(run, '1'), {"optimizer_state_dict", "ds_zero_partition_groups"},
                [](PickleBuilder& b) { return b.list(std::vector<NodeId>{}); });
        },
        "rank 1 shares sub-group 0, but not with the ranks"},
    {"elastic ZeRO-3 without a list of states", "zero3-elastic-w3",
        [](const fs::path& run) {
            for (const char rank : {'0', '1', '2'})
                replaceAt(elasticShard(run, rank), {"optimizer_state_dict", "base_optimizer_state"},
                    [](PickleBuilder& b) { return b.string("states"); });
        },
        "elastic ZeRO-3 form"},
    {"elastic ZeRO-3 without a record of its param groups", "zero3-elastic-w3",
        [](const fs::path& run) {
            for (const char rank : {'0', '1', '2'})
                replaceAt(run / kTag3 / (std::string("zero_pp_rank_") + rank + "_mp_rank_00_model_states.pt"),
                    {"lr_scheduler"}, [](PickleBuilder& b) { return b.none(); });
        },
        "do not determine which of them belong to one group"},
    {"records of another compression method", "zero2-w2",
        [](const fs::path& run) {
            std::vector<ForeignRecord> records;
            for (const auto& [name, payload] : recordsOf(run / kTag2 / kOptim))
                records.push_back({"bf16_zero_pp_rank_0_mp_rank_00_optim_states/" + name, payload});
            records.front().method = 14; // LZMA
            spill(run / kTag2 / kOptim, buildForeignArchive(records));
        },
        "method 14"},
};

} // namespace

TEST_CASE("samples changed into forms of later issues")
{
    for (const Case& one : kForms) {
        CAPTURE(std::string(one.name));
        const TemporaryFolder folder;
        const fs::path run = copySample(one.sample, folder);
        one.change(run);
        checkUnsupported(run, one.reason, folder);
    }
}

TEST_CASE("a rank of elastic ZeRO-3 with the states of another rank")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("zero3-elastic-w3", folder);
    replaceAt(elasticShard(run, '1'), {"optimizer_state_dict", "base_optimizer_state"}, [](PickleBuilder& b) {
        const NodeId entry = dictOf(b, "exp_avg", b.list(std::vector{b.string("no tensor")}));
        return b.list(std::vector(4, entry));
    });
    const std::string report = runVerb({"inspect", run}, 0).dump();
    CHECK(report.find("state `exp_avg` cannot be used") != std::string::npos);
    CHECK(report.find("state `exp_avg_sq` cannot be used: it is missing on this rank") != std::string::npos);
    runVerb({"reshard", run, folder / "x", "-w", "2"}, 6);
}

TEST_CASE("without ZeRO, states that cannot be partitioned are copied")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("stage0-fp16", folder);
    const std::string tag = "global_step7";
    addOddState(run / tag / kModel, "worker_error");
    const Json report = runVerb({"inspect", run}, 0);
    CHECK(report.at("supported") == true);
    CHECK(report.dump().find("1-bit optimizers") != std::string::npos);
    runVerb({"reshard", run, folder / "three", "-w", "3"}, 0);
    CHECK(runVerb({"inspect", folder / "three"}, 0).dump().find("worker_error") != std::string::npos);
    CHECK(runVerb({"reshard", run, folder / "x", "-w", "3", "--stage", "1"}, 6).dump().find("worker_error")
        != std::string::npos);
}

TEST_CASE("options of ZeRO-3 that leave no trace, or another number of ranks")
{
    struct Option {
        const char* name;
        int64_t value;
        int64_t savedBy; ///< ranks
    };
    for (const Option& option :
        {Option{"zero_hpz_partition_size", 2, 4}, Option{"stage3_gather_16bit_weights_on_model_save", 1, 4},
            Option{"zero_quantized_weights", 1, 4}, Option{"mics_shard_size", 4, 8}}) {
        CAPTURE(option.name);
        const TemporaryFolder folder;
        const fs::path run = copySample("zero3-w4", folder);
        for (const char rank : {'0', '1', '2', '3'}) {
            const fs::path file = run / "global_step5"
                / (std::string("zero_pp_rank_") + rank + "_mp_rank_00_model_states.pt");
            replaceAt(file, {"ds_config", "zero_optimization", option.name},
                [&](PickleBuilder& b) { return b.integer(option.value); });
            replaceAt(file, {"dp_world_size"}, [&](PickleBuilder& b) { return b.integer(option.savedBy); });
        }
        const Json answer = runVerb({"inspect", run}, 0);
        CHECK(answer.at("supported") == true);
        runVerb({"reshard", run, folder / "to", "--world-size", "3"}, 0);
        runVerb({"verify", folder / "to", "--against", run}, 0);
        runVerb({"verify", folder / "to", "--against", samplePath("zero3-w4")}, 0);
    }
}

TEST_CASE("a swap folder")
{
    const TemporaryFolder folder;
    spill(folder / "nvme/zero_stage_3/float32params/rank0/0_param.tensor.swp", std::string(4096, '\0'));
    checkUnsupported(folder / "nvme", "swap", folder);
}

TEST_CASE("a lone file of a kind that is not read")
{
    const fs::path torchFiles = fs::path(sourceFolder()) / "tests/data/torch";
    std::string tar(1024, '\0');
    tar.replace(0, 5, "a.txt");
    tar.replace(257, 5, "ustar");
    const std::vector<std::tuple<std::string, std::string, std::string>> cases{
        {"program.pt", slurp(torchFiles / "torchscript.pt"), "TorchScript"},
        {"preview.pt", "PYTORCH1" + std::string(100, '\0'), "preview"},
        {"packed.pt", tar, "tar"},
        {"state.pkl", "\x80\x04}."s, "bare pickle"},
        {"optimizer_0.tensor.swp", "x", "DeepSpeed checkpoint"},
    };
    for (const auto& [name, bytes, reason] : cases) {
        CAPTURE(name);
        const TemporaryFolder folder;
        spill(folder / name, bytes);
        checkUnsupported(folder / name, reason, folder);
        const Json listed = runVerb({"files", folder / name}, 0).at("files");
        REQUIRE(listed.size() == 1);
        CHECK(listed[0].at("path") == name);
        CHECK(listed[0].at("bytes") == bytes.size());
        const Json error = runVerb({"params", folder / name}, 4);
        CHECK(error.at("path").get<std::string>().ends_with(name));
    }
}

TEST_CASE("the records of AutoEP's layers must match the rest of the model file")
{
    const auto inspected = [](const std::function<void(const fs::path&)>& change) {
        const TemporaryFolder folder;
        const fs::path run = copySample("autoep-w4", folder);
        change(run / kTag3 / kModel);
        const Json answer = runVerb({"inspect", run}, 0);
        CHECK(answer.at("supported") == true);
        runVerb({"params", run}, 3);
        runVerb({"reshard", run, folder / "to", "-w", "2"}, 6);
        return answer.dump();
    };
    const auto changed = [](const fs::path& model, auto edit) {
        editPickle(model, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            edit(graph, builder, importer,
                sequenceItems(graph, lookup(graph, graph.root(), "ds_autoep_layers")).front(),
                sequenceItems(graph, lookup(graph, graph.root(), "param_shapes")).back());
        });
    };
    CHECK(inspected([&](const fs::path& model) {
        changed(model, [](const auto& graph, auto& builder, auto& importer, NodeId layer, NodeId) {
            importer.substitute(
                lookup(graph, layer, "expert_key_prefix"), builder.string("layers.7.mlp.experts"));
        });
    }).find("lists 6 tensors of experts, and `param_shapes` has 3")
        != std::string::npos);
    CHECK(inspected([&](const fs::path& model) {
        changed(model, [](const auto&, auto& builder, auto& importer, NodeId layer, NodeId) {
            builder.setItem(importer.import(layer), builder.string("num_experts"), builder.integer(0));
        });
    }).find("without names and numbers")
        != std::string::npos);
    CHECK(inspected([&](const fs::path& model) {
        changed(model, [](const auto& graph, auto& builder, auto& importer, NodeId, NodeId shapes) {
            const NodeId sizes[] = {builder.integer(3), builder.integer(10), builder.integer(12)};
            importer.substitute(lookup(graph, shapes, "layers.0.mlp.experts.w1"), builder.tuple(sizes));
        });
    }).find("disagree about the experts")
        != std::string::npos);
    CHECK(inspected([&](const fs::path& model) { // an ordinary parameter with an expert's name
        changed(model, [](const auto&, auto& builder, auto& importer, NodeId, NodeId shapes) {
            const NodeId sizes[] = {builder.integer(10), builder.integer(12)};
            builder.setItem(
                importer.import(shapes), builder.string("layers.0.mlp.experts.w1.3"), builder.tuple(sizes));
        });
    })
              .find("another parameter's name")
        != std::string::npos);
}

TEST_CASE("ZeRO-3 shows the experts of a rank as one parameter, whose name no other has")
{
    const TemporaryFolder folder;
    const fs::path run = copySample("autoep-zero3-w4", folder);
    editPickle(run / kTag3 / "zero_pp_rank_0_mp_rank_00_model_states.pt",
        [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            const NodeId sizes[] = {builder.integer(10), builder.integer(12)};
            builder.setItem(
                importer.import(sequenceItems(graph, lookup(graph, graph.root(), "param_shapes")).front()),
                builder.string("layers.0.mlp.experts.w1:ep1"), builder.tuple(sizes));
        });
    CHECK(runVerb({"inspect", run}, 0).dump().find("another parameter's name") != std::string::npos);
    runVerb({"reshard", run, folder / "to", "-w", "2"}, 6);
}
