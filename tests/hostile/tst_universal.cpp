// SPDX-License-Identifier: Apache-2.0
// Damaged universal folders, and those of older converters and parallel runs.
#include "core/base/finding_codes.h"
#include "tests/hostile/hostile_fixture.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace shardscope;
using namespace shardscope::test;
namespace fs = std::filesystem;

namespace {

constexpr Row kHealthy{0, 0, 0, 0};
constexpr Row kHurt{0, 0, 1, 6};

/// The universal folder of a sample, alone in a run folder; with the same parameters in both.
struct Folder {
    explicit Folder(bool zero3)
    {
        const fs::path run = samplePath(zero3 ? "zero3-universal-w3" : "zero2-universal-w2");
        const std::string name = zero3 ? "global_step3_universal" : "global_step5_universal";
        path = temporary / "run" / name;
        fs::create_directories(path);
        fs::copy(run / name, path, fs::copy_options::recursive);
        fs::copy_file(run / "latest_universal", temporary / "run/latest_universal");
        model = path / (zero3 ? "zero_pp_rank_0_mp_rank_00_model_states.pt" : "mp_rank_00_model_states.pt");
    }

    [[nodiscard]] fs::path state(const std::string& param, const std::string& name) const
    {
        return path / "zero" / param / (name + ".pt");
    }
    [[nodiscard]] CheckpointPtr open() const
    {
        auto opened = openFull(path);
        REQUIRE_MESSAGE(opened.has_value(), (opened ? "" : describe(opened.error())));
        REQUIRE_MESSAGE(!(*opened)->modelError, describe((*opened)->modelError.value_or(Error{})));
        return *opened;
    }
    /// Another shape in `param_shapes`, which is what parallel ranks and padding of the source make.
    void setShape(const std::string& param, const std::vector<int64_t>& shape) const
    {
        editPickle(model, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            std::vector<NodeId> sizes;
            for (const int64_t size : shape)
                sizes.push_back(builder.integer(size));
            for (const NodeId list : sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"))) {
                if (const NodeId old = lookup(graph, list, param); old != kNoNode)
                    importer.substitute(old, builder.tuple(sizes));
            }
        });
    }

    TemporaryFolder temporary;
    fs::path path;
    fs::path model;
};

void replaceRoot(const fs::path& file, const std::function<NodeId(PickleBuilder&)>& value)
{
    editPickle(file, [&](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        importer.substitute(graph.root(), value(builder));
    });
}

std::vector<Finding> findingsOf(const Checkpoint& checkpoint, std::string_view code)
{
    std::vector<Finding> out;
    std::copy_if(checkpoint.findings.begin(), checkpoint.findings.end(), std::back_inserter(out),
        [&](const Finding& finding) { return finding.code == code; });
    return out;
}

const Parameter& paramOf(const Checkpoint& checkpoint, const std::string& name)
{
    const auto id = checkpoint.findParam(name);
    REQUIRE(id);
    return checkpoint.params[index(*id)];
}

const StoredRun& runOf(const Checkpoint& checkpoint, const std::string& param, const std::string& state)
{
    const Parameter& found = paramOf(checkpoint, param);
    const FlatUnit& unit = checkpoint.units[index(found.unit)];
    const auto at = std::find_if(
        unit.states.begin(), unit.states.end(), [&](const UnitState& one) { return one.name == state; });
    REQUIRE(at != unit.states.end());
    REQUIRE(at->map().tensors().size() == unit.params.size());
    return at->map().tensors()[found.indexInUnit];
}

} // namespace

TEST_CASE("a missing state file affects one parameter")
{
    const Folder folder(true);
    fs::remove(folder.state("norm.bias", "exp_avg"));
    const CheckpointPtr checkpoint = folder.open();
    CHECK(!checkpoint->complete);
    const auto found = findingsOf(*checkpoint, code::kStateMissing);
    REQUIRE(found.size() == 1);
    CHECK(found[0].where.text() == "norm.bias#exp_avg");
    CHECK(found[0].severity == Severity::Error);
    CHECK(!runOf(*checkpoint, "norm.bias", "exp_avg").isPresent());
    CHECK(runOf(*checkpoint, "norm.weight", "exp_avg").isPresent());
    checkRow(folder.path, kHurt, "universal", folder.temporary);
}

TEST_CASE("a parameter that kept only its fp32.pt has lost its optimizer state, and perhaps its master")
{
    const Folder folder(false);
    for (const char* state : {"exp_avg", "exp_avg_sq", "step"})
        fs::remove(folder.state("norm.bias", state));
    const CheckpointPtr checkpoint = folder.open();
    CHECK(findingsOf(*checkpoint, code::kStateMissing).size() == 3);
    const auto found = findingsOf(*checkpoint, code::kUniversalSource);
    REQUIRE(found.size() == 1);
    CHECK(found[0].where.text() == "norm.bias#fp32");
}

TEST_CASE("masters in another parameter's folder differ from the copies in the model file")
{
    const Folder folder(false);
    const fs::path one = folder.state("layers.0.attention.wk.weight", "fp32");
    const fs::path other = folder.state("layers.0.attention.wq.weight", "fp32");
    fs::rename(one, folder.temporary / "aside");
    fs::rename(other, one);
    fs::rename(folder.temporary / "aside", other);
    const CheckpointPtr checkpoint = folder.open();
    CHECK(!checkpoint->complete);
    const auto found = findingsOf(*checkpoint, code::kUniversalSource);
    REQUIRE(found.size() == 1);
    CHECK(found[0].where.text().find("#fp32") != std::string::npos);
    CHECK(found[0].evidence[0].starts_with("2 of "));
    checkRow(folder.path, {0, 0, 1, 6}, "universal", folder.temporary);
}

TEST_CASE("files of another length than the parameter")
{
    for (const bool zero3 : {false, true}) {
        CAPTURE(zero3);
        const Folder folder(zero3);
        folder.setShape("norm.bias", {7});
        CheckpointPtr checkpoint = folder.open();
        const auto found = findingsOf(*checkpoint, code::kUniversalOverlong);
        REQUIRE(found.size() == 3);
        CHECK(found[0].severity == Severity::Warning);
        CHECK(runOf(*checkpoint, "norm.bias", "fp32").elements == 7);

        folder.setShape("norm.bias", {9});
        checkpoint = folder.open();
        CHECK(findingsOf(*checkpoint, code::kStateLength).size() == 3);
        CHECK(!runOf(*checkpoint, "norm.bias", "fp32").isPresent());
    }
    const Folder folder(false); // a tensor of two dimensions is not what the converter's bug makes
    folder.setShape("tok_embeddings.weight", {15, 8});
    CHECK(findingsOf(*folder.open(), code::kStateLength).size() == 3);
}

TEST_CASE("vocabulary rows that were padding in the source are not the parameter's")
{
    const Folder folder(false);
    folder.setShape("tok_embeddings.weight", {20, 8});
    for (const char* state : {"fp32", "exp_avg", "exp_avg_sq"})
        replaceAt(folder.state("tok_embeddings.weight", state), {"vocab_tensor"},
            [](PickleBuilder& b) { return b.boolean(true); });
    const CheckpointPtr checkpoint = folder.open();
    CHECK(paramOf(*checkpoint, "tok_embeddings.weight").shape == Shape{16, 8});
    REQUIRE(findingsOf(*checkpoint, code::kUniversalSource).size() == 1);
    CHECK(findingsOf(*checkpoint, code::kUniversalSource)[0].severity == Severity::Info);
    CHECK(checkpoint->complete);
    checkRow(folder.path, kHealthy, "universal", folder.temporary);
}

TEST_CASE("padding that an old converter left is reported")
{
    const Folder folder(false);
    replaceAt(folder.state("tok_embeddings.weight", "fp32"), {"vocab_divisibility_padding_tensor"},
        [](PickleBuilder& b) { return b.integer(0); });
    const auto found = findingsOf(*folder.open(), code::kUniversalSource);
    REQUIRE(found.size() == 1);
    CHECK(found[0].where.text() == "tok_embeddings.weight#fp32");
}

TEST_CASE("shards of a tensor-parallel source: the merged tensor decides")
{
    const Folder folder(false);
    folder.setShape("tok_embeddings.weight", {8, 8});
    replaceAt(folder.model, {"mp_world_size"}, [](PickleBuilder& b) { return b.integer(2); });
    fs::copy_file(folder.model, folder.path / "mp_rank_01_model_states.pt");
    const CheckpointPtr checkpoint = folder.open();
    CHECK(checkpoint->supported);
    CHECK(checkpoint->complete);
    const Parameter& param = paramOf(*checkpoint, "tok_embeddings.weight");
    CHECK(param.shape == Shape{16, 8});
    CHECK(checkpoint->wholeOf(*checkpoint->findParam(param.name)) == nullptr);
    CHECK(findingsOf(*checkpoint, code::kUniversalSource).size() == 2);
}

TEST_CASE("parameters of other pipeline stages are in other model files")
{
    const Folder folder(false);
    fs::copy_file(folder.model, folder.path / "mp_rank_01_model_states.pt");
    editPickle(folder.model, [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        const auto lists = sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"));
        importer.substitute(lists[1], builder.dict());
    });
    const CheckpointPtr checkpoint = folder.open();
    CHECK(paramOf(*checkpoint, "tok_embeddings.weight").group == 1);
    CHECK(runOf(*checkpoint, "tok_embeddings.weight", "exp_avg_sq").elements == 128);
}

TEST_CASE("steps: their form, and one that differs")
{
    const Folder folder(false);
    CHECK(folder.open()->units[0].stepForm == StepForm::Tensor);
    replaceRoot(folder.state("norm.bias", "step"), [](PickleBuilder& b) { return b.integer(9); });
    CheckpointPtr checkpoint = folder.open();
    auto found = findingsOf(*checkpoint, code::kStepMismatch);
    REQUIRE(found.size() == 1);
    CHECK(found[0].where.text() == "norm.bias#step");
    const uint32_t unit = index(paramOf(*checkpoint, "norm.bias").unit);
    CHECK(checkpoint->units[unit].step == 3.0); // of five, two were skipped

    for (const auto& entry : fs::directory_iterator(folder.path / "zero")) {
        if (fs::exists(entry.path() / "step.pt"))
            replaceRoot(entry.path() / "step.pt", [](PickleBuilder& b) { return b.integer(4); });
    }
    checkpoint = folder.open();
    CHECK(findingsOf(*checkpoint, code::kStepMismatch).empty());
    CHECK(checkpoint->units[unit].stepForm == StepForm::Integer);
    CHECK(checkpoint->units[unit].step == 4.0);

    for (const auto& entry : fs::directory_iterator(folder.path / "zero")) {
        if (entry.is_directory())
            fs::remove(entry.path() / "step.pt");
    }
    editPickle(folder.path / "zero/optimizer_state.pt",
        [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            for (const NodeId group : sequenceItems(graph, lookup(graph, graph.root(), "param_groups")))
                builder.setItem(importer.import(group), builder.string("step"), builder.integer(7));
        });
    checkpoint = folder.open();
    CHECK(findingsOf(*checkpoint, code::kStateMissing).empty());
    CHECK(checkpoint->units[unit].stepForm == StepForm::Absent); // as Apex keeps it
    CHECK(checkpoint->units[unit].step == 7.0);
}

TEST_CASE("a ZeRO-3 source keeps the step per sub-group in optimizer_state.pt")
{
    const CheckpointPtr checkpoint = Folder(true).open();
    for (const ParamGroup& group : checkpoint->groups) {
        CHECK(checkpoint->units[index(group.units[0])].step == 3.0);
        CHECK(checkpoint->units[index(group.units[0])].stepForm == StepForm::Tensor);
    }
    CHECK(checkpoint->zeroStage == 3);
    CHECK(checkpoint->modelFiles.size() == 3);
}

TEST_CASE("state files that are not tensors, torn or malicious")
{
    const std::vector<std::pair<const char*, std::function<void(const fs::path&)>>> cases{
        {"torn", [](const fs::path& file) { spill(file, slurp(file).substr(0, 700)); }},
        {"no archive", [](const fs::path& file) { spill(file, "x"); }},
        {"a folder",
            [](const fs::path& file) {
                fs::remove(file);
                fs::create_directory(file);
            }},
        {"no tensor",
            [](const fs::path& file) {
                replaceRoot(file, [](PickleBuilder& b) { return b.string("nan"); });
            }},
        {"an empty dict",
            [](const fs::path& file) { replaceRoot(file, [](PickleBuilder& b) { return b.dict(); }); }},
        {"a pickle of nothing but nesting",
            [](const fs::path& file) {
                NamedRecords records = recordsOf(file);
                recordIn(records, "data.pkl") = "\x80\x02" + std::string(2'000'000, '(');
                writeRecords(file, records);
            }},
    };
    for (const bool zero3 : {false, true}) {
        for (const auto& [name, damage] : cases) {
            CAPTURE(zero3);
            CAPTURE(std::string(name));
            const Folder folder(zero3);
            damage(folder.state("layers.0.mlp.up.bias", "exp_avg_sq"));
            const CheckpointPtr checkpoint = folder.open();
            CHECK(!checkpoint->complete);
            CHECK(!runOf(*checkpoint, "layers.0.mlp.up.bias", "exp_avg_sq").isPresent());
            CHECK(runOf(*checkpoint, "layers.0.mlp.up.bias", "exp_avg").isPresent());
            checkRow(folder.path, kHurt, "universal", folder.temporary);
        }
    }
}

TEST_CASE("a state in another dtype than the others of its group")
{
    const Folder folder(true);
    editPickle(folder.state("norm.bias", "exp_avg"),
        [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
            const auto tensor = asTensor(graph, graph.root());
            REQUIRE(tensor);
            const NodeId storage = graph.target(tensor->storage.node);
            importer.substitute(sequenceItems(graph, storage)[1], builder.global("torch", "IntStorage"));
        });
    const auto found = findingsOf(*folder.open(), code::kTensorInvalid);
    REQUIRE(found.size() == 1);
    CHECK(found[0].where.text() == "norm.bias#exp_avg");
}

TEST_CASE("files that do not belong below zero/ are reported and ignored")
{
    const Folder folder(false);
    fs::copy(folder.path / "zero/norm.bias", folder.path / "zero/spare");
    fs::copy_file(folder.state("norm.bias", "fp32"), folder.state("norm.bias", "notes"));
    spill(folder.path / "zero/norm.bias/readme.txt", "x");
    fs::create_directories(folder.path / "tmp/norm.bias/0");
    spill(folder.path / "latest_universal", "");
    fs::create_directory_symlink(folder.path / "zero", folder.path / "zero/self");
    fs::create_symlink("loop", folder.path / "zero/loop");
    const CheckpointPtr checkpoint = folder.open();
    CHECK(checkpoint->findParam("spare") == std::nullopt);
    CHECK(checkpoint->stateNames() == std::vector<std::string>{"fp32", "exp_avg", "exp_avg_sq", "weight"});
    std::vector<std::string> places;
    for (const Finding& finding : findingsOf(*checkpoint, code::kForeignFile))
        places.push_back(finding.where.text());
    std::sort(places.begin(), places.end());
    CHECK(places == std::vector<std::string>{"norm.bias#notes", "self#fp32", "spare#fp32", "tmp"});
    REQUIRE(findingsOf(*checkpoint, code::kLatestDangling).size() == 1);
    CHECK(findingsOf(*checkpoint, code::kLatestDangling)[0].severity == Severity::Warning);
}

TEST_CASE("files that describe the whole folder")
{
    const Folder noOptions(false);
    fs::remove(noOptions.path / "zero/optimizer_state.pt");
    CHECK(noOptions.open()->groups.size() == 3);
    checkRow(noOptions.path, kHurt, "universal", noOptions.temporary);

    const Folder noGroups(true); // without it, sub-groups cannot be determined from groups
    spill(noGroups.path / "zero/optimizer_state.pt", "x");
    CHECK(!noGroups.open()->complete);

    const Folder noModel(false);
    fs::remove(noModel.model);
    checkRow(noModel.path, {0, 3, 1, 6}, "universal", noModel.temporary);

    const Folder noRank(true);
    fs::remove(noRank.path / "zero_pp_rank_2_mp_rank_00_model_states.pt");
    const CheckpointPtr checkpoint = noRank.open();
    CHECK(findingsOf(*checkpoint, code::kModelStatesMissing).size() == 1);
    CHECK(checkpoint->unitOf(*checkpoint->findParam("positions.weight"))->states[0].perRank.size() == 3);
    checkRow(noRank.path, kHurt, "universal", noRank.temporary);
}

TEST_CASE("a model lost one state for thousands of parameters: reported by number, not by name")
{
    const Folder folder(false);
    editPickle(folder.model, [](const PickleGraph& graph, PickleBuilder& builder, PickleImporter& importer) {
        const auto lists = sequenceItems(graph, lookup(graph, graph.root(), "param_shapes"));
        const NodeId size[] = {builder.integer(3)};
        const NodeId built = importer.import(lists[0]);
        for (int i = 0; i < 5000; ++i)
            builder.setItem(built, builder.string("lost." + std::to_string(i)), builder.tuple(size));
    });
    const CheckpointPtr checkpoint = folder.open();
    const auto found = findingsOf(*checkpoint, code::kStateMissing);
    CHECK(found.size() > 1000);
    CHECK(found.size() < 5000);
    CHECK(std::any_of(found.begin(), found.end(), [](const Finding& finding) {
        return finding.message.find("4000 parameters more") != std::string::npos;
    }));
}
